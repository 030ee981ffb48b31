#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::testing {

inline Indices random_ids(const Shape& shape, Index vocabulary, Random& random) {
  Indices ids = Indices::uninitialized(shape);
  for (Index i = 0; i < ids.size(); ++i) ids.mutable_data()[i] = random.below(vocabulary);
  return ids;
}

/// Columns [begin, end) of ids of shape (B, T).
inline Indices columns(const Indices& ids, Index begin, Index end) {
  const Index rows = ids.shape()[0], length = ids.shape()[1];
  Indices part = Indices::uninitialized({rows, end - begin});
  for (Index r = 0; r < rows; ++r)
    for (Index t = begin; t < end; ++t)
      part.mutable_data()[r * (end - begin) + t - begin] = ids.data()[r * length + t];
  return part;
}

/// Larger weights than the initial ones, so that no effect is too small to see.
template <class Net>
void enlarge(const Net& net, Random& random) {
  for (Parameter parameter : parameters(net))
    if (parameter.shape().rank() == 2) parameter.set(random.normal(parameter.shape(), 0, 0.4));
}

/// Checks what every model promises about its parameters: `visit` lists each that `value` reads,
/// and the gradient of each agrees with differences along a direction. `value` must be smooth
/// within two steps of the parameters.
template <class Net>
void check_parameters(const Net& net, const std::function<Tensor()>& value,
                      double step = sizeof(real) == 8 ? 1e-3 : 3e-2) {
  const double tolerance = sizeof(real) == 8 ? 1e-6 : 2e-2;
  Random random(99);
  const Tensor u = random.normal(value().shape());
  const auto projection = [&] { return sum(value() * u); };
  std::vector<Tensor> gradients;
  {
    const Tape tape;
    gradients = grad(projection(), parameters(net));
    CHECK_NOTHROW(expect_listed(tape, fields(net)));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    Parameter parameter = parameters(net)[i];
    INFO(parameter.name());
    CHECK(max(abs(gradients[i])).item() > 0);
    const Tensor start = parameter.value(), direction = random.uniform(start.shape(), -1, 1);
    const auto at = [&](double distance) {
      parameter.set(start + direction * distance);
      return static_cast<double>(projection().item());
    };
    const double found = sum(gradients[i] * direction).item();
    const double expected =
        (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
    parameter.set(start);
    CHECK(found == Approx(expected).epsilon(tolerance).margin(tolerance));
  }
}

}  // namespace tapegrad::testing
