#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "support/golden.h"
#include "support/restore_threads.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/conv.h"
#include "tapegrad/ops/einsum.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Matchers::Contains;

namespace {

constexpr real infinity = std::numeric_limits<real>::infinity();
const real nan_value = std::numeric_limits<real>::quiet_NaN();

bool is(const Tensor& x, const std::vector<real>& expected) {
  return std::equal(expected.begin(), expected.end(), x.values().begin(), x.values().end());
}
bool is(const Indices& x, const std::vector<Index>& expected) {
  return std::equal(expected.begin(), expected.end(), x.values().begin(), x.values().end());
}

// The gradient of a scalar function, and that of its sum: first and second derivatives.
struct Slopes {
  Tensor first, second;
};
Slopes slopes(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  const Tape tape;
  const Tensor x = watch(at);
  const Tensor first = grad(f(x), x, {.record = true});
  return {detach(first), grad(sum(first + 0.0 * x), x)};  // on the tape even where constant
}

}  // namespace

TEST_CASE("huber is smooth at 0 and keeps its slope at the bounds and beyond", "[ops]") {
  const Tensor x({6}, {0, 1, -1, 3, -3, infinity});
  const Slopes found = slopes([](const Tensor& at) { return 6.0 * huber(at, zeros({6}), 1); }, x);
  CHECK(is(found.first, {0, 1, -1, 1, -1, 1}));
  CHECK(is(found.second, {1, 1, 1, 0, 0, 0}));
  CHECK(huber(Tensor(3.0), Tensor(0.0), 2).item() == 4);
  CHECK(huber(Tensor(infinity), Tensor(0.0)).item() == infinity);
  CHECK(std::isnan(huber(Tensor(nan_value), Tensor(0.0)).item()));
  CHECK_THROWS_WITH(huber(zeros({2}), zeros({3})), "huber: shapes differ: (2) and (3)");
  CHECK_THROWS_WITH(huber(zeros({2}), zeros({2}), 0), Contains("huber: delta must be positive: 0"));
}

TEST_CASE("hinge is 0 from the margin on", "[ops]") {
  const Tensor x({4}, {2, 1, 0.5, -3}), target = ones({4});
  CHECK(hinge(x, target).item() == Approx(4.5 / 4));
  const Slopes found = slopes([&](const Tensor& at) { return 4.0 * hinge(at, target); }, x);
  CHECK(is(found.first, {0, 0, -1, -1}));
  CHECK_THROWS_WITH(hinge(zeros({2}), zeros({2, 1})), "hinge: shapes differ: (2) and (2, 1)");
}

TEST_CASE("a probability of 0 adds an exact 0 to the divergence", "[ops]") {
  const Tensor p({1, 3}, {0, 0.5, 0.5}), log_q({1, 3}, {-infinity, -1, -2});
  CHECK(kl_divergence(log_q, p).item() == Approx(std::log(0.5) + 1.5));
  CHECK(kl_divergence(log(Tensor({2}, {0.25, 0.75})), Tensor({2}, {0.25, 0.75})).item() ==
        Approx(0).margin(1e-6));
  const Slopes to_q = slopes([&](const Tensor& at) { return kl_divergence(at, p); }, log_q);
  CHECK(is(to_q.first, {0, -0.5, -0.5}));
  const Slopes to_p = slopes([&](const Tensor& at) { return kl_divergence(log_q, at); }, p);
  CHECK(to_p.first.data()[0] == 0);
  CHECK(to_p.first.data()[1] == Approx(std::log(0.5) + 2));
  CHECK(to_p.second.data()[0] == 0);
  CHECK(to_p.second.data()[1] == Approx(2));
  CHECK(kl_divergence(Tensor({3}, {-1, -1, -1}), Tensor({3}, {1, 0, 0})).item() == 1);
  CHECK(kl_divergence(zeros({2, 2, 3}), full({2, 2, 3}, 1.0 / 3)).item() ==
        Approx(-std::log(3.0)));  // a mean over all rows
  CHECK_THROWS_WITH(kl_divergence(Tensor(0.0), Tensor(1.0)), Contains("kl_divergence: needs"));
  CHECK_THROWS_WITH(kl_divergence(zeros({2}), zeros({3})),
                    "kl_divergence: shapes differ: (2) and (3)");
}

TEST_CASE("running sums", "[ops]") {
  CHECK(is(cumsum(Tensor({2, 2}, {1, 2, 3, 4}), 0), {1, 2, 4, 6}));
  CHECK(is(cumsum(Tensor({2, 2}, {1, 2, 3, 4})), {1, 3, 3, 7}));
  CHECK(is(cumsum(Tensor({3}, {1, infinity, 1})), {1, infinity, infinity}));
  CHECK(cumsum(zeros({0, 3}), 0).shape() == Shape{0, 3});
  CHECK(cumsum(zeros({3, 0}), 0).shape() == Shape{3, 0});
  CHECK(cumsum(full({100'000}, 0.1)).data()[99'999] ==
        Approx(1e5 * static_cast<double>(real(0.1))).epsilon(1e-6));
  CHECK_THROWS_WITH(cumsum(zeros({2, 3}), 2), Contains("axis 2") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(cumsum(Tensor(1.0)), Contains("axis -1") && Contains("()"));
}

TEST_CASE("sorting is stable and NaN is greatest", "[ops]") {
  const Tensor x({6}, {2, nan_value, 1, 2, infinity, 1});
  const Ordered up = sort(x), down = sort(x, 0, true), best = top_k(x, 4);
  CHECK(is(up.positions, {2, 5, 0, 3, 4, 1}));
  CHECK(is(down.positions, {1, 4, 0, 3, 2, 5}));
  CHECK(is(best.positions, {1, 4, 0, 3}));
  CHECK(std::isnan(up.values.data()[5]));
  CHECK(std::isnan(best.values.data()[0]));
  CHECK(best.values.data()[1] == infinity);
  const Ordered columns = sort(Tensor({2, 3}, {3, 1, 2, 1, 1, 5}), 0);
  CHECK(is(columns.values, {1, 1, 2, 3, 1, 5}));
  CHECK(is(columns.positions, {1, 0, 0, 0, 1, 1}));
}

TEST_CASE("sorting nothing, and more than there is", "[ops]") {
  CHECK(sort(zeros({0, 3}), 0).values.shape() == Shape{0, 3});
  CHECK(sort(zeros({3, 0}), 0).positions.shape() == Shape{3, 0});
  CHECK(top_k(zeros({2, 3}), 0).values.shape() == Shape{2, 0});
  CHECK(top_k(zeros({2, 3}), 3).values.shape() == Shape{2, 3});
  CHECK_THROWS_WITH(top_k(zeros({2, 3}), 4), "top_k: axis 1 of (2, 3) has no 4 elements");
  CHECK_THROWS_WITH(top_k(zeros({2, 3}), -1, 0), "top_k: axis 0 of (2, 3) has no -1 elements");
  CHECK_THROWS_WITH(sort(zeros({2, 3}), 2), Contains("axis 2") && Contains("(2, 3)"));
}

TEST_CASE("the gradient of what was sorted goes to its first position", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({4}, {3, 1, 3, 2}));
  CHECK(is(grad(sum(top_k(x, 1).values), x, {.keep = true}), {1, 0, 0, 0}));
  CHECK(is(grad(sum(sort(x).values * Tensor({4}, {1, 2, 3, 4})), x), {3, 1, 4, 2}));
}

TEST_CASE("sums and orders are the same for any number of threads", "[ops]") {
  const Tensor x = Random(1).normal({40, 900});
  const RestoreThreads after;
  const auto all = [&] {
    return std::vector{cumsum(x), cumsum(x, 0), sort(x).values, top_k(x, 7, 0).values};
  };
  set_threads(1);
  const std::vector<Tensor> one = all();
  set_threads(3);
  const std::vector<Tensor> three = all();
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(relative_error(three[i], one[i]) == 0);
}

TEST_CASE("convolutions refuse windows, groups and dilations that do not fit", "[ops]") {
  const Tensor image = zeros({1, 4, 5, 5}), weight = zeros({6, 2, 3, 3});
  CHECK(conv2d(image, weight, {.groups = 2}).shape() == Shape{1, 6, 3, 3});
  CHECK_THROWS_WITH(conv2d(image, weight),
                    "conv2d: channels differ: (1, 4, 5, 5) and (6, 2, 3, 3), groups 1");
  CHECK_THROWS_WITH(conv2d(image, weight, {.groups = 3}), Contains("3 groups do not divide"));
  CHECK_THROWS_WITH(conv2d(image, zeros({3, 2, 3, 3}), {.groups = 2}),
                    Contains("2 groups do not divide") && Contains("(3, 2, 3, 3)"));
  CHECK_THROWS_WITH(conv2d(image, weight, {.groups = 0}), Contains("0 groups do not divide"));
  CHECK_THROWS_WITH(conv2d(image, weight, {.dilation = 0, .groups = 2}),
                    "conv2d: dilation must be at least 1: 0");
  CHECK_THROWS_WITH(conv2d(image, weight, {.dilation = 3, .groups = 2}),
                    "conv2d: a window of 7 does not fit (1, 4, 5, 5) with padding 0");
  CHECK(conv2d(image, weight, {.padding = 1, .dilation = 3, .groups = 2}).shape() ==
        Shape{1, 6, 1, 1});
}

TEST_CASE("a convolution along one axis pads that axis alone", "[ops]") {
  const Tensor y = conv1d(Tensor({1, 1, 3}, {1, 2, 3}), Tensor({1, 1, 2}, {1, 10}), {.padding = 2});
  CHECK(y.shape() == Shape{1, 1, 6});
  CHECK(is(y, {0, 10, 21, 32, 3, 0}));
  CHECK(conv1d(zeros({0, 2, 5}), zeros({3, 2, 3})).shape() == Shape{0, 3, 3});
  CHECK_THROWS_WITH(conv1d(zeros({2, 5}), zeros({3, 2, 3})), Contains("conv1d: needs (N, C, L)"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 3, 3})),
                    Contains("conv1d: channels differ"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 2, 6})),
                    Contains("conv1d: a window of 6 does not fit"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 2, 2}), {.stride = 0}),
                    Contains("conv1d: size and stride must be at least 1"));
}

TEST_CASE("a transposed convolution undoes the shape of a convolution", "[ops]") {
  Random random(3);
  for (const Index height : {6, 7}) {  // both give 3 lines at stride 2
    const Tensor x = random.normal({2, 3, height, 6}), weight = random.normal({4, 3, 2, 2});
    const Tensor y = conv2d(x, weight, {.stride = 2});
    CHECK(y.shape() == Shape{2, 4, 3, 3});
    const Tensor back = conv_transpose2d(y, weight, {.stride = 2, .output_padding = height - 6});
    CHECK(back.shape() == Shape{2, 3, height, height});
    if (height == 6)  // <conv x, y> = <x, transpose y>
      CHECK(sum(square(y)).item() == Approx(sum(x * back).item()).epsilon(1e-4));
  }
  CHECK(is(conv_transpose2d(Tensor({1, 1, 1, 2}, {1, 2}), Tensor({1, 1, 1, 2}, {1, 10})),
           {1, 12, 20}));
  CHECK(conv_transpose2d(zeros({0, 2, 3, 3}), zeros({2, 5, 2, 2})).shape() == Shape{0, 5, 4, 4});
}

TEST_CASE("a transposed convolution refuses what does not fit", "[ops]") {
  const Tensor x = zeros({1, 2, 3, 3}), weight = zeros({2, 4, 2, 2});
  CHECK_THROWS_WITH(conv_transpose2d(zeros({2, 3}), weight),
                    Contains("conv_transpose2d: needs (N, C, H, W)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(conv_transpose2d(x, zeros({4, 2, 2, 2})),
                    "conv_transpose2d: channels differ: (1, 2, 3, 3) and (4, 2, 2, 2)");
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.groups = 3}),
                    "conv_transpose2d: 3 groups do not divide the channels of (1, 2, 3, 3)");
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.stride = 2, .output_padding = 2}),
                    "conv_transpose2d: output padding must lie in [0, stride): 2 with stride 2");
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.padding = 2}),
                    "conv_transpose2d: padding 2 leaves nothing of (1, 2, 3, 3)");
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.padding = -1}), Contains("padding at least 0"));
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.dilation = 0}), Contains("dilation"));
  CHECK_THROWS_WITH(conv_transpose2d(zeros({1, 2, 0, 3}), weight),
                    Contains("conv_transpose2d: ") && Contains("(1, "));
}

TEST_CASE("derivatives of convolutions of the third order", "[ops]") {
  // The second derivative is checked for every row; here its gradient once more.
  Random random(5);
  const Tensor x = random.normal({1, 2, 4, 4}), weight = random.normal({2, 1, 2, 2});
  const Function twice = [](const std::vector<Tensor>& in) {
    const Tensor y = conv_transpose2d(in[0], in[1], {.stride = 2, .groups = 2});
    return conv2d(square(y), in[1], {.dilation = 2, .groups = 2});
  };
  const Function gradient = [&](const std::vector<Tensor>& in) {
    return vjp(twice, {in[0], in[1]}, in[2])[1];
  };
  const Tensor seed = random.normal(twice({x, weight}).shape());
  const CheckOptions loose{.tolerance = sizeof(real) == 8 ? 1e-6 : 5e-2};
  CHECK(check_second_gradient(gradient, {x, weight, seed}, loose));
}

TEST_CASE("convolutions in groups are the same for any number of threads", "[ops]") {
  Random random(6);
  const Tensor x = random.normal({9, 4, 12, 12}), weight = random.normal({4, 2, 3, 3});
  const RestoreThreads after;
  const Function both = [](const std::vector<Tensor>& in) {
    const Tensor y = conv2d(in[0], in[1], {.dilation = 2, .groups = 2});
    return conv_transpose2d(y, in[1], {.stride = 2, .groups = 2});
  };
  const auto all = [&] {
    const Tensor y = both({x, weight});
    std::vector<Tensor> found = vjp(both, {x, weight}, ones(y.shape()));
    found.push_back(y);
    return found;
  };
  set_threads(1);
  const std::vector<Tensor> one = all();
  set_threads(3);
  const std::vector<Tensor> three = all();
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(relative_error(three[i], one[i]) == 0);
}

TEST_CASE("sums in Einstein's notation at the edges", "[ops]") {
  const Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), v({3}, {1, 10, 100});
  CHECK(is(einsum("ij,j", {a, v}), {321, 654}));
  CHECK(is(einsum("ij->ij", {a}), {1, 2, 3, 4, 5, 6}));
  CHECK(is(einsum("ba", {a}), {1, 4, 2, 5, 3, 6}));  // in alphabetical order
  CHECK(einsum("ij->", {a}).item() == 21);
  CHECK(einsum("ij,k->", {a, v}).item() == 21 * 111);
  CHECK(is(einsum(",i->i", {Tensor(2.0), v}), {2, 20, 200}));
  CHECK(einsum("->", {Tensor(7.0)}).item() == 7);
  CHECK(einsum("Aa,a->A", {a, v}).shape() == Shape{2});
  CHECK(einsum(" i j , k -> k i ", {a, Tensor({1}, {2})}).shape() == Shape{1, 2});
  CHECK(is(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 2})}), {0, 0, 0, 0}));
  CHECK(einsum("ij,jk->ik", {zeros({0, 2}), zeros({2, 3})}).shape() == Shape{0, 3});
}

TEST_CASE("einsum refuses what it does not support by name", "[ops]") {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  CHECK_THROWS_WITH(
      einsum("ii->i", {zeros({2, 2})}),
      "einsum: index i is repeated within an operand, and diagonals are not supported: ii->i");
  CHECK_THROWS_WITH(einsum("...ij->...ji", {a}),
                    "einsum: an ellipsis is not supported: ...ij->...ji");
  CHECK_THROWS_WITH(einsum("ij,jk->ik", {a}), "einsum: 1 operands for 2 terms: ij,jk->ik");
  CHECK_THROWS_WITH(einsum("", {}), Contains("0 operands for 1 terms"));
  CHECK_THROWS_WITH(einsum("ijk->i", {a}),
                    "einsum: ijk names 3 axes of operand 0 of shape (2, 3): ijk->i");
  CHECK_THROWS_WITH(einsum("ij,ik->jk", {a, b}),
                    "einsum: index i has the extents 2 and 3: ij,ik->jk");
  CHECK_THROWS_WITH(einsum("ij,ik->jk", {a, zeros({1, 4})}), Contains("the extents 2 and 1"));
  CHECK_THROWS_WITH(einsum("ij->ii", {a}), "einsum: index i is repeated in the result: ij->ii");
  CHECK_THROWS_WITH(einsum("ij->ik", {a}),
                    "einsum: index k of the result is in no operand: ij->ik");
  CHECK_THROWS_WITH(einsum("i1->i", {a}), Contains("is not a letter") && Contains("1"));
  CHECK_THROWS_WITH(einsum("ij->i->j", {a}), Contains("is not a letter"));
  CHECK_THROWS_WITH(einsum("ij-i", {a}), Contains("is not a letter"));
}
