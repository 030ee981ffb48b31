#pragma once

#include <string>
#include <vector>

#include "experiments/verdict.h"
#include "tapegrad/train/plot.h"
#include "tapegrad/train/probe.h"

/// The gradients of whole runs, from the records of a probe. Ratios over many rows,
/// norms and steps are ratios of sums: rows count by the size of their gradients.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

bool mean_attached(const std::string& norm);
bool scale_attached(const std::string& norm);

/// The probe's records of one run.
struct Course {
  std::string norm;
  std::vector<NormRecord> norms;
  std::vector<WeightRecord> weights;
  double last_loss = 0;
};

/// A summary of all records of a run. Means are root mean squares, in deviations of the
/// gradients after the norms.
struct Summary {
  double mean_after = 0, mean_before = 0;
  double greatest_error = 0;      ///< of s times the mean before: from 0, or from the mean after
  double ratio = 0;               ///< of the variances before, times s^2, to those after
  double greatest_ratio = 0;      ///< of one row
  double least_ratio = INFINITY;  ///< of one norm in one step

  explicit Summary(const Course& course);
};

/// How far the mean of a norm's inputs moves during a run, in standard deviations of these
/// inputs.
double drift(const Course& course);

/// The mean over a run of |<W, dL/dW>| / (|W| |dL/dW|).
double radial_part(const Course& course, const std::string& weight);

/// The ratio of variances in each step.
Series ratio_curve(const Course& course);

/// log10 of s in each step: of the geometric mean over all norms of the root mean square deviation
/// of their inputs.
Series scale_curve(const Course& course);

/// log10 of the variance of the gradient before each norm, from the input on: the mean over the
/// second half of the run.
Series gradient_by_depth(const Course& course);

/// log10 of the variance of the gradient before the first norm, in each step.
Series first_gradient(const Course& course);

/// Theorem 1, first half. tolerance: of what must be equal, for the precision of the runs
Claim recentering(const std::string& net, const std::vector<Course>& courses, double tolerance);
/// Theorem 1, second half.
Claim rescaling(const std::string& net, const std::vector<Course>& courses, double tolerance);
/// The gradient of a weight in front of a norm is orthogonal to the weight, unless the scale is
/// detached.
Claim orthogonality(const Course& attached, const Course& detached, const std::string& weight);

/// With the scale detached, s ends larger than with it attached. Both lists have the same seeds.
Claim scale_grows(const std::vector<Course>& attached, const std::vector<Course>& detached);
/// What that does to the variance of the gradient before the first norm: a sentence with the ratios
/// of detached to attached in the first and in the last tenth of the run.
std::string gradient_sizes(const std::vector<Course>& attached,
                           const std::vector<Course>& detached);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
