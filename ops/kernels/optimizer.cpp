#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/optimizer.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <limits>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/optimizer.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

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
  const Vector beta1 = constant(o.beta1), beta2 = constant(o.beta2), decay = constant(o.decay),
               rest1 = constant(1 - o.beta1), rest2 = constant(1 - o.beta2),
               epsilon = constant(o.epsilon), step = constant(o.step_size),
               correction = constant(o.root_correction), shrink = constant(o.shrink);
  const double least = least_square(o.epsilon);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector weight = at.load(w + i);
    const Vector gradient = hn::MulAdd(decay, weight, at.load(g + i));
    const Vector mean = hn::MulAdd(beta1, at.load(m + i), hn::Mul(rest1, gradient));
    const Vector square =
        hn::MulAdd(beta2, at.load(v + i), hn::Mul(rest2, hn::Mul(gradient, gradient)));
    const Vector root = hn::MulAdd(hn::Sqrt(square), correction, epsilon);
    const Vector moved = hn::Sub(hn::Mul(weight, shrink), hn::Div(hn::Mul(step, mean), root));
    at.store(decayed(mean), m + i);
    at.store(decayed(square, least), v + i);
    at.store(moved, w + i);
  });
}

void rms_prop(const RmsProp& o, Index count, real* w, const real* g, real* v, real* m) {
  const Vector alpha = constant(o.alpha), rest = constant(1 - o.alpha), decay = constant(o.decay),
               epsilon = constant(o.epsilon), momentum = constant(o.momentum),
               rate = constant(o.rate);
  const double least = least_square(o.epsilon);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector weight = at.load(w + i);
    const Vector gradient = hn::MulAdd(decay, weight, at.load(g + i));
    const Vector square =
        hn::MulAdd(alpha, at.load(v + i), hn::Mul(rest, hn::Mul(gradient, gradient)));
    const Vector direction = hn::Div(gradient, hn::Add(hn::Sqrt(square), epsilon));
    const Vector velocity = hn::MulAdd(momentum, at.load(m + i), direction);
    at.store(decayed(square, least), v + i);
    at.store(decayed(velocity), m + i);
    at.store(hn::NegMulAdd(rate, velocity, weight), w + i);
  });
}

void sgd(const Sgd& o, Index count, real* w, const real* g, real* m) {
  const Vector rate = constant(o.rate), decay = constant(o.decay);
  const Vector momentum = constant(o.momentum), carried = constant(o.first_step ? 0 : o.momentum);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector weight = at.load(w + i);
    const Vector gradient = hn::MulAdd(decay, weight, at.load(g + i));
    const Vector velocity = hn::MulAdd(carried, at.load(m + i), gradient);
    const Vector direction = o.nesterov ? hn::MulAdd(momentum, velocity, gradient) : velocity;
    at.store(decayed(velocity), m + i);
    at.store(hn::NegMulAdd(rate, direction, weight), w + i);
  });
}

void adagrad(const Adagrad& o, Index count, real* w, const real* g, real* s) {
  const Vector rate = constant(o.rate), decay = constant(o.decay), epsilon = constant(o.epsilon);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector weight = at.load(w + i);
    const Vector gradient = hn::MulAdd(decay, weight, at.load(g + i));
    const Vector sum = hn::MulAdd(gradient, gradient, at.load(s + i));
    const Vector direction = hn::Div(gradient, hn::Add(hn::Sqrt(sum), epsilon));
    at.store(sum, s + i);
    at.store(hn::NegMulAdd(rate, direction, weight), w + i);
  });
}

void adadelta(const Adadelta& o, Index count, real* w, const real* g, real* v, real* u) {
  const Vector rate = constant(o.rate), rho = constant(o.rho), rest = constant(1 - o.rho),
               decay = constant(o.decay), epsilon = constant(o.epsilon);
  const double least = least_square(o.epsilon);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector weight = at.load(w + i), changes = at.load(u + i);
    const Vector gradient = hn::MulAdd(decay, weight, at.load(g + i));
    const Vector square =
        hn::MulAdd(rho, at.load(v + i), hn::Mul(rest, hn::Mul(gradient, gradient)));
    const Vector scale =
        hn::Div(hn::Sqrt(hn::Add(changes, epsilon)), hn::Sqrt(hn::Add(square, epsilon)));
    const Vector change = hn::Mul(scale, gradient);
    at.store(decayed(square, least), v + i);
    at.store(decayed(hn::MulAdd(rho, changes, hn::Mul(rest, hn::Mul(change, change))), least),
             u + i);
    at.store(hn::NegMulAdd(rate, change, weight), w + i);
  });
}

void lion(const Lion& o, Index count, real* w, const real* g, real* m) {
  const Vector rate = constant(o.rate), shrink = constant(o.shrink), zero = constant(0);
  const Vector beta1 = constant(o.beta1), rest1 = constant(1 - o.beta1);
  const Vector beta2 = constant(o.beta2), rest2 = constant(1 - o.beta2);
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector gradient = at.load(g + i), mean = at.load(m + i);
    const Vector mixed = hn::MulAdd(beta1, mean, hn::Mul(rest1, gradient));
    // The quotient is exactly 1 or -1, and NaN for NaN.
    const Vector sign = hn::IfThenZeroElse(hn::Eq(mixed, zero), hn::Div(mixed, hn::Abs(mixed)));
    at.store(decayed(hn::MulAdd(beta2, mean, hn::Mul(rest2, gradient))), m + i);
    at.store(hn::NegMulAdd(rate, sign, hn::Mul(shrink, at.load(w + i))), w + i);
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
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(optimizers_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
