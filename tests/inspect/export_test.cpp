#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/inspect/explain.h"
#include "tapegrad/inspect/export.h"
#include "tapegrad/io/file.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

std::vector<double> values(const Json& tensor) { return tensor.at("values"); }

}  // namespace

TEST_CASE("a tape as JSON: nodes, values and gradients as they accumulate", "[export]") {
  const Parameter w(Tensor({2}, {3, 4}), "a \"quoted\" </script>");
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor({2}, {1, -2}));
  const Tensor y = x * x;
  const Tensor loss = sum(y * w);
  grad(loss, x);
  const Json found = Json::parse(as_json(tape));
  CHECK(found.at("format") == "tapegrad tape 1");
  CHECK(found.at("nodes")[0].at("why") == explain(tape, x));

  const Json& nodes = found.at("nodes");
  REQUIRE(nodes.size() == 5);
  const char* names[] = {"watch", "mul", "parameter", "mul", "sum"};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CHECK(nodes[i].at("name") == names[i]);
    CHECK(nodes[i].at("sweep") == 0);
  }
  CHECK(nodes[1].at("inputs") == Json({0, 0}));
  CHECK(nodes[2].at("label") == w.name());
  CHECK(values(nodes[3].at("value")) == std::vector<double>{3, 16});
  CHECK(nodes[4].at("shape") == Json::array());
  CHECK(nodes[0].at("place").get<std::string>().starts_with("export_test.cpp:"));
  CHECK(nodes[2].at("place") == "");  // a parameter's leaf has no place
  CHECK(nodes[0].at("source") == "const Tensor x = watch(Tensor({2}, {1, -2}));");

  // x gets its gradient twice, once from each factor of x * x.
  std::vector<Json> to_x;
  for (const Json& flow : found.at("flows"))
    if (flow.at("to") == 0) to_x.push_back(flow);
  REQUIRE(to_x.size() == 2);
  CHECK(to_x[0].at("from") == 1);
  CHECK(values(to_x[0].at("total")) == std::vector<double>{3, -8});
  CHECK(values(to_x[1].at("added")) == std::vector<double>{3, -8});
  CHECK(values(to_x[1].at("total")) == std::vector<double>{6, -16});
  CHECK(found.at("flows")[0].at("from") == -1);
}

TEST_CASE("the sweep that recorded a node, and the node of a recorded gradient", "[export]") {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor(0.5));
  const Tensor slope = grad(exp(x) * x, x, {.record = true});
  const std::int32_t recorded = slope.node();
  const Tensor curvature = grad(square(slope), x);
  CHECK(tape.gradient(x.node()).item() == Approx(curvature.item()));
  const Json found = Json::parse(as_json(tape));
  CHECK(found.at("nodes")[1].at("sweep") == 0);
  CHECK(found.at("nodes")[recorded].at("sweep") == 1);
  CHECK(found.at("nodes")[recorded + 1].at("sweep") == 0);
  CHECK(found.at("flows").back().at("sweep") == 2);
  bool named = false;
  for (const Json& flow : found.at("flows")) named |= flow.at("node") == recorded;
  CHECK(named);
}

TEST_CASE("names and detached inputs in the exports", "[export]") {
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(Tensor({2}, {1, 2})), "x"), y = square(x);
  const Tensor z = x * detach(y);
  const Json nodes = Json::parse(as_json(tape)).at("nodes");
  CHECK(nodes[0].at("label") == "x");
  CHECK(nodes[1].at("label") == "");
  CHECK(nodes[2].at("inputs") == Json({0, -2 - y.node()}));
  CHECK_THAT(as_dot(tape), Contains("%0 watch x\\n") && Contains("n0 -> n2;") &&
                               Contains("n1 -> n2 [style=dashed, label=\"detach\"];"));
}

TEST_CASE("parts of a tensor accumulate in the export", "[export]") {
  for (const bool record : {false, true}) {
    const Tape tape({.keep_values = true});
    const Tensor x = watch(Tensor({3}, {1, 2, 3}));
    const Tensor loss = sum(slice(x, 0, 0, 2)) + sum(slice(x, 0, 1, 3));
    grad(loss, x, {.record = record});
    const Json flows = Json::parse(as_json(tape)).at("flows");
    CHECK(flows.back().at("to") == 0);
    CHECK(values(flows.back().at("total")) == std::vector<double>{1, 2, 1});
  }
}

TEST_CASE("large tensors are summarized, what is not finite has a name", "[export]") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tape tape({.keep_values = true});
  watch(arange(100));
  watch(Tensor({3}, {static_cast<real>(inf), static_cast<real>(-inf), static_cast<real>(NAN)}));
  watch(full({100}, NAN));
  watch(concat({full({50}, std::numeric_limits<real>::max()),
                full({50}, std::numeric_limits<real>::lowest())}));
  watch(zeros({0, 3}));
  const Json nodes = Json::parse(as_json(tape)).at("nodes");
  const Json& large = nodes[0].at("value");
  CHECK_FALSE(large.contains("values"));
  CHECK(large.at("mean") == Approx(49.5));
  CHECK(large.at("deviation") == Approx(std::sqrt((100. * 100 - 1) / 12)));
  CHECK(large.at("least") == 0);
  CHECK(large.at("greatest") == 99);
  const std::vector<int> counts = large.at("histogram");
  CHECK(std::accumulate(counts.begin(), counts.end(), 0) == 100);
  CHECK(*std::max_element(counts.begin(), counts.end()) <= 5);
  CHECK(nodes[1].at("value").at("values") == Json({"inf", "-inf", "nan"}));
  CHECK(nodes[2].at("value").at("non_finite") == 100);
  CHECK(nodes[3].at("value").at("histogram").front() == 50);
  CHECK(nodes[3].at("value").at("histogram").back() == 50);
  CHECK(nodes[4].at("value").at("values").empty());
}

TEST_CASE("a tape that keeps no values shows its operations", "[export]") {
  const Tape tape;
  const Tensor x = watch(ones({2}));
  grad(sum(exp(x)), x);
  CHECK(tape.flows().empty());
  const Json found = Json::parse(as_json(tape));
  CHECK(found.at("nodes").size() == 3);
  CHECK(found.at("nodes")[0].at("value").is_null());
  CHECK_THAT(as_dot(tape),
             Contains("n1 [label=\"%1 exp\\n(2)\", shape=ellipse]") && Contains("n0 -> n1;"));
}

TEST_CASE("a tape as a graph", "[export]") {
  const Parameter w(Tensor({1, 2}, {3, 4}), "the \"weight\"");
  const Tape tape({.keep_values = true});
  const Tensor y = sum(square(w));
  grad(y, std::vector{w}, {.record = true});
  const std::string graph = as_dot(tape);
  CHECK_THAT(graph, Contains("label=\"%0 parameter the \\\"weight\\\"\\n(1, 2)\\nvalue [[3, 4]]"
                             "\\ngradient [[6, 8]]\", shape=box]"));
  CHECK_THAT(graph, Contains("style=dashed"));
  CHECK(graph.substr(graph.size() - 2) == "}\n");
}

TEST_CASE("the viewer's page is one file that loads nothing", "[export]") {
  const testing::Scratch folder;
  const std::filesystem::path path = folder / "viewer.html";
  {
    const Parameter w(Tensor({1}, {2}), "</script>");
    const Tape tape({.keep_values = true});
    grad(sum(square(w)), std::vector{w});
    write_viewer(tape, path.string());
    CHECK_THROWS_AS(write_viewer(tape, (path / "below").string()), DataError);
  }
  std::string page = read_text(path);
  CHECK_THAT(page, Contains("\\u003c/script>") && Contains("\"format\":\"tapegrad tape 1\""));
  const std::string name_space = "http://www.w3.org/2000/svg";  // a name, not an address
  page.erase(page.find(name_space), name_space.size());
  for (const char* word : {"TAPES", "http:", "https:", "src=", "href=", "url("})
    CHECK_THAT(page, !Contains(word));
}
