#include "tapegrad/inspect/trace.h"

#include <catch2/catch.hpp>

#include "support/scratch.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

struct TracedNet {
  Parameter weight{Tensor({2, 2}, {1, 2, 3, 4})}, unused{ones({3})};
  Buffer average{zeros({2})};
  void visit(Fields& field) const {
    field("weight", weight);
    field("unused", unused);
    field("average", average);
  }
};

// A step of the net: the mean of squares of "h".
Tensor loss_of(const TracedNet& net) {
  const Tensor x({1, 2}, {1, -1});
  const Tensor h = named(matmul(x, net.weight), "h");
  return mean(square(h - detach(h) * 0.5));
}

std::string refusal(const std::filesystem::path& file) {
  try {
    read_trace(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a trace has the values and gradients of the forward pass", "[files]") {
  const TracedNet net;
  const Tape tape({.keep_values = true});
  grad(loss_of(net), parameters(net), {.record = true});
  const Trace step = trace(tape, fields(net));
  std::vector<std::string> names, operations;
  for (const TracedValue& one : step.values) {
    names.push_back(one.name);
    operations.push_back(one.operation);
  }
  CHECK(names == std::vector<std::string>{"weight", "h", "sub", "square", "sum", "div", "unused",
                                          "average"});
  CHECK(operations == std::vector<std::string>{"parameter", "matmul", "sub", "square", "sum", "div",
                                               "parameter", "buffer"});
  CHECK(step.values[1].inputs == std::vector<Index>{-1, 0});
  CHECK(step.values[2].inputs == std::vector<Index>{1, -1});
  CHECK(to_string(step.values[1].value) == to_string(Tensor({1, 2}, {-2, -2})));
  CHECK_THAT(step.values[1].place, Contains("trace_test.cpp:"));
  CHECK_THAT(step.values[1].source, Contains("named(matmul(x, net.weight), \"h\")"));
  CHECK(step.values[0].gradient.shape() == Shape{2, 2});
  CHECK(step.values[4].gradient.defined());
  CHECK_FALSE(step.values[6].gradient.defined());
  CHECK(step.framework == "tapegrad");
  CHECK(step.precision == (sizeof(real) == 4 ? "float32" : "float64"));
  CHECK(step.instruction_set == instruction_set());
}

TEST_CASE("a trace begins with the batch, where it has names", "[files]") {
  const TracedNet net;
  const Tape tape({.keep_values = true});
  const Tensor x = named(Tensor({1, 2}, {1, -1}), "x");
  const Indices labels = named(Indices({1}, {1}), "labels");
  grad(cross_entropy(matmul(x, net.weight), labels), parameters(net));
  const Trace step = trace(tape, fields(net));
  CHECK(step.values[0].name == "x");
  CHECK(step.values[0].operation == "constant");
  CHECK(step.values[0].value.data() == x.data());
  CHECK(step.values[1].name == "labels");
  CHECK(to_string(step.values[1].value) == to_string(Tensor({1}, {1})));
  CHECK(step.values[3].inputs == std::vector<Index>{-1, 2});
}

TEST_CASE("detached inputs of a trace are distinguished from constants", "[files]") {
  const TracedNet net;
  const Tape tape({.keep_values = true});
  const Tensor h = square(net.weight);
  grad(sum(h * detach(h)), parameters(net));
  const Trace step = trace(tape, fields(net));
  CHECK(step.values[2].inputs == std::vector<Index>{1, -3});
}

TEST_CASE("traces come back from their files", "[files]") {
  const TracedNet net;
  const Scratch folder;
  const std::string file = folder / "step";
  Trace step;
  {
    const Tape tape({.keep_values = true});
    const Tensor h = named(square(net.weight), "a/b \xff.c");
    grad(sum(h * detach(h)), parameters(net));
    step = trace(tape, fields(net));
    write_trace(tape, fields(net), file);
  }
  const Trace back = read_trace(file);
  REQUIRE(back.values.size() == step.values.size());
  for (std::size_t i = 0; i < step.values.size(); ++i) {
    const TracedValue &one = step.values[i], &other = back.values[i];
    CHECK(other.name == (i == 1 ? "a/b \xef\xbf\xbd.c" : one.name));
    CHECK(other.operation == one.operation);
    CHECK(other.inputs == one.inputs);
    CHECK(other.place == one.place);
    CHECK(other.source == one.source);
    CHECK(std::ranges::equal(other.value.values(), one.value.values()));
    CHECK(std::ranges::equal(other.gradient.values(), one.gradient.values()));
  }
  CHECK(back.framework == step.framework);
  CHECK(back.precision == step.precision);
  CHECK(back.instruction_set == step.instruction_set);
  CHECK(load_tensors(file).tensors.contains("gradient/000000.weight"));
}

TEST_CASE("files that are no traces are refused", "[files]") {
  const Scratch folder;
  CHECK_THAT(refusal(folder / "none"), Contains("none"));
  save_tensors(folder / "weights", {.tensors = {{"x", ones({2})}}});
  CHECK_THAT(refusal(folder / "weights"), Contains("weights is not a trace"));
  const auto refused = [&](const std::string& name) {
    save_tensors(folder / "bad",
                 {.tensors = {{name, ones({2})}}, .metadata = {{"format", "tapegrad trace 1"}}});
    return refusal(folder / "bad");
  };
  for (const char* name : {"x", "value/", "value/1", "value/x.y", "value/-1.y", "gradients/1.x",
                           "value/99999999999999999999999.x"})
    CHECK_THAT(refused(name), Contains("neither a value nor a gradient"));
  CHECK(refused("value/1.") == "");
  CHECK(refused("gradient/7.x") == "");
  save_tensors(folder / "inputs",
               {.tensors = {{"value/000000.a", ones({2})}, {"value/000001.b", ones({2})}},
                .metadata = {{"format", "tapegrad trace 1"},
                             {"000000.inputs", "1 99999999999999999999 0"},
                             {"000001.inputs", "0 -2 7 -9 -9223372036854775808 x"}}});
  const Trace step = read_trace(folder / "inputs");
  CHECK(step.values[0].inputs == std::vector<Index>{-1});
  CHECK(step.values[1].inputs == std::vector<Index>{0, -2, -1, -1, -1});
}

TEST_CASE("a trace needs the values of its tape", "[files]") {
  const TracedNet net;
  const Tape tape;
  loss_of(net);
  CHECK_THROWS_AS(trace(tape, fields(net)), TapeError);
}
