#include "experiments/verdict.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <limits>

#include "results.h"
#include "support/golden_file.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

Json golden() { return *parse_json(read_text(testing::golden_file("verdicts.json")), 4); }

/// Validation losses at steps 10, 20, ..., of one seed each.
Results validated(const std::string& system, const std::vector<std::vector<double>>& seeds) {
  Results results{system};
  for (const std::vector<double>& losses : seeds) {
    Outcome run{.curve = {{0, 9}}, .values = {{"loss", losses.back()}}, .seconds = 1};
    for (const double each : losses)
      run.curve.push_back({static_cast<Index>(10 * run.curve.size()), 1, each});
    results.runs.push_back(run);
  }
  return results;
}

/// Gives every seed the same items; the metric is their mean.
Results with_items(Results results, const std::vector<double>& items) {
  for (Outcome& run : results.runs) run.items = items;
  return results;
}

}  // namespace

TEST_CASE("quantiles of the t distribution agree with SciPy") {
  const Json quantiles = golden()["t"];
  REQUIRE(quantiles.size() == 13);
  for (const auto& [degrees, quantile] : quantiles.items())
    CHECK(t_quantile(std::stoll(degrees)) == Approx(quantile.get<double>()).epsilon(1e-10));
  CHECK_THROWS_AS(t_quantile(0), ShapeError);
}

TEST_CASE("the interval over seeds agrees with SciPy, the one over items with NumPy's bootstrap") {
  const Json found = golden();
  const Results a = results("a", by_loss, found["a"]), b = results("b", by_loss, found["b"]);
  const Judgement judgement = better(by_loss, a, b);
  CHECK(judgement.verdict == Verdict::supported);
  CHECK(judgement.reason == fmt::format("{:+.3g} +- {:.2g} (3 seeds)",
                                        found["advantage"].get<double>(),
                                        found["half_width"].get<double>()));
  CHECK(better(by_loss, b, a).verdict == Verdict::contradicted);
  CHECK(better(by_accuracy, results("a", by_accuracy, found["a"]),
               results("b", by_accuracy, found["b"]))
            .verdict == Verdict::contradicted);

  const double width = bootstrap_half_width(found["items"]);
  // With 10,000 resamples the width has an error of about 1 %.
  CHECK(width == Approx(found["items_half_width"].get<double>()).epsilon(0.03));
  CHECK(bootstrap_half_width({}) == 0);
  CHECK(bootstrap_half_width({3, 3, 3}) == 0);
}

TEST_CASE("how far a system is ahead, over seeds and on single items") {
  const Json found = golden();
  const Advantage ahead =
      advantage(by_loss, results("a", by_loss, found["a"]), results("b", by_loss, found["b"]));
  CHECK(ahead.mean == Approx(found["advantage"].get<double>()));
  CHECK(ahead.half_width == Approx(found["half_width"].get<double>()));
  CHECK(ahead.seeds == 3);

  Metric by_items = by_accuracy;
  by_items.of_items = true;
  const Results a = with_items(results("a", by_items, {3, 4}), {1, 1, 0, 1}),
                b = with_items(results("b", by_items, {3, 4}), {1, 0, 1, 0});
  using Counts = std::vector<std::pair<Index, Index>>;
  CHECK(discordant_items(by_items, a, b) == Counts{{2, 1}, {2, 1}});
  CHECK(discordant_items(by_items, b, a) == Counts{{1, 2}, {1, 2}});
  CHECK_THROWS_AS(discordant_items(by_items, a, results("c", by_items, {3})), DataError);
}

TEST_CASE("an interaction is what two parts gain beyond the sum of both") {
  const auto of = [](const std::vector<double>& values) { return results("", by_loss, values); };
  // By seed: 5 + 6 - 2 - 8 = 1, 5 + 7 - 2 - 8 = 2, 6 + 7 - 2 - 8 = 3: mean 2, sd 1.
  const Results both = of({2, 2, 2}), one = of({5, 5, 6}), other = of({6, 7, 7}),
                none = of({8, 8, 8});
  const Advantage found = interaction(by_loss, both, one, other, none);
  CHECK(found.mean == Approx(2));
  CHECK(found.half_width == Approx(4.302653 / std::sqrt(3)).epsilon(1e-5));
  CHECK(found.seeds_width() == Approx(found.half_width));
  // Where items differ by a number alone, they add nothing; else their bootstrap of the sum.
  Metric by_items = by_loss;
  by_items.of_items = true;
  const std::vector<double> items{1, 0, 3, 0};
  CHECK(interaction(by_items, with_items(both, items), with_items(one, items),
                    with_items(other, items), with_items(none, items))
            .items_width == 0);
  const Advantage uneven =
      interaction(by_items, with_items(both, {0, 0, 0, 0}), with_items(one, items),
                  with_items(other, {0, 0, 0, 0}), with_items(none, {0, 0, 0, 0}));
  CHECK(uneven.items_width == Approx(bootstrap_half_width(items)));
  CHECK_THROWS_AS(interaction(by_loss, both, one, other, of({8})), DataError);
}

TEST_CASE("what seeds or items leave open is inconclusive") {
  // D = 0.1, 0.2, 0.3: mean 0.2, sd 0.1, h = 4.303 * 0.1 / sqrt(3) = 0.248
  const Results b = results("b", by_loss, {1, 1, 1});
  CHECK(better(by_loss, results("a", by_loss, {0.9, 0.8, 0.7}), b).verdict ==
        Verdict::inconclusive);
  // Every seed has the same value: h = 0, and only items can leave the verdict open.
  const Results a = results("a", by_loss, {0.5, 0.5, 0.5});
  CHECK(better(by_loss, a, b).verdict == Verdict::supported);
  Metric of_items = by_loss;
  of_items.of_items = true;
  const Results uneven = with_items(a, {0, 0, 0, 2}), even = with_items(a, {0.4, 0.4, 0.6, 0.6});
  const Results four = with_items(b, {1, 1, 1, 1});
  CHECK(better(of_items, uneven, four).verdict == Verdict::inconclusive);
  CHECK(better(of_items, even, four).verdict == Verdict::supported);
  CHECK(better(by_loss, uneven, four).verdict == Verdict::supported);
  // Both, which are independent: h = 0.248, and w of the items alone.
  const Results apart = with_items(results("a", by_loss, {0.6, 0.5, 0.4}), {0.4, 0.4, 0.6, 0.6});
  const double w = advantage(of_items, even, four).half_width;
  CHECK(w > 0.05);
  CHECK(advantage(of_items, apart, four).half_width == Approx(std::hypot(0.2484, w)).epsilon(1e-3));
  CHECK_THROWS_WITH(better(of_items, even, with_items(b, {1})), Contains("4 and 1 test items"));
  CHECK_THROWS_WITH(better(by_loss, a, results("b", by_loss, {1, 1})), Contains("3 and 2 runs"));
  CHECK_THROWS_WITH(better(by_accuracy, a, b), Contains("its values have no \"accuracy\""));
}

TEST_CASE("the power of an equality agrees with SciPy") {
  const Json powers = golden()["powers"];
  REQUIRE(powers.size() == 5);
  for (const Json& each : powers) {
    const auto part = [&](const char* name) { return each[name].get<double>(); };
    const Advantage found{0, 1, each["seeds"].get<std::size_t>(), part("error"),
                          part("items_width")};
    CAPTURE(each.dump());
    CHECK(equality_power(found, part("margin")) == Approx(part("power")).margin(1e-5));
  }
  // The power stands beside an inconclusive equality alone.
  const Results b = results("b", by_loss, {1, 1, 1}), near = results("a", by_loss, {0.9, 0.8, 0.7});
  const Judgement open = equal(by_loss, near, b, 0.3);
  CHECK(open.verdict == Verdict::inconclusive);
  CHECK(open.power == equality_power(advantage(by_loss, near, b), 0.3));
  CHECK_FALSE(equal(by_loss, near, b, 9).power);
  CHECK_FALSE(better(by_loss, near, b).power);
  CHECK(equality_power({0, 0, 2}, 1) == 0);  // no verdict is possible
}

TEST_CASE("the variance pooled over systems agrees with NumPy's least squares") {
  const Json found = golden()["pooled"];
  std::vector<Results> systems;
  for (const Json& values : found["values"]) systems.push_back(results("a", by_loss, values));
  const auto pooled = [&] {
    std::vector<const Results*> all;
    for (const Results& each : systems) all.push_back(&each);
    return pooled_deviation(by_loss, all);
  };
  CHECK(pooled().deviation == Approx(found["deviation"].get<double>()));
  CHECK(pooled().degrees == found["degrees"].get<Index>());
  const Advantage first = advantage(by_loss, systems[0], systems[1]);
  CHECK(pooled().half_width(first) == Approx(found["half_width"].get<double>()));
  CHECK(pooled().half_width({0, 9, first.seeds, 9, 2}) ==
        Approx(std::hypot(found["half_width"].get<double>(), 2)));
  systems.back().runs.pop_back();
  CHECK_THROWS_AS(pooled(), DataError);
  systems = {results("a", by_loss, {1, 2})};
  CHECK_THROWS_AS(pooled(), DataError);
}

TEST_CASE("fewer than three seeds give no more than an open verdict") {
  const Judgement judgement =
      better(by_loss, results("a", by_loss, {0, 0}), results("b", by_loss, {1, 1}));
  CHECK(judgement.verdict == Verdict::inconclusive);
  CHECK_THAT(judgement.reason, Contains("+1 (a verdict needs 3 seeds)"));
}

TEST_CASE("equality has a margin") {
  // D = -0.01, 0, 0.01: h = 4.303 * 0.01 / sqrt(3) = 0.0248
  const Results b = results("b", by_loss, {1, 1, 1}), a = results("a", by_loss, {1.01, 1, 0.99});
  CHECK(equal(by_loss, a, b, 0.025).verdict == Verdict::supported);
  CHECK(equal(by_loss, a, b, 0.024).verdict == Verdict::inconclusive);
  CHECK(equal(by_loss, results("c", by_loss, {2, 2, 2}), b, 0.5).verdict == Verdict::contradicted);
  // D = -1.1, -1, -0.9: h = 0.248
  const Results c = results("c", by_loss, {2.1, 2, 1.9});
  CHECK(equal(by_loss, c, b, 0.8).verdict == Verdict::inconclusive);
  CHECK(equal(by_loss, c, b, 0.7).verdict == Verdict::contradicted);
  CHECK(equal(by_loss, results("c", by_loss, {0, 0, 0}), b, 0.5).verdict == Verdict::contradicted);
}

TEST_CASE("a run that diverged counts as the worst value") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Results b = results("b", by_loss, {1, 1, 1});
  CHECK(better(by_loss, b, results("none", by_loss, {NAN, infinity, NAN})).verdict ==
        Verdict::supported);
  CHECK(better(by_loss, results("none", by_loss, {NAN, NAN, NAN}), b).verdict ==
        Verdict::contradicted);
  CHECK(better(by_loss, b, results("none", by_loss, {NAN, 2, 2})).verdict == Verdict::inconclusive);
  CHECK(better(by_loss, results("both", by_loss, {NAN, NAN, NAN}),
               results("none", by_loss, {NAN, NAN, NAN}))
            .verdict == Verdict::inconclusive);
  CHECK(better(by_accuracy, results("a", by_accuracy, {0.5, 0.5, 0.5}),
               results("b", by_accuracy, {NAN, NAN, NAN}))
            .reason == "+0.5 +- 0 (3 seeds)");

  // Its items count as the worst as well: they leave nothing open.
  Metric of_items = by_accuracy;
  of_items.of_items = true;
  const Results sure = with_items(results("a", by_accuracy, {1, 1, 1}), {1, 1, 1, 1});
  const Results lost = with_items(results("b", by_accuracy, {NAN, NAN, NAN}), {0, 0, 0, 8});
  CHECK(better(of_items, sure, lost).reason == "+1 +- 0 (3 seeds)");

  Results risen = b;
  for (Outcome& run : risen.runs) run.curve.back().training = 2.5;  // from 2
  CHECK(better(by_loss, results("a", by_loss, {9, 9, 9}), risen).verdict == Verdict::supported);
}

TEST_CASE("ahead throughout: at every validation with every seed") {
  const auto three = [](const char* name, const std::vector<double>& losses) {
    return validated(name, {losses, losses, losses});
  };
  const Results base = three("b", {9, 8, 7});
  const Judgement better_one = ahead_throughout(by_loss, three("a", {8, 7, 6}), base);
  CHECK(better_one.verdict == Verdict::supported);
  CHECK(better_one.reason == "ahead at 9 of 9 validations, behind at 0 (3 seeds)");
  CHECK(ahead_throughout(by_loss, base, three("a", {8, 7, 6})).verdict == Verdict::contradicted);
  CHECK(ahead_throughout(by_loss, three("a", {8, 8, 6}), base).verdict == Verdict::inconclusive);
  const Results once = validated("a", {{8, 7, 6}, {8, 7, 6}, {8, 7, 7.5}});
  CHECK(ahead_throughout(by_loss, once, base).verdict == Verdict::inconclusive);
  CHECK(ahead_throughout(by_loss, once, base).reason ==
        "ahead at 8 of 9 validations, behind at 1 (3 seeds)");
  const Results late = three("a", {9.5, 7.5, 6});
  CHECK(ahead_throughout(by_loss, late, base).verdict == Verdict::inconclusive);
  CHECK(ahead_throughout(by_loss, late, base, 2).verdict == Verdict::supported);
  CHECK(ahead_throughout(by_loss, late, base, 9).verdict == Verdict::inconclusive);
  CHECK(ahead_throughout(by_loss, validated("a", {{8}, {8}}), validated("b", {{9}, {9}})).verdict ==
        Verdict::inconclusive);
  CHECK_THROWS_WITH(ahead_throughout(by_loss, three("a", {8, 7}), base),
                    Contains("2 and 3 validations cannot be paired"));
  CHECK_THROWS_WITH(
      ahead_throughout(by_loss, results("a", by_loss, {1, 1, 1}), results("b", by_loss, {2, 2, 2})),
      Contains("0 and 0 validations cannot be paired"));
}

TEST_CASE("faster: all ratios below 1 and 0.8 in the mean; slower: all above 1.25") {
  // Windows of three: 6, 4, 3 and then 3; the best is first reached at step 50.
  const Results base = validated("base", std::vector(3, std::vector<double>{8, 6, 4, 2, 3, 4}));
  const auto a = [](const std::vector<double>& losses) {
    return validated("a", std::vector(3, losses));
  };
  const Judgement faster_one = faster(by_loss, a({6, 3, 0, 3, 3, 3}), base, Clock::updates);
  CHECK(faster_one.verdict == Verdict::supported);  // at step 30
  CHECK(faster_one.reason == "0.6 of its updates in the geometric mean, from 0.6 to 0.6 (3 seeds)");
  CHECK(faster(by_loss, a({8, 6, 4, 2, 3, 3}), base, Clock::updates).verdict ==
        Verdict::inconclusive);
  CHECK(faster(by_loss, a({9, 9, 9, 9, 9, 9}), base, Clock::updates).verdict ==
        Verdict::contradicted);
  CHECK(faster(by_loss, a({9, 9, 9, 9, 0, 0, 0}), base, Clock::updates).verdict ==
        Verdict::inconclusive);
  // 90 of 100 steps are fewer, but not few enough.
  CHECK(faster(by_loss, a({9, 9, 9, 9, 9, 9, 3, 3, 3}), a({9, 9, 9, 9, 9, 9, 9, 3, 3, 3}),
               Clock::updates)
            .verdict == Verdict::inconclusive);

  Results slow = a({6, 3, 0, 3, 3, 3});
  for (Outcome& run : slow.runs) run.seconds = 3;
  CHECK(faster(by_loss, slow, base, Clock::seconds).verdict == Verdict::contradicted);
  slow.runs[0].values["loss"] = NAN;
  CHECK(faster(by_loss, slow, base, Clock::updates).verdict == Verdict::inconclusive);
  CHECK(faster(by_loss, base, a({NAN}), Clock::updates).verdict == Verdict::supported);
  CHECK_THROWS_WITH(faster(by_loss, a({1, 2}), base, Clock::updates),
                    Contains("its curve has 2 validations, too few"));
}

TEST_CASE("times are those until both reach the best value of the second") {
  const Results base = validated("base", std::vector(3, std::vector<double>{8, 6, 4, 2, 3, 4}));
  const Results a = validated("a", {{6, 3, 0, 3, 3, 3}, {9, 9, 9, 9, 9, 9}, {NAN}});
  const std::vector<TimesToBest> times = times_to_best(by_loss, a, base, Clock::updates);
  REQUIRE(times.size() == 3);
  CHECK(times[0].of_a == 30);
  CHECK(times[0].of_b == 50);
  CHECK(times[0].ratio() == 0.6);
  CHECK(std::isinf(times[1].of_a));
  CHECK(times[1].of_b == 50);
  CHECK(std::isinf(times[2].ratio()));  // it diverged
  CHECK(times_to_best(by_loss, base, a, Clock::updates)[2].ratio() == 0);
  CHECK(mean_ratio({{1, 2}, {2, 1}}) == Approx(1));
  CHECK(std::isinf(mean_ratio({times[1], {0, INFINITY}})));
}

TEST_CASE("a system that no more than matches a rule without a net gets no verdict") {
  Metric metric = by_accuracy;
  metric.baseline = 0.5;
  const Results weak = results("weak", metric, {0.4, 0.5, 0.6});
  const Results good = results("good", metric, {0.8, 0.8, 0.8});
  const Judgement judgement = better(metric, good, weak);
  CHECK(judgement.verdict == Verdict::not_learned);
  CHECK(judgement.reason == "weak has not learned at this size: 0.5; its baseline 0.5");
  CHECK(equal(metric, weak, good, 1).verdict == Verdict::not_learned);
  CHECK(faster(metric, weak, good, Clock::updates).verdict == Verdict::not_learned);
  CHECK(better(metric, good, results("fair", metric, {0.6, 0.6, 0.6})).verdict ==
        Verdict::supported);
}

TEST_CASE("a claim of several parts") {
  const Judgement yes{Verdict::supported, "yes"}, no{Verdict::contradicted, "no"},
      open{Verdict::inconclusive, "open"}, none{Verdict::not_learned, "none"};
  CHECK(all_of({{"a", yes}, {"b", yes}}).verdict == Verdict::supported);
  CHECK(all_of({{"a", yes}, {"b", open}}).verdict == Verdict::inconclusive);
  CHECK(all_of({{"a", no}, {"b", open}}).verdict == Verdict::contradicted);
  CHECK(all_of({{"a", open}, {"b", no}, {"c", yes}}).verdict == Verdict::contradicted);
  CHECK(all_of({{"a", no}, {"b", none}, {"c", yes}}).verdict == Verdict::not_learned);
  CHECK(all_of({{"a", yes}, {"b", open}}).reason == "a yes, b open");
}

TEST_CASE("systems at the edge of their rates are not judged") {
  Results edge = results("edge", by_loss, {1, 1, 1});
  const Results other = results("other", by_loss, {2, 2, 2});
  CHECK(better(by_loss, edge, other).verdict == Verdict::supported);
  edge.at_edge = true;
  for (const Judgement& judgement : {better(by_loss, edge, other), better(by_loss, other, edge),
                                     equal(by_loss, edge, other, 1)}) {
    CHECK(judgement.verdict == Verdict::at_edge);
    CHECK(judgement.reason == "the rate of edge is at the edge of the rates that were tried");
    CHECK_FALSE(judgement.p);
  }
}

TEST_CASE("the level of a claim is where its interval ends at it") {
  const Results a = results("a", by_loss, {1.0, 1.3, 1.1, 1.2}),
                b = results("b", by_loss, {2, 2, 2, 2});
  const Advantage found = advantage(by_loss, a, b);
  CHECK(found.level(found.half_width) == Approx(0.05).epsilon(1e-6));
  // With one degree of freedom t is Cauchy's: the level of d is 1 - 2 atan(d / e) / pi.
  const Advantage two{0.3, 1, 2, 0.2, 0};
  CHECK(two.level(0.3) == Approx(1 - 2 * std::atan(1.5) / M_PI).epsilon(1e-6));
  // Items alone have the normal distribution: two standard errors are 0.0455.
  const Advantage items{0.2, 1, 5, 0, 1.9599639845 * 0.1};
  CHECK(items.level(0.2) == Approx(0.0455002639).epsilon(1e-5));
  CHECK(items.level(0) == 1);
  CHECK(Advantage{0.3, INFINITY, 3}.level(0.3) == 1);
  CHECK(Advantage{0.3, 0, 3}.level(0.3) == Approx(0).margin(1e-12));
  CHECK(*better(by_loss, a, b).p == Approx(found.level(found.mean)));
  CHECK(*equal(by_loss, a, b, 1).p == Approx(found.level(1 - found.mean)));
}

TEST_CASE("discoveries agree with Benjamini and Hochberg's example") {
  // Their 15 p, of which four are significant at 5 % (1995, section 4.1).
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  CHECK(discovery_threshold(p) == 0.0095);
  CHECK(discovery_threshold({p.rbegin(), p.rend()}) == 0.0095);
  CHECK(discovery_threshold({}) == 0);
  CHECK(discovery_threshold({0.06, 0.9}) == 0);
  CHECK(discovery_threshold({0.04, 0.05}) == 0.05);
}
