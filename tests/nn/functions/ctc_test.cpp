#include "tapegrad/nn/functions/ctc.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

using Labels = std::vector<Index>;

// What a path spells: repeated labels merged, then blanks (0) removed.
Labels spelled(const Labels& path) {
  Labels labels;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (path[i] != 0 && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  return labels;
}

// The probability of each spelling: the sum over all paths of one input (T, 1, C).
std::map<Labels, double> spellings(const Tensor& log_p) {
  const Index steps = log_p.shape()[0], classes = log_p.shape()[2];
  std::map<Labels, double> found;
  const auto paths = static_cast<Index>(std::pow(classes, steps));
  for (Index number = 0; number < paths; ++number) {
    Labels path;
    double log_probability = 0;
    for (Index t = 0, rest = number; t < steps; ++t, rest /= classes) {
      path.push_back(rest % classes);
      log_probability += log_p.data()[t * classes + path.back()];
    }
    found[spelled(path)] += std::exp(log_probability);
  }
  return found;
}

Tensor ctc_of_one(const Tensor& log_p, const Labels& labels, CtcOptions options = {}) {
  const auto length = static_cast<Index>(labels.size());
  return ctc(log_p, Indices({1}, {log_p.shape()[0]}),
             {Indices({1, length}, labels), Indices({1}, {length})}, options);
}

}  // namespace

TEST_CASE("ctc sums the probabilities of all paths that spell a target", "[ops]") {
  const Tensor log_p = log_softmax(Random(1).normal({5, 1, 3}));
  for (const auto& [labels, probability] : spellings(log_p))
    CHECK(ctc_of_one(log_p, labels, {.reduction = Reduction::sum}).item() ==
          Approx(-std::log(probability)).epsilon(1e-5));
}

TEST_CASE("a target that its input cannot spell has an infinite loss and no gradient", "[ops]") {
  const Tensor logits = Random(1).normal({3, 1, 3});
  const auto loss = [](const Tensor& x, bool zero) {
    return ctc_of_one(log_softmax(x), {1, 1, 2}, {.zero_infinity = zero});
  };
  CHECK(loss(logits, false).item() == std::numeric_limits<real>::infinity());
  CHECK(loss(logits, true).item() == 0);
  const Tape tape;
  const Tensor x = watch(logits), slope = grad(loss(x, false), x);
  for (const real value : slope.values()) CHECK(value == 0);
  // The only path through a label of probability 0.
  const Tensor log_p({1, 1, 2}, {0, -std::numeric_limits<real>::infinity()});
  CHECK(ctc_of_one(log_p, {1}).item() == std::numeric_limits<real>::infinity());
  CHECK(ctc_of_one(log_p, {}).item() == 0);
}

TEST_CASE("ctc refuses lengths and labels that do not fit", "[ops]") {
  const Tensor log_p = zeros({4, 2, 3});
  const Indices lengths({2}, {4, 4}), labels({2, 2}, {1, 2, 2, 9}), counts({2}, {2, 1});
  CHECK_NOTHROW(ctc(log_p, lengths, {labels, counts}));  // the 9 is beyond its length
  const auto refuses = [](const auto& call, const char* message) {
    CHECK_THROWS_WITH(call(), Catch::StartsWith(message) && Contains(" [ctc_test.cpp:"));
  };
  refuses(
      [&] {
        ctc(zeros({4, 3}), lengths, {labels, counts});
      },
      "ctc: needs (steps, batch, classes): (4, 3)");
  refuses(
      [&] {
        ctc(log_p, lengths, {Indices({4}, {1, 1, 1, 1}), counts});
      },
      "ctc: inputs (4, 2, 3) need labels (batch, longest target): (4)");
  refuses(
      [&] {
        ctc(log_p, counts.reshape({1, 2}), {labels, counts});
      },
      "ctc: input lengths for a batch of 2: (1, 2)");
  refuses(
      [&] {
        ctc(log_p, Indices({2}, {4, 5}), {labels, counts});
      },
      "ctc: input length must lie in [1, 4]: 5");
  refuses(
      [&] {
        ctc(log_p, lengths, {labels, Indices({2}, {3, 1})});
      },
      "ctc: target length must lie in [0, 2]: 3");
  refuses(
      [&] {
        ctc(log_p, lengths, {labels, Indices({2}, {2, 2})});
      },
      "ctc: a label must lie in [0, 3) and not be the blank 0: 9");
  refuses(
      [&] {
        ctc(log_p, lengths, {labels, counts}, {.blank = 1});
      },
      "ctc: a label must lie in [0, 3) and not be the blank 1: 1");
  refuses(
      [&] {
        ctc(log_p, lengths, {labels, counts}, {.blank = 3});
      },
      "ctc: the blank is not in [0, 3): 3");
  refuses([&] { ctc(Tensor(), lengths, {labels, counts}); }, "ctc: ");
  refuses([&] { ctc(log_p, {}, {labels, counts}); }, "ctc: ");
  refuses([&] { ctc(log_p, lengths, {}); }, "ctc: ");
}
