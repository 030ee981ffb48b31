#include "tapegrad/nn/optimizers/muon.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "nn/optimizers/golden_steps.h"
#include "support/restore_threads.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("muon takes the authors' steps, of vectors AdamW's", "[nn]") {
  const auto make = [](const std::vector<Parameter>& list) {
    return std::make_unique<Muon>(
        list,
        MuonOptions{
            .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1, .vector_factor = 0.1});
  };
  const double tolerance =
      sizeof(real) == 8 ? golden_tolerance : 1e-3;  // the iterations enlarge errors
  check_steps("Muon(w, lr=0.1, momentum=0.9, weight_decay=0.1)", "3, 5", make, tolerance);
  check_steps("Muon(w, lr=0.1, momentum=0.9, weight_decay=0.1)", "6, 4", make, tolerance);
  check_steps("Muon(w, lr=0.1, momentum=0.9, weight_decay=0.1)", "4, 2, 3, 3", make, tolerance);
  check_steps("torch.optim.AdamW(w, lr=0.01, betas=(0.9, 0.95), eps=1e-10, weight_decay=0.1)", "7",
              make);
}

TEST_CASE("a step of muon is nearly orthogonal", "[nn]") {
  Parameter w(zeros({6, 6}));
  Muon({w}, {.learning_rate = 1}).step({Random(1).normal({6, 6})});
  // The trace of w^T w is the sum of squared singular values, each in [0.7, 1.2]^2.
  const double squares = sum(square(w.value())).item();
  CHECK(squares > 6 * 0.49);
  CHECK(squares < 6 * 1.44);
  // The trace of (w^T w)^2 is the sum of their fourth powers, each in [0.7, 1.2]^4.
  CHECK(sum(square(matmul(w.value(), w.value(), {.a = true}))).item() < 6 * 1.44 * 1.44);
}

TEST_CASE("muon takes parameters with one long axis for vectors", "[nn]") {
  // The first steps of Adam are the rate, against the sign of the gradient.
  for (const Shape& shape : {Shape{3}, Shape{3, 1, 1}, Shape{1, 3}}) {
    Parameter w(zeros(shape));
    Muon({w}, {.learning_rate = 0.1, .vector_factor = 0.5}).step({Tensor(shape, {3, -2, 0.1})});
    CHECK(w.value().data()[0] == Approx(-0.05));
    CHECK(w.value().data()[1] == Approx(0.05));
    CHECK(w.value().data()[2] == Approx(-0.05));
  }
}

TEST_CASE("steps of whole matrices do not depend on the number of threads", "[nn][threads]") {
  const RestoreThreads restore;
  const Tensor start = Random(1).normal({200, 300}), gradient = Random(2).normal({200, 300});
  const auto after = [&](int threads) {
    set_threads(threads);
    Parameter w(start);
    Muon muon({w});
    for (int i = 0; i < 2; ++i) muon.step({gradient});
    return w.value();
  };
  const Tensor one = after(1), four = after(4);
  CHECK(std::equal(one.values().begin(), one.values().end(), four.values().begin()));
}
