#pragma once

#include <string>
#include <vector>

#include "experiments/matrix.h"
#include "experiments/matrix_task.h"

/// "Bookkeeping and signal": does a constraint on the weights that feed norms, centered or of
/// constant length, replace the derivative of the mean, or the deviation's?
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Tasks with either optimizer, such as "pre_2_adam", and "ud_ewt_adam", a parser. Systems are
/// layer normalization with nothing, the mean, the deviation or both detached, each with no
/// constraint, `center`, `unit` or both, and root mean square norms: see `norm_and_constraints`.
const Paper& signal_paper();
/// The constraints beside none: "+center", "+unit", "+center+unit".
extern const std::vector<std::string> signal_constraints;

/// The tasks that are conditions, see `condition_tasks`.
std::vector<MatrixTask> signal_tasks(const std::vector<std::string>& names,
                                     const problems::Origin& origin, problems::Size size);

/// The ratio of two means over paired seeds, with its 95 % interval: 10,000 resamples of the seeds.
/// Those whose denominator is not above 0 count on both sides.
struct Ratio {
  double value, low, high;

  /// "0.96 [0.81, 1.10]", or "no cost" if the denominator is not above 0
  std::string to_string() const;
};
/// How large the lead of `a` over `b` is, beside the lead of `c` over `d`. With a constrained
/// system for `a`, a detached one for `b` and `d` and the attached one for `c`, it is R, the share
/// of the cost that the constraint takes away. Throws DataError for results that do not pair.
Ratio ratio_of_leads(const Metric& metric, const Results& a, const Results& b, const Results& c,
                     const Results& d);

/// What was predicted before any of the runs with the seeds of the paper, of at least four in five
/// of the tasks that it speaks of. Each reason has the power of its test, at the spread that was
/// found, if what was predicted is exactly so.
///   matrix: of one optimizer
std::vector<JudgedClaim> signal_predictions(const Matrix& matrix, const std::string& optimizer);

/// What must hold for all sizes.
std::vector<Claim> signal_claims(const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
