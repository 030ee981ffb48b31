#include "experiments/tape_pictures.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "data/drawing.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

constexpr double node_width = 96, node_height = 62, node_step = 130, node_top = 130;

// The values of a matrix, one row per line.
void draw_values(Drawing& drawing, Spot at, const Tensor& values, const std::string& classes) {
  const Index columns = values.rank() == 0 ? 1 : values.shape()[-1];
  for (Index r = 0; r * columns < values.size(); ++r) {
    std::string text;
    for (Index c = 0; c < columns; ++c)
      text += fmt::format("{}{:g}", c == 0 ? "" : " ", values.data()[r * columns + c]);
    drawing.words({at.x, at.y + 18.0 * r}, text, classes);
  }
}

void draw_node(Drawing& drawing, const Tape& tape, std::int32_t i) {
  const Node& node = tape.node(i);
  const double left = 20 + node_step * i, center = left + node_width / 2;
  drawing.box({left, node_top}, node_width, node_height);
  const std::string& label = tape.label(i);
  drawing.words({center, node_top + 22}, fmt::format("%{} {}", i, label), "middle strong");
  drawing.words({center, node_top + 40}, node.name, "middle");
  drawing.words({center, node_top + 56}, to_string(node.shape), "middle small faint");
  draw_values(drawing, {center, node_top - 30}, tape.value(i), "middle blue");
  draw_values(drawing, {center, node_top + node_height + 28}, tape.gradient(i), "middle red");
  for (const std::int32_t input : std::span(node.inputs, node.inputs + node.input_count)) {
    if (input >= 0) {
      const double from = 20 + node_step * input + node_width;
      drawing.arrow({from, node_top + 18}, {left, node_top + 18}, "blue");
      drawing.arrow({left, node_top + 44}, {from, node_top + 44}, "red");
    } else {
      drawing.words({left - 16, node_top - 62}, "constant", "middle small faint");
      drawing.arrow({left - 16, node_top - 56}, {left + 6, node_top - 1}, "faint");
    }
  }
}

constexpr Index tape_rows = 64, tape_columns = 256;

// The nodes of a tape in the order of the record, some in a line. Blue ones are as large as x.
void draw_nodes(Drawing& drawing, Spot corner, const Tape& tape, int in_line) {
  constexpr double width = 92, height = 42, across = 102, down = 54;
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    const Spot at{corner.x + across * (i % in_line), corner.y + down * (i / in_line)};
    const bool is_large = node.shape.size() == tape_rows * tape_columns;
    if (is_large)
      drawing.area({at, {at.x + width, at.y}, {at.x + width, at.y + height}, {at.x, at.y + height}},
                   "blue");
    else
      drawing.box(at, width, height);
    std::string inputs;
    for (const std::int32_t input : std::span(node.inputs, node.inputs + node.input_count))
      if (input >= 0) inputs += fmt::format(" %{}", input);
    drawing.words({at.x + width / 2, at.y + 18}, fmt::format("%{} {}", i, node.name),
                  "middle strong small");
    drawing.words({at.x + width / 2, at.y + 34}, inputs.empty() ? "x" : "of" + inputs,
                  "middle small");
  }
}

// The number of arrays of the size of x that a tape keeps alive.
double arrays_kept(const Tape& tape) {
  return static_cast<double>(tape.bytes()) / (tape_rows * tape_columns * sizeof(real));
}

}  // namespace

std::string tape_graph() {
  const Parameter weight(Tensor({2, 2}, {1, 2, 3, 4}), "weight");
  const Tensor data({1, 2}, {1, -1});
  const Tape tape({.keep_values = true});
  const Tensor hidden = named(relu(matmul(data, weight) + 3.0), "hidden");
  const Tensor loss = named(sum(square(hidden)), "loss");
  grad(loss, std::vector{weight});
  Drawing drawing(800, 285);
  drawing.words({20, 30}, "The tape of loss = sum(square(relu(data weight + 3)))", "title");
  for (std::int32_t i = 0; i < tape.size(); ++i) draw_node(drawing, tape, i);
  drawing.words({20, 270}, "blue: values, recorded from left to right", "blue");
  drawing.words({780, 270}, "red: gradients, summed up from right to left", "red end");
  return drawing.svg();
}

std::string layer_norm_tapes() {
  const Tensor data = Random(1).normal({tape_rows, tape_columns});
  Drawing drawing(800, 330);
  drawing.words({20, 30}, "The tape of a layer normalization, composite and fused", "title");
  const auto draw = [&](double left, const char* name, int in_line, const char* kept,
                        const auto& norm) {
    const Tape tape;
    norm(watch(data), NormOptions{});
    drawing.words({left, 66}, fmt::format("{}: {} nodes", name, tape.size()), "strong");
    draw_nodes(drawing, {left, 84}, tape, in_line);
    drawing.words({left, 270}, kept);
    drawing.words({left, 290}, fmt::format("{:.0f} arrays of the size of x", arrays_kept(tape)),
                  "blue");
  };
  draw(20, "composite", 5, "kept for the sweep: x - mu, twice, and s",
       [](const Tensor& x, const NormOptions& o) { return composite::layer_norm(x, o); });
  draw(570, "fused", 2, "kept: x, y, two numbers a row",
       [](const Tensor& x, const NormOptions& o) { return layer_norm(x, o); });
  drawing.words({20, 318}, "filled: 64 rows of 256 numbers; outlined: a number for each row",
                "small faint");
  return drawing.svg();
}

std::string three_ways() {
  const Tensor data = Random(1).normal({tape_rows, tape_columns});
  Drawing drawing(800, 350);
  drawing.words({20, 30}, "Three ways to write an operation, and what the tape records", "title");
  const auto draw = [&](double left, const char* way, const char* written, const auto& operation) {
    const Tape tape;
    operation(watch(data));
    drawing.words({left, 68}, way, "strong");
    drawing.words({left, 88}, written);
    draw_nodes(drawing, {left, 106}, tape, 2);
  };
  draw(20, "1. composite: silu", "operations", [](const Tensor& x) { return x * sigmoid(x); });
  draw(290, "2. primitive: log_cosh", "a value and a rule", [](const Tensor& x) {
    const Tensor plain = detach(x);
    return record("log_cosh", log(0.5 * (exp(plain) + exp(-plain))), {},
                  edge(x, [x](const Tensor& g) { return g * tanh(x); }));
  });
  draw(560, "3. fused: gelu", "kernels for value and gradient,",
       [](const Tensor& x) { return gelu(x); });
  const Tape tape;
  composite::gelu(watch(data));
  drawing.words({560, 174}, "and a definition in operations");
  draw_nodes(drawing, {560, 188}, tape, 2);
  drawing.words({20, 340},
                "Tests compare a fused operation with its definition, which second "
                "derivatives differentiate.",
                "small faint");
  return drawing.svg();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
