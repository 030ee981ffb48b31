#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/optimizer.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/optimizer.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// Calls body(w, g, moments) with pointers to whole vectors. The rest goes through padded copies.
template <std::size_t N, class Body>
void for_vectors(Index count, real* w, const real* g, std::array<real*, N> moments,
                 const Body& body) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(w + i, g + i, moments);
    for (real*& moment : moments) moment += lanes;
  }
  if (i == count) return;
  const Index left = count - i;
  HWY_ALIGN real rest[2 + N][hn::MaxLanes(d)] = {};
  std::copy_n(w + i, left, rest[0]);
  std::copy_n(g + i, left, rest[1]);
  std::array<real*, N> copies;
  for (std::size_t n = 0; n < N; ++n) {
    copies[n] = rest[2 + n];
    std::copy_n(moments[n], left, copies[n]);
  }
  body(rest[0], rest[1], copies);
  std::copy_n(rest[0], left, w + i);
  for (std::size_t n = 0; n < N; ++n) std::copy_n(copies[n], left, moments[n]);
}

constexpr double least_normal = std::numeric_limits<real>::min();

// What is left of a moment. Without gradients it decays until it is subnormal and then for good
// stays so, since 0.9 times the least number is rounded to that number again. A processor takes
// some hundred cycles for each of these, so they count as 0.
Vector decayed(Vector moment, double least = least_normal) {
  return hn::IfThenZeroElse(hn::Lt(hn::Abs(moment), constant(least)), moment);
}

// The least mean square, which must not vanish beside an epsilon of 0.
double least_square(double epsilon) { return epsilon > 0 ? least_normal : 0; }

void adam(const Adam& o, Index count, real* w, const real* g, real* m, real* v) {
  const Tag d;
  const Vector beta1 = constant(o.beta1), beta2 = constant(o.beta2), decay = constant(o.decay),
               rest1 = constant(1 - o.beta1), rest2 = constant(1 - o.beta2),
               epsilon = constant(o.epsilon), step = constant(o.step_size),
               correction = constant(o.root_correction), shrink = constant(o.shrink);
  const double least = least_square(o.epsilon);
  for_vectors(count, w, g, std::array{m, v}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [pm, pv] = moments;
    const Vector weight = hn::LoadU(d, pw);
    const Vector gradient = hn::MulAdd(decay, weight, hn::LoadU(d, pg));
    const Vector mean = hn::MulAdd(beta1, hn::LoadU(d, pm), hn::Mul(rest1, gradient));
    const Vector square =
        hn::MulAdd(beta2, hn::LoadU(d, pv), hn::Mul(rest2, hn::Mul(gradient, gradient)));
    const Vector root = hn::MulAdd(hn::Sqrt(square), correction, epsilon);
    const Vector moved = hn::Sub(hn::Mul(weight, shrink), hn::Div(hn::Mul(step, mean), root));
    hn::StoreU(decayed(mean), d, pm);
    hn::StoreU(decayed(square, least), d, pv);
    hn::StoreU(moved, d, pw);
  });
}

void rms_prop(const RmsProp& o, Index count, real* w, const real* g, real* v, real* m) {
  const Tag d;
  const Vector alpha = constant(o.alpha), rest = constant(1 - o.alpha), decay = constant(o.decay),
               epsilon = constant(o.epsilon), momentum = constant(o.momentum),
               rate = constant(o.rate);
  const double least = least_square(o.epsilon);
  for_vectors(count, w, g, std::array{m, v}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [pm, pv] = moments;
    const Vector weight = hn::LoadU(d, pw);
    const Vector gradient = hn::MulAdd(decay, weight, hn::LoadU(d, pg));
    const Vector square =
        hn::MulAdd(alpha, hn::LoadU(d, pv), hn::Mul(rest, hn::Mul(gradient, gradient)));
    const Vector direction = hn::Div(gradient, hn::Add(hn::Sqrt(square), epsilon));
    const Vector velocity = hn::MulAdd(momentum, hn::LoadU(d, pm), direction);
    hn::StoreU(decayed(square, least), d, pv);
    hn::StoreU(decayed(velocity), d, pm);
    hn::StoreU(hn::NegMulAdd(rate, velocity, weight), d, pw);
  });
}

void sgd(const Sgd& o, Index count, real* w, const real* g, real* m) {
  const Tag d;
  const Vector rate = constant(o.rate), decay = constant(o.decay);
  const Vector momentum = constant(o.momentum), carried = constant(o.first_step ? 0 : o.momentum);
  for_vectors(count, w, g, std::array{m}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [pm] = moments;
    const Vector weight = hn::LoadU(d, pw);
    const Vector gradient = hn::MulAdd(decay, weight, hn::LoadU(d, pg));
    const Vector velocity = hn::MulAdd(carried, hn::LoadU(d, pm), gradient);
    const Vector direction = o.nesterov ? hn::MulAdd(momentum, velocity, gradient) : velocity;
    hn::StoreU(decayed(velocity), d, pm);
    hn::StoreU(hn::NegMulAdd(rate, direction, weight), d, pw);
  });
}

void adagrad(const Adagrad& o, Index count, real* w, const real* g, real* s) {
  const Tag d;
  const Vector rate = constant(o.rate), decay = constant(o.decay), epsilon = constant(o.epsilon);
  for_vectors(count, w, g, std::array{s}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [ps] = moments;
    const Vector weight = hn::LoadU(d, pw);
    const Vector gradient = hn::MulAdd(decay, weight, hn::LoadU(d, pg));
    const Vector sum = hn::MulAdd(gradient, gradient, hn::LoadU(d, ps));
    const Vector direction = hn::Div(gradient, hn::Add(hn::Sqrt(sum), epsilon));
    hn::StoreU(sum, d, ps);
    hn::StoreU(hn::NegMulAdd(rate, direction, weight), d, pw);
  });
}

void adadelta(const Adadelta& o, Index count, real* w, const real* g, real* v, real* u) {
  const Tag d;
  const Vector rate = constant(o.rate), rho = constant(o.rho), rest = constant(1 - o.rho),
               decay = constant(o.decay), epsilon = constant(o.epsilon);
  const double least = least_square(o.epsilon);
  for_vectors(count, w, g, std::array{v, u}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [pv, pu] = moments;
    const Vector weight = hn::LoadU(d, pw), changes = hn::LoadU(d, pu);
    const Vector gradient = hn::MulAdd(decay, weight, hn::LoadU(d, pg));
    const Vector square =
        hn::MulAdd(rho, hn::LoadU(d, pv), hn::Mul(rest, hn::Mul(gradient, gradient)));
    const Vector scale =
        hn::Div(hn::Sqrt(hn::Add(changes, epsilon)), hn::Sqrt(hn::Add(square, epsilon)));
    const Vector change = hn::Mul(scale, gradient);
    hn::StoreU(decayed(square, least), d, pv);
    hn::StoreU(decayed(hn::MulAdd(rho, changes, hn::Mul(rest, hn::Mul(change, change))), least), d,
               pu);
    hn::StoreU(hn::NegMulAdd(rate, change, weight), d, pw);
  });
}

void lion(const Lion& o, Index count, real* w, const real* g, real* m) {
  const Tag d;
  const Vector rate = constant(o.rate), shrink = constant(o.shrink), zero = hn::Zero(d);
  const Vector beta1 = constant(o.beta1), rest1 = constant(1 - o.beta1);
  const Vector beta2 = constant(o.beta2), rest2 = constant(1 - o.beta2);
  for_vectors(count, w, g, std::array{m}, [&](real* pw, const real* pg, const auto& moments) {
    const auto [pm] = moments;
    const Vector gradient = hn::LoadU(d, pg), mean = hn::LoadU(d, pm);
    const Vector mixed = hn::MulAdd(beta1, mean, hn::Mul(rest1, gradient));
    // The quotient is exactly 1 or -1, and NaN for NaN.
    const Vector sign = hn::IfThenZeroElse(hn::Eq(mixed, zero), hn::Div(mixed, hn::Abs(mixed)));
    hn::StoreU(decayed(hn::MulAdd(beta2, mean, hn::Mul(rest2, gradient))), d, pm);
    hn::StoreU(hn::NegMulAdd(rate, sign, hn::Mul(shrink, hn::LoadU(d, pw))), d, pw);
  });
}

}  // namespace

const Optimizers* optimizers_here() {
  static constexpr Optimizers loops{.adam = adam,
                                    .rms_prop = rms_prop,
                                    .sgd = sgd,
                                    .adagrad = adagrad,
                                    .adadelta = adadelta,
                                    .lion = lion};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(optimizers_here);
const Optimizers& optimizers() {
  static const Optimizers& best =
      *detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(optimizers_here)(); });
  return best;
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
