#include "experiments/forms.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tapegrad/nn/layers/norm.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

FormCell cell(const std::map<std::uint64_t, double>& errors) {
  FormCell made;
  made.search.errors = {{0.001, 9}, {0.003, 5}, {0.009, 7}};
  made.errors = errors;
  made.images = 10000;
  return made;
}

/// The verdict on the prediction that begins so, in one setting; none if it does not speak of it.
std::optional<Verdict> verdict_on(const std::string& prediction, const FormColumn& column) {
  for (const JudgedClaim& claim : form_predictions({column}))
    if (claim.statement.starts_with(prediction)) return claim.judgement.verdict;
  return {};
}

}  // namespace

TEST_CASE("a rate is searched until both of its neighbors are worse", "[lab][forms]") {
  const auto search = [](double best, std::size_t most) {
    int runs = 0;
    const RateSearch found = search_rates(0.001, most, [&](double rate) {
      ++runs;
      return std::abs(std::log(rate / best));
    });
    CHECK(runs == static_cast<int>(found.errors.size()));
    return found;
  };
  const RateSearch near = search(0.0011, 7);
  CHECK(near.best() == 0.001);
  CHECK(near.errors.size() == 3);
  CHECK(near.is_interior());
  const RateSearch high = search(0.027, 7);
  CHECK(high.best() == Approx(0.027));
  CHECK(high.errors.size() == 6);
  CHECK(high.is_interior());
  const RateSearch low = search(1e-9, 7);
  CHECK(low.errors.size() == 7);
  CHECK_FALSE(low.is_interior());
  CHECK(low.best() == Approx(0.001 / std::pow(3, 5)));
}

TEST_CASE("runs that diverge are the worst of a search", "[lab][forms]") {
  const RateSearch found =
      search_rates(1, 5, [](double rate) { return rate > 0.5 ? NAN : 1 - rate; });
  CHECK(found.best() == Approx(1.0 / 3));
  CHECK(found.is_interior());
  CHECK(search_rates(1, 4, [](double) { return INFINITY; }).best() < 1);
}

TEST_CASE("below a rate that diverges, a lower one is tried", "[lab][forms]") {
  // The greatest rate is not as bad as the two below it, which diverge; the best one is 0.01.
  const RateSearch found = search_rates(0.3, 8, [](double rate) {
    return rate > 0.5 ? 4 : rate > 0.05 ? NAN : std::abs(std::log(rate / 0.01));
  });
  CHECK(found.best() == Approx(0.3 / 27));
  CHECK(found.is_interior());
}

TEST_CASE("the sixteen forms have sixteen names and norms", "[lab][forms]") {
  std::set<std::string> names, norms;
  for (const Form& form : sixteen_forms()) {
    names.insert(form.name());
    norms.insert(form.norm());
    const NormSpec spec(form.norm());
    if (form.name() == "x, 1, none") continue;
    CHECK(spec.statistics.identity_forward == !form.normalized);
    CHECK(spec.statistics.unit_factor == !form.divided);
    CHECK(spec.statistics.detach_mean ==
          (form.projection == Projection::none || form.projection == Projection::scale));
    CHECK(spec.statistics.detach_scale ==
          (form.projection == Projection::none || form.projection == Projection::center));
  }
  CHECK(names.size() == 16);
  CHECK(norms.size() == 16);
  CHECK(norms.contains("none"));
}

TEST_CASE("how far a form is ahead: over seeds and over images", "[lab][forms]") {
  const Advantage found =
      advantage(cell({{1, 5}, {2, 6}, {3, 7}}), cell({{1, 8}, {2, 8}, {3, 11}}));
  CHECK(found.mean == Approx(3));
  // sd = 1, t(0.975, 2) = 4.302653, shares 0.06 and 0.09
  const double h = 4.302653 / std::sqrt(3), w = 1.96 * std::sqrt(0.06 * 0.94 + 0.09 * 0.91);
  CHECK(found.half_width == Approx(std::hypot(h, w)).epsilon(1e-5));
  CHECK(std::isinf(advantage(cell({{1, 5}}), cell({{1, 9}})).half_width));
}

TEST_CASE("what two passes gain beyond their sum", "[lab][forms]") {
  const FormCell layer_norm = cell({{1, 5}, {2, 6}, {3, 7}}),
                 none = cell({{1, 9}, {2, 9}, {3, 12}});
  const FormCell backward = cell({{1, 8}, {2, 8}, {3, 11}}),
                 forward = cell({{1, 7}, {2, 9}, {3, 11}});
  const Advantage found = interaction(layer_norm, backward, forward, none);
  // 8 + 7 - 5 - 9 = 1, 8 + 9 - 6 - 9 = 2 and 11 + 11 - 7 - 12 = 3
  CHECK(found.mean == Approx(2));
  // sd = 1, t(0.975, 2) = 4.302653, shares 0.06, 0.09, 0.09 and 0.1
  const double h = 4.302653 / std::sqrt(3);
  CHECK(found.seeds_width() == Approx(h).epsilon(1e-5));
  CHECK(found.half_width ==
        Approx(std::hypot(h, 1.96 * std::sqrt(0.06 * 0.94 + 2 * 0.09 * 0.91 + 0.1 * 0.9)))
            .epsilon(1e-5));
  const PassGains gains{found, advantage(backward, none), advantage(forward, none),
                        advantage(backward, cell({{1, 5}}))};
  CHECK(gains.row("here", 1) == std::vector<std::string>{"here", "+2.0 +- 2.7\nover seeds 2.5",
                                                         "+1.0 +- 0.8\nover seeds 0.0",
                                                         "+1.0 +- 2.6\nover seeds 2.5",
                                                         "-3.0\nwithout an interval"});
}

TEST_CASE("predictions are judged in the settings they speak of", "[lab][forms]") {
  const auto spread_about = [](double error) {
    return cell({{1, error}, {2, error + 0.1}, {3, error - 0.1}, {4, error}, {5, error}});
  };
  const FormColumn adam{{"adam", "uniform", 6},
                        {{"x, 1, none", spread_about(9)},
                         {"z, 1/s, both", spread_about(6.4)},
                         {"x, 1, both", spread_about(6.3)},
                         {"z, 1, none", spread_about(20)}}};
  CHECK(verdict_on("With Adam, wherever", adam) == Verdict::supported);
  CHECK(verdict_on("With Adam, small initial weights and 6 layers or more, the forward", adam) ==
        Verdict::supported);
  CHECK_FALSE(verdict_on(
      "With momentum, small initial weights and 6 layers or more, the backward pass alone stays",
      adam));

  FormColumn changed = adam;
  changed.cells["x, 1, both"] = spread_about(9);
  CHECK(verdict_on("With Adam, wherever", changed) == Verdict::contradicted);
  changed.cells["x, 1, both"] = spread_about(7.2);
  CHECK(verdict_on("With Adam, wherever", changed) == Verdict::inconclusive);
  changed.cells["x, 1, none"] = spread_about(90);
  CHECK_FALSE(verdict_on("With Adam, wherever", changed));

  const auto never_pays = [&](double error) {
    changed.cells["x, 1/s, both"] = spread_about(error);
    return verdict_on("The factor 1/s without a normalized forward pass never pays: x, 1/s, both",
                      changed);
  };
  CHECK(never_pays(80) == Verdict::contradicted);
  CHECK(never_pays(95) == Verdict::supported);
  // What may be ahead or behind does not support that it is nowhere ahead.
  CHECK(never_pays(90) == Verdict::inconclusive);
}

TEST_CASE("a form is trained, and its cell read from what is kept", "[lab][forms]") {
  support::ImageSets sets = support::draw_image_sets(1);
  sets.validation = support::first_images(sets.validation, 50);
  sets.test = support::first_images(sets.test, 60);
  const FormSizes sizes{.width = 8, .batch_size = 16, .steps = 4, .most_rates = 3};
  const Form& form = sixteen_forms().front();
  const Outcome outcome = train_form(form, {"adam", "he", 1}, sizes, sets, {.seeds = 2});
  const FormCell found = form_cell(outcome);
  CHECK(found.search.errors.size() == 3);
  CHECK(found.errors.size() == 2);
  CHECK(found.images == 60);
  CHECK(form_cell(train_form(form, {"adam", "he", 1}, sizes, sets, {.seeds = 2})).errors ==
        found.errors);
  CHECK_FALSE(
      form_cell(train_form(form, {"adam", "uniform", 1}, sizes, sets, {.seeds = 2})).errors ==
      found.errors);
  CHECK_THROWS_AS(form_cell({}), DataError);
}
