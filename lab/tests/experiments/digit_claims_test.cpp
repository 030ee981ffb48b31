#include "experiments/digit_claims.h"

#include <catch2/catch.hpp>

#include "results.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;

namespace {

using Values = std::map<std::string, double>;

/// Systems whose three runs end about these values, with the same on every image.
std::vector<Results> systems(const Metric& metric, const Values& values) {
  std::vector<Results> all;
  for (const auto& [system, value] : values) {
    all.push_back(results(system, metric, {value, value + 0.1, value - 0.1}));
    for (Outcome& run : all.back().runs)
      run.items = std::vector<double>(20, run.values.at(metric.value));
  }
  return all;
}

std::vector<Verdict> verdicts(const std::vector<JudgedClaim>& claims) {
  std::vector<Verdict> verdicts;
  for (const JudgedClaim& claim : claims) verdicts.push_back(claim.judgement.verdict);
  return verdicts;
}

constexpr Verdict yes = Verdict::supported, no = Verdict::contradicted;

}  // namespace

TEST_CASE("each claim about the first epoch is contradicted by the other order") {
  const auto judged = [](double none, double layer, double batch) {
    return verdicts(first_epoch_claims(
        systems(first_epoch_loss, {{"none", none}, {"layer", layer}, {"batch", batch}})));
  };
  CHECK(judged(3, 2, 1) == std::vector{yes, yes});
  CHECK(judged(1.5, 2, 1) == std::vector{no, yes});
  CHECK(judged(3, 2, 2.5) == std::vector{yes, no});
}

TEST_CASE("batch normalization of the logits has the floor that is claimed") {
  Indices labels = Indices::uninitialized({120});
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = i % 10;
  const double floor = batch_norm_floor(labels, 10);
  CHECK(floor_claim(floor, 12).holds);

  const Tensor right = one_hot(labels, 10);
  CHECK_FALSE(floor_claim(cross_entropy(right, labels).item(), 12).holds);  // without the norm
  CHECK_FALSE(floor_claim(batch_norm_floor(labels, 11), 12).holds);         // with another class

  // No other logits get below.
  Random random(1);
  const Norm norm("batch:unbiased=1", 10);
  for (const double noise : {0.01, 0.1, 1.0})
    for (int trial = 0; trial < 20; ++trial) {
      const Tensor logits = right + random.normal(right.shape(), 0, noise);
      CHECK(cross_entropy(norm(logits, training(random)), labels).item() > floor);
    }
}
