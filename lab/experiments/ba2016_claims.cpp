#include "experiments/ba2016_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "experiments/matrix_tables.h"
#include "experiments/recall.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/metrics.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The validations of curves. All of them fall as a net learns.
const Metric by_curve{.value = "validation_loss"};

// How a claim is judged, by which quantity, and what it states if it has no words of its own.
struct Judge {
  const char* quantity;
  Judgement (*judge)(const Results& a, const Results& b);
  const char* statement = "";
};

constexpr const char* reaches = "it reaches the best validation of the baseline in fewer updates.";

Judgement reached_sooner(const Results& a, const Results& b) {
  return faster(by_curve, a, b, Clock::updates);
}

const Judge sooner{"updates to the best validation of the baseline", reached_sooner, reaches};

// Replaces the last validation of each run by the best of its curve.
Results by_best(Results results) {
  for (Outcome& run : results.runs) run.values[by_curve.value] = best_of_curve(by_curve, run);
  return results;
}

Judgement lower_at_best(const Results& a, const Results& b) {
  return better(by_curve, by_best(a), by_best(b));
}

const Judge reaches_lower{"best validations, means of three in a row", lower_at_best};

// Replaces the validations of each run by its training losses.
Results by_training(Results results) {
  for (Outcome& outcome : results.runs)
    for (CurvePoint& point : outcome.curve)
      if (point.validation) point.validation = point.training;
  return results;
}

const Judge sooner_in_training{"updates to the best training loss of the rival",
                               [](const Results& a, const Results& b) {
                                 return reached_sooner(by_training(a), by_training(b));
                               },
                               "its training loss reaches the best one of the rival in fewer "
                               "updates."};

const Judge lower_at_last{"training losses of all seeds", [](const Results& a, const Results& b) {
                            constexpr Index points = 10;
                            return ahead_throughout(by_curve, by_training(a), by_training(b),
                                                    points);
                          }};

// In the mean over seeds, at every validation of the first half.
Judgement ahead_in_first_half(const Results& a, const Results& b) {
  const Series of_a = mean_validation_curve(a), of_b = mean_validation_curve(b);
  const std::size_t points = std::min(of_a.points.size(), of_b.points.size()) / 2;
  std::size_t ahead = 0, behind = 0;
  for (std::size_t i = 0; i < points; ++i) {
    ahead += of_a.points[i].second < of_b.points[i].second ? 1 : 0;
    behind += of_a.points[i].second > of_b.points[i].second ? 1 : 0;
  }
  const bool enough = points > 0 && std::ssize(a.runs) >= least_seeds;
  return {enough && ahead == points    ? Verdict::supported
          : enough && behind == points ? Verdict::contradicted
                                       : Verdict::inconclusive,
          fmt::format("ahead at {} of {} validations, behind at {} ({} seeds)", ahead, points,
                      behind, a.runs.size())};
}

const Judge ahead_early{"mean curves of validations", ahead_in_first_half};

Judgement smaller_gradients(const Results& a, const Results& b) {
  return better({.value = "largest_gradient"}, a, b);
}

const Judge more_found_first{"% R@1 of images", [](const Results& a, const Results& b) {
                               return better(image_recall(1), with_recall_items(a, 1),
                                             with_recall_items(b, 1));
                             }};

// Judges only runs that have learned more of words than their frequencies.
template <Judgement (*judge)(const Results& a, const Results& b)>
Judgement beyond_frequencies(const Results& a, const Results& b) {
  Metric loss = by_curve;
  loss.baseline = Metric{.value = "frequencies"}.of(b.runs.front());
  const auto none = not_judged(loss, a, b);
  return none ? *none : judge(a, b);
}

const Judge words_sooner{sooner.quantity, beyond_frequencies<reached_sooner>, reaches};
const Judge words_lower{reaches_lower.quantity, beyond_frequencies<lower_at_best>};

// When probes look at a net: before its training, while it learns for the first time, in its best
// state.
enum class ProbedState { untrained, first, tested };

constexpr std::array probe_names{"r", "MR", "CR", "SUBJ", "MPQA"};

// What a probe finds, in percent.
double found_by(const std::string& probe, const Outcome& run, ProbedState state) {
  const double unit = probe == "r" ? 100 : 1;
  if (state == ProbedState::first) {
    const RunTrace& probed = trace_of(run, "probed_" + probe);
    expect_part(probed.size() > 1, run,
                fmt::format("its trace \"probed_{}\" has one point", probe));
    return unit * probed[1].second;  // after the one before the run
  }
  const char* prefix = state == ProbedState::tested ? "test" : "untrained";
  return unit * Metric{.value = fmt::format("{}_{}", prefix, probe)}.of(run);
}

const Metric found_mean{.value = "found", .higher_is_better = true, .worst = 0};

// Gives each run the mean result of these probes as a value.
Results with_found(Results results, const std::vector<std::string>& probes, ProbedState state) {
  for (Outcome& run : results.runs) {
    RunningMean mean;
    for (const std::string& probe : probes) mean.add(found_by(probe, run, state));
    run.values[found_mean.value] = mean.value();
  }
  return results;
}

// A probe judges runs only if training has raised what it finds in the baseline.
template <ProbedState state>
Judgement more_found(const Results& a, const Results& b) {
  std::vector<std::string> raised;
  for (const std::string probe : probe_names)
    if (better(found_mean, with_found(b, {probe}, ProbedState::tested),
               with_found(b, {probe}, ProbedState::untrained))
            .verdict == Verdict::supported)
      raised.push_back(probe);
  if (raised.empty())
    return {Verdict::inconclusive,
            fmt::format("training raises what {} finds by none of the five probes", b.system)};
  const Judgement judged =
      better(found_mean, with_found(a, raised, state), with_found(b, raised, state));
  return {judged.verdict,
          fmt::format("by {}, which training raises: {}", fmt::join(raised, ", "), judged.reason)};
}

const Judge more_found_at_end{"% found, mean of probes", more_found<ProbedState::tested>};
const Judge more_found_early{"% found, mean of probes", more_found<ProbedState::first>};

// The rules by which claims in lab/papers/ba2016.json are judged. Without one: by the test.
const Judge& judge_of(const std::string& rule) {
  static const std::map<std::string, const Judge*> all{{"sooner", &sooner},
                                                       {"sooner_in_training", &sooner_in_training},
                                                       {"reaches_lower", &reaches_lower},
                                                       {"lower_at_last", &lower_at_last},
                                                       {"ahead_early", &ahead_early},
                                                       {"more_found_first", &more_found_first},
                                                       {"words_sooner", &words_sooner},
                                                       {"words_lower", &words_lower},
                                                       {"more_found_at_end", &more_found_at_end},
                                                       {"more_found_early", &more_found_early}};
  const auto found = all.find(rule);
  expect<ArgumentError>(found != all.end(), "ba2016: no claim is judged by \"{}\"", rule);
  return *found->second;
}

// The claims on handwriting that do not depend on the task. Level means within so many nats, which
// was fixed before any run.
constexpr double level_nats = 0.05;
constexpr const char* handwriting_tasks[] = {"omniglot", "kanji", "written_digits"};

const MatrixColumn* column_of(const Matrix& matrix, const std::string& task) {
  const auto found = std::find_if(matrix.begin(), matrix.end(), [&](const MatrixColumn& column) {
    return column.task.name == task;
  });
  return found == matrix.end() ? nullptr : &*found;
}

// Two systems of a task; null unless they have been trained.
struct Rivals {
  const MatrixColumn* column;
  const Results *a = nullptr, *b = nullptr;

  Rivals(const Matrix& matrix, const std::string& task, const std::string& of_a,
         const std::string& of_b)
      : column(column_of(matrix, task)) {
    if (column == nullptr) return;
    a = column->of(of_a);
    b = column->of(of_b);
  }
  bool trained() const { return a != nullptr && b != nullptr; }
  const std::string& setting(const Results& of) const {
    return column->cells.at(of.system).setting;
  }

  /// What both have on the test.
  std::string tested() const {
    const PaperTask& task = column->task;
    return fmt::format("{} {}, {} {} {}", a->system, measured(task.metric, *a, task.decimals),
                       b->system, measured(task.metric, *b, task.decimals), task.unit);
  }
  template <class Judging>
  JudgedClaim claim(const std::string& source, const std::string& statement,
                    const std::string& quantity, const Judging& judging) const {
    const auto none = not_judged(column->task.metric, *a, *b);
    return {
        source,
        fmt::format("{}: {} against {}: {}", column->task.title, a->system, b->system, statement),
        quantity, none ? *none : judging()};
  }
};

void claim_handwriting(std::vector<JudgedClaim>& claims, const Matrix& matrix) {
  for (const char* task : handwriting_tasks) {
    const Rivals rivals(matrix, task, "layer", "none");
    if (!rivals.trained()) continue;
    claims.push_back(rivals.claim(
        "section 6.5", fmt::format("they end level, within {} nats per move.", level_nats),
        rivals.tested(),
        [&] { return equal(rivals.column->task.metric, *rivals.a, *rivals.b, level_nats); }));
    claims.push_back(rivals.claim("", "its largest gradient is smaller (learning is more stable).",
                                  fmt::format("largest norms of gradients, {} and {}",
                                              rivals.setting(*rivals.a), rivals.setting(*rivals.b)),
                                  [&] { return smaller_gradients(*rivals.a, *rivals.b); }));
  }
}

const Metric rise{.value = "rise", .worst = 100, .of_items = true};

// By how much small batches raise the test errors of a system, seed by seed and image by image. One
// that diverges with large batches has the worst rise.
Results rises(const Metric& error, const Results& large, const Results& small) {
  Results results = small;
  for (std::size_t seed = 0; seed < results.runs.size(); ++seed) {
    Outcome& outcome = results.runs[seed];
    const Outcome& before = large.runs[seed];
    expect<DataError>(outcome.items.size() == before.items.size(),
                      "{}: {} and {} test images cannot be paired", small.system,
                      outcome.items.size(), before.items.size());
    if (before.diverged()) {
      outcome.values[rise.value] = rise.worst;
      outcome.items.assign(outcome.items.size(), rise.worst);
      continue;
    }
    outcome.values[rise.value] = error.of(outcome) - error.of(before);
    std::transform(outcome.items.begin(), outcome.items.end(), before.items.begin(),
                   outcome.items.begin(), std::minus<>());
  }
  return results;
}

void claim_small_batches(std::vector<JudgedClaim>& claims, const Matrix& matrix) {
  for (const auto& [rival, source] : {std::pair{"batch", "section 6.6"}, {"batch_hidden", ""}}) {
    const Rivals large(matrix, "mnist_128", "layer", rival),
        small(matrix, "mnist_4", "layer", rival);
    if (!large.trained() || !small.trained()) continue;
    expect<DataError>(large.column->data == small.column->data,
                      "mnist_128 and mnist_4: other data: {} and {}", large.column->data,
                      small.column->data);
    const Metric& error = small.column->task.metric;
    claims.push_back(small.claim(
        source,
        "from batches of 128 to batches of 4, on equally many images, its test error rises less.",
        "% rise of the error", [&] {
          const auto none = not_judged(large.column->task.metric, *large.a, *large.b);
          if (none) return *none;
          return better(rise, rises(error, *large.a, *small.a), rises(error, *large.b, *small.b));
        }));
  }
}

// All runs of a task that did not diverge.
template <class F>
void for_each_run(const Matrix& matrix, const std::string& task, const F& f) {
  if (const MatrixColumn* column = column_of(matrix, task))
    for (const auto& [system, cell] : column->cells)
      for (const Outcome& run : cell.results.runs)
        if (!run.diverged()) f(cell.results, run);
}

}  // namespace

std::vector<JudgedClaim> ba2016_claims(const Matrix& matrix) {
  std::vector<JudgedClaim> claims;
  for (const PaperTask& task : ba2016().tasks)
    for (const PaperClaim& each : task.claims) {
      const Rivals rivals(matrix, task.name, each.a, each.b);
      if (!rivals.trained()) continue;
      const Judge* judge = each.judge.empty() ? nullptr : &judge_of(each.judge);
      const std::string statement =
          judge && each.statement.empty() ? judge->statement : each.statement;
      claims.push_back(
          rivals.claim(each.source, statement, judge ? judge->quantity : rivals.tested(), [&] {
            return judge ? judge->judge(*rivals.a, *rivals.b)
                         : better(rivals.column->task.metric, *rivals.a, *rivals.b);
          }));
    }
  claim_handwriting(claims, matrix);
  claim_small_batches(claims, matrix);
  return claims;
}

std::vector<Claim> ba2016_mechanics(const Matrix& matrix) {
  std::vector<Claim> claims;
  double apart = -1;
  for_each_run(matrix, "retrieval", [&](const Results& results, const Outcome& run) {
    for (const Index k : {1, 5, 10}) {
      const Outcome ranked = with_recall_items({results.system, {run}}, k).runs.front();
      apart = std::max(apart, std::abs(mean_of_items(ranked) - image_recall(k).of(run)));
    }
  });
  if (apart >= 0)
    claims.push_back({"Recalls of images follow from the ranks of single captions.",
                      fmt::format("{:.1e} % apart", apart), apart < 1e-9, "below 1e-9 %"});
  apart = -1;
  for_each_run(matrix, "draw", [&](const Results&, const Outcome& run) {
    const auto value = [&](const char* name) { return Metric{.value = name}.of(run); };
    const double divergence = value("test_divergence"), error = value("test_reconstruction");
    const bool positive = divergence >= 0 && error >= 0;
    apart = std::max(apart, positive ? std::abs(value("test") - divergence - error) : INFINITY);
  });
  if (apart >= 0)
    claims.push_back({"A bound is the sum of its two parts, and neither is negative.",
                      fmt::format("{:.1e} nats apart", apart), apart < 1e-3, "below 1e-3 nats"});
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
