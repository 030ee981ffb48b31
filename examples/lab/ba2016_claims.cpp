#include "lab/ba2016_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/matrix_tables.h"
#include "lab/retrieval_task.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The validations of curves. All of them fall as a net learns.
const Metric by_curve{.value = "validation_loss"};

Judgement sooner(const Results& a, const Results& b) {
  return faster(by_curve, a, b, Clock::updates);
}

Judgement ends_lower(const Results& a, const Results& b) { return better(by_curve, a, b); }

// The same trainings with their training losses in place of the validations.
Results by_training(Results results) {
  for (Outcome& outcome : results.trainings)
    for (CurvePoint& point : outcome.curve)
      if (point.validation) point.validation = point.training;
  return results;
}

Judgement sooner_in_training(const Results& a, const Results& b) {
  return sooner(by_training(a), by_training(b));
}

// With no more of their curves than the last `points`.
Results latest(Results results, Index points) {
  for (Outcome& outcome : results.trainings)
    outcome.curve.erase(outcome.curve.begin(),
                        outcome.curve.end() - std::min(points, std::ssize(outcome.curve)));
  return results;
}

Judgement lower_training_loss_at_last(const Results& a, const Results& b) {
  constexpr Index points = 10;
  return ahead_throughout(by_curve, by_training(latest(a, points)), by_training(latest(b, points)));
}

// In the mean over seeds, at every validation of the first half.
Judgement ahead_in_the_first_half(const Results& a, const Results& b) {
  const Series of_a = mean_validation_curve(a), of_b = mean_validation_curve(b);
  const std::size_t points = std::min(of_a.points.size(), of_b.points.size()) / 2;
  std::size_t ahead = 0, behind = 0;
  for (std::size_t i = 0; i < points; ++i) {
    ahead += of_a.points[i].second < of_b.points[i].second ? 1 : 0;
    behind += of_a.points[i].second > of_b.points[i].second ? 1 : 0;
  }
  const bool enough = points > 0 && std::ssize(a.trainings) >= least_seeds;
  return {enough && ahead == points    ? Verdict::borne_out
          : enough && behind == points ? Verdict::contradicted
                                       : Verdict::not_seen,
          fmt::format("ahead at {} of {} validations, behind at {} ({} seeds)", ahead, points,
                      behind, a.trainings.size())};
}

Judgement smaller_gradients(const Results& a, const Results& b) {
  return better({.value = "largest_gradient"}, a, b);
}

Judgement more_found_first(const Results& a, const Results& b) {
  return better(image_recall(1), with_recall_items(a, 1), with_recall_items(b, 1));
}

// Probes judge trainings only if those raise what they find.
Judgement probes_find_more(const Results& a, const Results& b) {
  const Metric found{.value = "test", .higher_is_better = true, .worst = 0};
  Results untrained = b;
  for (Outcome& outcome : untrained.trainings)
    outcome.values["test"] = outcome.values.at("untrained");
  const Judgement risen = better(found, b, untrained);
  if (risen.verdict == Verdict::borne_out) return better(found, a, b);
  return {Verdict::not_seen,
          fmt::format("{} finds no more than before its training: {}", b.system, risen.reason)};
}

// What the paper says of two systems of a task. Without a judge: that `a` ends better on the test.
struct ClaimOfPaper {
  const char *task, *a, *b, *statement;
  Judgement (*judge)(const Results& a, const Results& b) = nullptr;
};

constexpr const char* reaches = "it reaches the best validation of the baseline in fewer updates.";

const std::vector<ClaimOfPaper> claims_of_paper{
    {"retrieval", "layer", "none", reaches, sooner},
    {"retrieval", "layer", "none", "its R@10 of images is higher."},
    {"retrieval", "none", "symmetric", "its R@1 of images is higher.", more_found_first},
    {"reader", "layer", "none", reaches, sooner},
    {"reader", "layer", "none", "it ends with a lower validation error.", ends_lower},
    {"reader", "layer", "batch", "it ends with a lower validation error.", ends_lower},
    {"reader", "layer", "batch_everywhere", "it ends with a lower validation error.", ends_lower},
    {"reader", "layer", "layer_small_gain", "it ends with a lower validation error.", ends_lower},
    {"skip_thoughts", "layer", "none", "it ends with a lower validation loss, in nats a word.",
     ends_lower},
    {"skip_thoughts", "layer", "none", reaches, sooner},
    {"skip_thoughts", "layer", "none", "its probes find more.", probes_find_more},
    {"draw", "layer", "none", "its bound is lower throughout the first half.",
     ahead_in_the_first_half},
    {"draw", "layer", "none", reaches, sooner},
    {"draw", "layer", "none", "its bound is lower at the end."},
    {"omniglot", "layer", "none", reaches, sooner},
    {"kanji", "layer", "none", reaches, sooner},
    {"written_digits", "layer", "none", reaches, sooner},
    {"mnist_128", "layer", "none",
     "its training loss reaches the best one of the baseline in fewer updates.",
     sooner_in_training},
    {"mnist_4", "layer", "batch", "its training loss is lower at each of the last ten points.",
     lower_training_loss_at_last},
    {"mnist_4", "layer", "batch", "its test error is lower."},
    {"mnist_4", "layer", "batch_hidden",
     "its test error is lower. (The paper does not have this rival.)"}};

// The claims on handwriting that do not depend on the task. Level means within so many nats, which
// was fixed before any training.
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

  template <class Judge>
  PublishedClaim claim(const std::string& statement, const Judge& judge) const {
    const PaperTask& task = column->task;
    const auto none = not_learned(task.metric, *a, *b);
    return {fmt::format("{}: {} against {}: {}", task.title, a->system, b->system, statement),
            fmt::format("{} {}, {} {} {}", a->system, measured(task.metric, *a, task.decimals),
                        b->system, measured(task.metric, *b, task.decimals), task.unit),
            none ? *none : judge()};
  }
};

void claim_handwriting(std::vector<PublishedClaim>& claims, const Matrix& matrix) {
  for (const char* task : handwriting_tasks) {
    const Rivals rivals(matrix, task, "layer", "none");
    if (!rivals.trained()) continue;
    claims.push_back(rivals.claim(
        fmt::format("they end level, within {} nats a move.", level_nats),
        [&] { return equal(rivals.column->task.metric, *rivals.a, *rivals.b, level_nats); }));
    claims.push_back(rivals.claim("its largest gradient is smaller (learning is more stable).",
                                  [&] { return smaller_gradients(*rivals.a, *rivals.b); }));
  }
}

const Metric rise{.value = "rise", .worst = 100, .of_items = true};

// By how much small batches raise the test errors of a system, seed by seed and image by image.
Results rises(const Metric& error, const Results& large, const Results& small) {
  Results results = small;
  for (std::size_t seed = 0; seed < results.trainings.size(); ++seed) {
    Outcome& outcome = results.trainings[seed];
    const Outcome& before = large.trainings[seed];
    outcome.values[rise.value] = error.of(outcome) - error.of(before);
    std::transform(outcome.items.begin(), outcome.items.end(), before.items.begin(),
                   outcome.items.begin(), std::minus<>());
  }
  return results;
}

void claim_small_batches(std::vector<PublishedClaim>& claims, const Matrix& matrix) {
  for (const char* rival : {"batch", "batch_hidden"}) {
    const Rivals large(matrix, "mnist_128", "layer", rival),
        small(matrix, "mnist_4", "layer", rival);
    if (!large.trained() || !small.trained()) continue;
    const Metric& error = small.column->task.metric;
    claims.push_back(small.claim(
        "from batches of 128 to batches of 4, on equally many images, its test error rises less.",
        [&] {
          return better(rise, rises(error, *large.a, *small.a), rises(error, *large.b, *small.b));
        }));
  }
}

// All trainings of a task with what a claim needs.
template <class F>
void for_each_training(const Matrix& matrix, const std::string& task, const F& f) {
  if (const MatrixColumn* column = column_of(matrix, task))
    for (const auto& [system, cell] : column->cells)
      for (const Outcome& training : cell.results.trainings) f(cell.results, training);
}

}  // namespace

std::vector<PublishedClaim> ba2016_claims(const Matrix& matrix) {
  std::vector<PublishedClaim> claims;
  for (const ClaimOfPaper& each : claims_of_paper) {
    const Rivals rivals(matrix, each.task, each.a, each.b);
    if (rivals.trained())
      claims.push_back(rivals.claim(each.statement, [&] {
        return each.judge != nullptr ? each.judge(*rivals.a, *rivals.b)
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
  for_each_training(matrix, "retrieval", [&](const Results& results, const Outcome& training) {
    for (const Index k : {1, 5, 10}) {
      const Outcome ranked = with_recall_items({results.system, {training}}, k).trainings.front();
      apart = std::max(apart,
                       std::abs(mean_of_items(ranked) - training.values.at(image_recall(k).value)));
    }
  });
  if (apart >= 0)
    claims.push_back({"Recalls of images follow from the ranks of single captions.",
                      fmt::format("{:.1e} % apart", apart), apart < 1e-9, "below 1e-9 %"});
  apart = -1;
  for_each_training(matrix, "draw", [&](const Results&, const Outcome& training) {
    const auto value = [&](const char* name) { return training.values.at(name); };
    const bool negative = value("test_divergence") < 0 || value("test_reconstruction") < 0;
    apart = std::max(apart, negative ? INFINITY
                                     : std::abs(value("test") - value("test_divergence") -
                                                value("test_reconstruction")));
  });
  if (apart >= 0)
    claims.push_back({"A bound is the sum of its two parts, and neither is negative.",
                      fmt::format("{:.1e} nats apart", apart), apart < 1e-3, "below 1e-3 nats"});
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
