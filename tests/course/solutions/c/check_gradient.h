#pragma once

// Two steps. How far their differences are apart shows how good they are.

#include <cmath>
#include <functional>
#include <optional>

#include "tape.h"

using Function = std::function<Variable(const std::vector<Variable>& inputs)>;

struct Mismatch {
  int input;
  int element;
  double by_tape, by_difference;
};

inline std::optional<Mismatch> check_gradient(const Function& f, const std::vector<Tensor>& at) {
  Tape tape;
  std::vector<Variable> inputs;
  for (const Tensor& tensor : at) inputs.push_back(tape.variable(tensor));
  const std::vector<Variable> slopes = gradients(f(inputs), inputs);

  // Every evaluation stands on the one tape, after the gradients.
  const auto evaluate = [&](int input, const Tensor& there) {
    std::vector<Variable> moved = inputs;
    moved[input] = tape.variable(there);
    const Tensor y = value(f(moved));
    return y.values.at(0);
  };
  const auto difference = [&](int input, int element, double step) {
    Tensor above = at[input], below = at[input];
    above.values[element] += step;
    below.values[element] -= step;
    return (evaluate(input, above) - evaluate(input, below)) /
           (above.values[element] - below.values[element]);
  };

  int input = 0;
  for (const Tensor& tensor : at) {
    int element = 0;
    for (const double x : tensor.values) {
      const double scale = x == 0 ? 1 : std::abs(x);
      const double coarse = difference(input, element, 1e-3 * scale),
                   fine = difference(input, element, 1e-4 * scale);
      const double best = fine + (fine - coarse) / 99, doubt = 10 * std::abs(fine - coarse);
      const Tensor all = value(slopes[input]);
      const double by_tape = all.values.at(element);
      const bool agree =
          std::isfinite(by_tape) && std::abs(by_tape - best) <= 5e-4 * std::abs(best) + doubt;
      if (!agree) return Mismatch{input, element, by_tape, best};
      ++element;
    }
    ++input;
  }
  return std::nullopt;
}
