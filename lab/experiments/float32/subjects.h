#pragma once

// What the experiments measure: see float64/subjects.h.

#include <functional>
#include <string>

#include "experiments/digit_claims.h"
#include "experiments/fork.h"
#include "experiments/matrix_training.h"
#include "experiments/report.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Normalizations of rows by the names that NormSpec takes.
struct NormsByName {
  std::function<Tensor(const Tensor& x, const std::string& name)> normalize =
      [](const Tensor& x, const std::string& name) { return Norm(name, x.shape()[1])(x); };
};
void measure_family(Report& report, const NormsByName& subject, Random random);
/// The values and gradients of the sixteen forms.
void measure_forms(Report& report, const NormsByName& subject);

/// Forks small runs.
void measure_fork(Report& report, const Forks& subject);

/// What runs of the tasks of a paper return.
struct TrainingsOfPaper {
  ChangeOutcome change = [](const std::string&, const std::string&, Outcome&) {};
};
/// Trains all systems once on a few sentences.
void measure_matrix(Report& report, const TrainingsOfPaper& subject);

/// Trains all systems of `signal`, or of `factorial`, once on a small task.
void measure_signal(Report& report, const TrainingsOfPaper& subject);
void measure_factorial(Report& report, const TrainingsOfPaper& subject);

/// What runs of the tasks of Ba et al. 2016 return, and the least loss of normalized logits.
struct TrainingsOfBa {
  ChangeOutcome change = [](const std::string&, const std::string&, Outcome&) {};
  std::function<double(const Indices& labels)> floor = [](const Indices& labels) {
    return batch_norm_floor(labels, 10);
  };
};
/// Trains two tasks on a few examples.
void measure_ba2016(Report& report, const TrainingsOfBa& subject);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
