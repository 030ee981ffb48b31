#include "tapegrad/nn/optimizers/gradients.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/similarity.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("gradients that are undefined count as none and stay undefined", "[nn]") {
  const std::vector<Tensor> gradients{Tensor({2}, {3, 4}), Tensor()};
  CHECK(global_norm(gradients) == Approx(5));
  for (const auto& [clip, limit, clipped] :
       {std::tuple<std::function<void(std::vector<Tensor>&, double)>, double, double>{
            clip_by_global_norm, 2.5, 1.5},
        {clip_by_norm, 2.5, 1.5},
        {clip_by_value, 1, 1}}) {
    std::vector<Tensor> each = gradients;
    clip(each, limit);
    CHECK(each[0].data()[0] == Approx(clipped));
    CHECK_FALSE(each[1].defined());
  }
  std::vector<Tensor> total;
  accumulate(total, gradients);
  accumulate(total, {Tensor(), Tensor()});
  CHECK(total[0].data()[1] == 4);
  CHECK_FALSE(total[1].defined());
  accumulate(total, {Tensor({2}, {1, 1}), Tensor({1}, {7})});
  CHECK(total[0].data()[1] == 5);
  CHECK(total[1].data()[0] == 7);
}

TEST_CASE("clipping by common norm, by own norm and by value", "[nn]") {
  const std::vector<Tensor> gradients{Tensor({2}, {3, 0}), Tensor({1}, {4})};
  std::vector<Tensor> common = gradients, own = gradients, value = gradients;
  CHECK(global_norm(gradients) == Approx(5));
  CHECK(clip_by_global_norm(common, 2.5) == Approx(5));
  CHECK(common[0].data()[0] == Approx(1.5));
  CHECK(common[1].data()[0] == Approx(2));
  CHECK(clip_by_global_norm(common, 10) == Approx(2.5));
  CHECK(common[1].data()[0] == Approx(2));
  clip_by_norm(own, 3.5);
  CHECK(own[0].data()[0] == 3);
  CHECK(own[1].data()[0] == Approx(3.5));
  clip_by_value(value, 2);
  CHECK(value[0].data()[0] == 2);
  CHECK(value[0].data()[1] == 0);
  CHECK_THROWS_AS(clip_by_value(value, 0), ArgumentError);
  std::vector<Tensor> total;
  accumulate(total, gradients);
  accumulate(total, gradients);
  CHECK(total[1].data()[0] == 8);
}

TEST_CASE("norms are right, and clip, where squares overflow or vanish", "[nn]") {
  using Limits = std::numeric_limits<real>;
  const double least = std::sqrt(Limits::min()), most = std::sqrt(Limits::max());
  for (const double scale : {1e-5 * least, 0.1 * least, 10 * least, 0.1 * most, 10 * most}) {
    INFO(scale);
    const std::vector<Tensor> gradients{scale * Tensor({2}, {3, 0}), full({1}, -4 * scale)};
    const double limit = scale / 10;
    CHECK(global_norm(gradients) / scale == Approx(5));
    std::vector<Tensor> common = gradients, own = gradients;
    CHECK(clip_by_global_norm(common, limit) / scale == Approx(5));
    CHECK(common[0].values()[0] / limit == Approx(0.6));
    CHECK(common[1].values()[0] / limit == Approx(-0.8));
    clip_by_norm(own, limit);
    CHECK(own[0].values()[0] / limit == Approx(1));
    CHECK(own[1].values()[0] / limit == Approx(-1));
    CHECK(l2_normalize(gradients[1], {.axis = 0, .epsilon = 0}).item() == Approx(-1));
  }
}

TEST_CASE("means over batches of different sizes are weighted to the mean of all", "[nn]") {
  const Tensor few({2}, {1, 2}), more({3}, {3, 4, 8});
  const Parameter w(ones({}));
  std::vector<Tensor> total;
  for (const Tensor& batch : {few, more}) {
    const Tape tape;
    const double share = static_cast<double>(batch.size()) / 5;
    accumulate(total, {grad(mean(batch * w) * share, w)});
  }
  CHECK(total[0].item() == Approx(3.6));  // 18 / 5
}

TEST_CASE("clipping passes on what is not a number, as PyTorch does", "[ops]") {
  for (const real bad : {no_number, infinity}) {
    std::vector<Tensor> gradients{Tensor({2}, {bad, 1}), full({3}, 1000)};
    clip_by_global_norm(gradients, 1);
    CHECK(std::isnan(gradients[0].values()[0]));
    // nan makes all of them nan; beside inf, the others become 0
    if (std::isnan(bad)) CHECK(std::isnan(gradients[1].values()[0]));
    if (!std::isnan(bad)) CHECK(gradients[1].values()[0] == 0);
    std::vector<Tensor> alone{Tensor({2}, {bad, 1})};
    clip_by_norm(alone, 1);
    CHECK(std::isnan(alone[0].values()[0]));
  }
}
