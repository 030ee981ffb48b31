#include "experiments/digit_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The claim that `a` ends better than `b`, and what both end with.
JudgedClaim ahead(const std::string& statement, const Metric& metric, const Results& a,
                  const Results& b) {
  return {"Ba et al. 2016, section 6.7", statement,
          fmt::format("{}: {}, {}: {}", a.system, a.spread(metric).to_string(), b.system,
                      b.spread(metric).to_string()),
          better(metric, a, b)};
}

}  // namespace

const Metric test_accuracy{
    .value = "test_accuracy", .higher_is_better = true, .worst = 0, .of_items = true};
const Metric first_epoch_loss{.value = "first_epoch_loss"};

const Results& of_system(const std::vector<Results>& results, std::string_view system) {
  const auto found = std::find_if(results.begin(), results.end(),
                                  [&](const Results& each) { return each.system == system; });
  expect<DataError>(found != results.end(), "{}: no such system has been trained", system);
  return *found;
}

std::vector<JudgedClaim> first_epoch_claims(const std::vector<Results>& results) {
  const Results& layer = of_system(results, "layer");
  return {ahead("In its first epoch the cnn learns faster with layer normalization than with none: "
                "its mean training loss is lower.",
                first_epoch_loss, layer, of_system(results, "none")),
          ahead("In its first epoch the cnn learns faster with batch normalization than with layer "
                "normalization.",
                first_epoch_loss, of_system(results, "batch"), layer)};
}

double batch_norm_floor(const Indices& labels, Index classes) {
  Random random(1);
  const Norm norm("batch:unbiased=1", classes);
  return cross_entropy(norm(one_hot(labels, classes), training(random)), labels).item();
}

Claim floor_claim(double measured, Index repeats) {
  // Each logit is 1 in a tenth of the cases, else 0: its mean is 0.1, its variance 0.09, up to n
  // - 1.
  const double cases = 10 * repeats;
  const double apart = 1 / std::sqrt(0.09 * cases / (cases - 1));
  const double expected = std::log(1 + 9 * std::exp(-apart));
  return {
      "Batch normalization of the logits bounds the training loss: at its initial gain of 1 no "
      "logits for ten equally frequent classes reach less than log(1 + 9 exp(-10/3)), up to "
      "n - 1.",
      fmt::format("{:.4f} = {:.4f} for the right logits, {} cases", measured, expected, cases),
      std::abs(measured - expected) < 1e-3, "1e-3 nats"};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
