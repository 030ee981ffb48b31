#pragma once

// Steps in proportion to the element, and a tolerance for both errors of a difference.

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

inline std::vector<Variable> on_tape(Tape& tape, const std::vector<Tensor>& tensors) {
  std::vector<Variable> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(tape.variable(tensor));
  return inputs;
}

inline double result(const Function& f, const std::vector<Tensor>& at) {
  Tape tape;
  return value(f(on_tape(tape, at))).values.at(0);
}

inline std::optional<Mismatch> check_gradient(const Function& f, const std::vector<Tensor>& at) {
  Tape tape;
  const std::vector<Variable> inputs = on_tape(tape, at), slopes = gradients(f(inputs), inputs);
  std::vector<Tensor> moved = at;
  for (int input = 0; input < static_cast<int>(at.size()); ++input)
    for (int element = 0; element < size(at[input].shape); ++element) {
      const double x = at[input].values[element], step = x == 0 ? 1e-5 : 1e-5 * std::abs(x);
      double& here = moved[input].values[element];
      here = x + step;
      const double above = result(f, moved);
      here = x - step;
      const double below = result(f, moved);
      here = x;
      const double by_difference = (above - below) / (2 * step);
      const double by_tape = value(slopes[input]).values.at(element);
      const double rounding = 1e-12 * std::max(std::abs(above), std::abs(below)) / step;
      const double tolerance = 1e-4 * std::abs(by_difference) + rounding;
      if (!(std::abs(by_tape - by_difference) <= tolerance))
        return Mismatch{input, element, by_tape, by_difference};
    }
  return std::nullopt;
}
