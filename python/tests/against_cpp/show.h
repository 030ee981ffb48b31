#pragma once

#include <fmt/format.h>
#include <tapegrad/tapegrad.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What a call in C++ gives, as text. `shown` in test_against_cpp.py writes the same from Python.

namespace tapegrad::TAPEGRAD_SCALAR {

void show(std::integral auto x) { fmt::print("{}\n", x); }
/// The bits. One NaN is as good as another.
inline void show(std::floating_point auto x) {
  if (std::isnan(x))
    fmt::print("nan\n");
  else
    fmt::print("{:016x}\n", std::bit_cast<std::uint64_t>(double{x}));
}
inline void show(const std::string& x) { fmt::print("{}\n", x); }
template <class Array>
requires(std::same_as<Array, Tensor> || std::same_as<Array, Indices>) void show(const Array& x) {
  if (!x.defined()) return show(std::string("undefined"));
  show(to_string(x.shape()));
  const Index many = 64;
  if (x.shape().size() <= many) {
    for (Index i = 0; i < x.shape().size(); ++i) show(x.data()[i]);
    return;
  }
  using Number = std::conditional_t<std::same_as<Array, Tensor>, double, Index>;
  std::uint64_t sum = 0;
  for (Index i = 0; i < x.shape().size(); ++i)
    sum += std::bit_cast<std::uint64_t>(Number{x.data()[i]}) * (2 * std::uint64_t(i) + 1);
  show(sum);
}
inline void show(const Parameter& x) { show(x.value()); }
inline void show(const RecurrentState& x) {
  show(x.h);
  show(x.c);
}
inline void show(const Schedule& x) {
  for (const Index step : {0, 1, 3, 7, 20}) show(x(step));
}
template <class Value>
void show(const std::vector<Value>& xs) {
  for (const auto& x : xs) show(x);
}
template <class Value>
void show(const std::optional<Value>& x) {
  if (!x) return show(std::string("undefined"));
  show(*x);
}
template <class Key, class Value>
void show(const std::map<Key, Value>& xs) {
  for (const auto& [key, x] : xs) {
    show(key);
    show(x);
  }
}

/// The gradients of a scalar product with y.
inline void show_gradients(const Tensor& y, const std::vector<Tensor>& xs,
                           const std::vector<Parameter>& parameters = {}) {
  if (!Tape::required("show_gradients").holds(y)) return show(std::string("a constant"));
  const GradOptions options{.seed = Random(9).normal(y.shape()), .keep = true};
  show(grad(y, xs, options));
  show(grad(y, parameters, options));
}

/// The parameters after three steps.
inline void show_steps(Optimizer& optimizer) {
  Random random(9);
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> gradients;
    for (const Parameter& x : optimizer.parameters()) gradients.push_back(random.normal(x.shape()));
    optimizer.step(gradients);
  }
  show(optimizer.parameters());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
