#pragma once

// Functions that are the same in value and gradient.

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>

#include "support/golden.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::testing {

inline constexpr double same_precision = sizeof(real) == 8 ? 1e-9 : 3e-4;

using F = std::function<Tensor(const Tensor&)>;

inline Tensor gradient(const F& f, const Tensor& x, const Tensor& g) {
  return vjp([&](const auto& in) { return f(in[0]); }, {x}, g)[0];
}

// Value and gradient of f at x.
inline std::vector<Tensor> both_of(const Function& f, const Tensor& x) {
  const Tape tape;
  const Tensor leaf = watch(x), y = f({leaf});
  return {detach(y), grad(sum(y * cos(arange(y.size()).view(y.shape()))), leaf)};
}

// Values and gradients of two functions agree, fused and composite alike.
inline void check_same(const F& f, const F& g, const Tensor& x) {
  const Tensor seed = Random(99).normal(f(x).shape());
  for (const bool readable : {false, true}) {
    std::optional<Composite> composite;
    if (readable) composite.emplace();
    INFO((readable ? "composite" : "fused"));
    CHECK(relative_error(f(x), g(x)) < same_precision);
    const Tensor expected = gradient(g, x, seed);
    // The gradient of few values nearly cancels: rounding is relative to what cancels.
    const double size = std::max(norm(seed).item(), norm(expected).item());
    CHECK(norm(gradient(f, x, seed) - expected).item() / size < same_precision);
  }
}

}  // namespace tapegrad::testing
