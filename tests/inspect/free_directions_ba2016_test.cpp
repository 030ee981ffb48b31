#include "tapegrad/inspect/free_directions.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "inspect/weights.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// Whether a change of one parameter is listed, by itself or as part of a larger one.
bool lists(const std::vector<FreeDirection>& found, FreeKind kind, const std::string& name,
           const std::vector<int>& axes) {
  return std::any_of(found.begin(), found.end(), [&](const FreeDirection& one) {
    const FreePart& part = one.parts[0];
    const bool whole =
        part.axes.size() != 1 || part.end - part.begin == part.parameter.shape()[part.axes[0]];
    return one.kind == kind && one.parts.size() == 1 && part.name == name && whole &&
           std::includes(part.axes.begin(), part.axes.end(), axes.begin(), axes.end());
  });
}

// A linear layer with a normalization.
using Normalized = std::function<Tensor(const Tensor& x, const Tensor& w)>;

std::vector<FreeDirection> directions_of(const Normalized& layer) {
  Random random(7);
  const Weights net{{Parameter(random.normal({5, 6}))}};
  return free_directions(fields(net), random.normal({7, 5}, 0.5), [&](const Tensor& batch) {
    return squared_error(layer(batch, net.list[0]));
  });
}

Normalized by(const NormField& field, double epsilon) {
  return [=](const Tensor& x, const Tensor& w) {
    return normalize(matmul(x, w), both(field), {.epsilon = epsilon});
  };
}

Normalized layer(double epsilon) { return by({.axes = {1}}, epsilon); }

}  // namespace

// The columns of w are the weight vectors; the rows of the batch are the cases.
TEST_CASE("free directions: table 1 of Ba et al. 2016", "[free_directions]") {
  const struct {
    const char* name;
    FreeKind kind;
    const char* parameter;
    std::vector<int> axes;
  } cells[] = {
      {"matrix re-scaled", FreeKind::scale, "w.0", {}},
      {"matrix re-centered", FreeKind::shift, "w.0", {0}},
      {"vector re-scaled", FreeKind::scale, "w.0", {1}},
      {"data re-scaled", FreeKind::scale, "batch", {}},
      {"data re-centered", FreeKind::shift, "batch", {1}},
      {"one case re-scaled", FreeKind::scale, "batch", {0}},
  };
  const Tensor gain = Random(6).uniform({1, 6}, 0.5, 2);
  const Normalized weight = [=](const Tensor& x, const Tensor& w) {
    return matmul(x, weight_norm(w, gain, 0));
  };
  const struct {
    const char* name;
    Normalized layer;
    const char* is_invariant;  // y or -, cell by cell
    std::size_t count;         // of the directions that include them
  } rows[] = {
      {"batch", by({.axes = {0}}, 0), "y-yyy-", 3},
      {"weight", weight, "y-y---", 1},
      {"layer", layer(0), "yy-y-y", 3},
      {"batch, epsilon", by({.axes = {0}}, 1e-5), "y-yyy-", 3},
      {"layer, epsilon", layer(1e-5), "yy-y-y", 3},
      {"none", [](const Tensor& x, const Tensor& w) { return matmul(x, w); }, "------", 0},
      // Each of these lacks a part of layer normalization.
      {"mean square", [](const Tensor& x, const Tensor& w) { return rms_norm(matmul(x, w)); },
       "y--y-y", 2},
      {"mean alone",
       [](const Tensor& x, const Tensor& w) {
         const Tensor a = matmul(x, w);
         return a - mean(a, -1, Keep::yes);
       },
       "-y----", 1},
      {"a large epsilon", layer(1), "-y----", 1},
      {"an epsilon that is seen", layer(0.02), "-y----", 1},
      {"a mean that is 3 % too small",
       [](const Tensor& x, const Tensor& w) {
         const Tensor a = matmul(x, w), centered = a - sum(a, -1, Keep::yes) / 6.2;
         return centered / stddev(centered, -1, Keep::yes);
       },
       "y--y-y", 2},
  };
  for (const auto& row : rows) {
    const std::vector<FreeDirection> found = directions_of(row.layer);
    CAPTURE(row.name);
    CHECK(found.size() == row.count);
    for (std::size_t i = 0; i < std::size(cells); ++i) {
      CAPTURE(cells[i].name);
      CHECK(lists(found, cells[i].kind, cells[i].parameter, cells[i].axes) ==
            (row.is_invariant[i] == 'y'));
    }
  }
}

TEST_CASE("free directions are described in words", "[free_directions]") {
  const std::vector<FreeDirection> found = directions_of(layer(0));
  REQUIRE(found.size() == 3);
  CHECK_THAT(
      to_string(found[0]),
      Contains("numbers added to w.0 (5, 6), one for each position of axis 0: the change ends at "
               "layer_norm at free_directions_ba2016_test.cpp:"));
  CHECK_THAT(to_string(found[1]),
             Contains("a factor of all of w.0 (5, 6): the change ends at layer_norm"));
  CHECK_THAT(
      to_string(found[2]),
      Contains("factors of batch (7, 5), one for each position of axis 0: the change ends at"));
  for (const FreeDirection& one : found) {
    CHECK(one.slope < 1e-6);
    CHECK(one.change < 1e-5 * one.loss);
    CHECK(one.loss > 0.5);
  }
}

TEST_CASE("free directions: a detached mean leaves a slope where the loss is flat",
          "[free_directions]") {
  const auto found = directions_of([](const Tensor& x, const Tensor& w) {
    return layer_norm(matmul(x, w), {.detach_mean = true});
  });
  REQUIRE(lists(found, FreeKind::shift, "w.0", {0}));
  CHECK(found[0].slope > 1e-3);
  CHECK_THAT(to_string(found[0]), Contains("something is detached"));
}
