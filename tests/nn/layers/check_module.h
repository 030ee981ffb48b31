#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/golden.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::testing {

/// A module's parameters and the golden tensors that they take, both ways transposed if matrices.
struct Loaded {
  Parameter parameter;
  std::size_t golden;
};

/// The golden layout of a parameter, and back.
inline Tensor turned(const Tensor& x) { return x.rank() == 2 ? transpose(x) : x; }

/// Value and all gradients of f, whose parameters are loaded from a golden row in PyTorch's layout.
template <class F>
void check_module(const std::string& name, std::size_t inputs, const std::vector<Loaded>& loaded,
                  const F& f) {
  const Golden expected = golden("attention.json", name);
  for (const Loaded& each : loaded) {
    Parameter parameter = each.parameter;
    parameter.set(turned(expected.inputs[each.golden]));
  }
  for (const bool readable : {false, true}) {
    std::optional<Composite> composite;
    if (readable) composite.emplace();
    const Tape tape;
    std::vector<Tensor> leaves;
    for (std::size_t i = 0; i < inputs; ++i) leaves.push_back(watch(expected.inputs[i]));
    const Tensor value = f(leaves);
    CHECK(relative_error(value, expected.value) < golden_tolerance);
    for (const Loaded& each : loaded) leaves.push_back(each.parameter);
    const std::vector<Tensor> found = grad(value, leaves, {.seed = expected.seed});
    for (std::size_t i = 0; i < inputs; ++i)
      CHECK(relative_error(found[i], expected.gradients[i]) < golden_tolerance);
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      INFO("parameter " << i);
      CHECK(relative_error(turned(found[inputs + i]), expected.gradients[loaded[i].golden]) <
            golden_tolerance);
    }
  }
}

/// The lengths of the padded sequences in the golden rows.
const Indices two_of_three({2}, {2, 3});

}  // namespace tapegrad::testing
