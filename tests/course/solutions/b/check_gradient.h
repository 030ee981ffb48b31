#pragma once

// One function of a flat list of numbers that can be moved, and the five-point formula.

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "tape.h"

using Function = std::function<Variable(const std::vector<Variable>& inputs)>;

struct Mismatch {
  int input;
  int element;
  double by_tape, by_difference;
};

class Probe {
 public:
  Probe(const Function& f, std::vector<Tensor> at) : f_(f), at_(std::move(at)) {}

  std::vector<Tensor> slopes() const {
    Tape tape;
    const std::vector<Variable> inputs = put_on(tape);
    std::vector<Tensor> result;
    for (const Variable& slope : gradients(f_(inputs), inputs)) result.push_back(value(slope));
    return result;
  }

  // f with one element moved.
  double operator()(int input, int element, double by) {
    double& place = at_[input].values[element];
    const double kept = std::exchange(place, place + by);
    Tape tape;
    const Tensor result = value(f_(put_on(tape)));
    place = kept;
    greatest = std::max(greatest, std::fabs(result.values.at(0)));
    return result.values.at(0);
  }

  double greatest = 0;

 private:
  std::vector<Variable> put_on(Tape& tape) const {
    std::vector<Variable> inputs(at_.size());
    for (std::size_t i = 0; i < at_.size(); ++i) inputs[i] = tape.variable(at_[i]);
    return inputs;
  }
  Function f_;
  std::vector<Tensor> at_;
};

inline std::optional<Mismatch> check_gradient(const Function& f, const std::vector<Tensor>& at) {
  Probe probe(f, at);
  const std::vector<Tensor> slopes = probe.slopes();
  for (std::size_t k = 0; k < at.size(); ++k)
    for (std::size_t i = 0; i < at[k].values.size(); ++i) {
      const double x = std::fabs(at[k].values[i]), h = (x > 0 ? x : 1) / 4096;
      const auto moved = [&](double by) {
        return probe(static_cast<int>(k), static_cast<int>(i), by);
      };
      probe.greatest = 0;
      const double near = moved(h) - moved(-h), far = moved(2 * h) - moved(-2 * h);
      const double difference = (8 * near - far) / (12 * h);
      const double noise = 1000 * std::numeric_limits<double>::epsilon() * probe.greatest / h;
      const double error = std::fabs(slopes[k].values.at(i) - difference);
      const bool fits = error < 3e-4 * std::fabs(difference) + noise || error == 0;
      if (!fits)
        return Mismatch{static_cast<int>(k), static_cast<int>(i), slopes[k].values[i], difference};
    }
  return {};
}
