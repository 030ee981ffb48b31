#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The rank of the right candidate of each query, from 1 for the best: 1 plus the number of wrong
/// candidates that cost at most as much. So ties count against the query, and a net that finds all
/// candidates alike finds nothing. A cost that is NaN counts against it, too.
///   costs: (Q, C), the less the better   returns (Q)
///   right: (Q), in [0, C), or (Q, R) for several right candidates, of which the best counts
/// Throws ShapeError for shapes that do not fit, for R = 0 and for a candidate out of range.
/// Example: `ranks(-logits, labels)`
Indices ranks(const Tensor& costs, const Indices& right);

// What ranks amount to. All throw ShapeError if there are none.

/// The share of ranks of at most k: R@K, a number from 0 to 1.
/// Example: `recall_at(10, ranks(-logits, labels))`
double recall_at(Index k, const Indices& ranks);
/// The mean of the two middle ranks if their number is even.
/// Example: `median_rank(ranks(-logits, labels))`
double median_rank(const Indices& ranks);
/// Example: `mean_rank(ranks(-logits, labels))`
double mean_rank(const Indices& ranks);

/// A bound between two classes: the positive ones cost at most that much.
/// Example: `const auto [bound, accuracy] = best_threshold(Tensor({2}, {0, 1}), Tensor({1}, {2}))`
struct Threshold {
  double bound;
  double accuracy;  ///< the share of all that lies on its side of the bound
};
/// The bound with the greatest accuracy, half-way between two costs; of several, the least. It is
/// infinite if all are best taken for one class.
///   positives: (P)   negatives: (N), the costs of each class
/// Throws ShapeError for other ranks and without costs, ArgumentError for a cost that is NaN.
/// Example: `best_threshold(Tensor({2}, {0, 1}), Tensor({1}, {2})).bound`
Threshold best_threshold(const Tensor& positives, const Tensor& negatives);
/// The accuracy of a bound. Throws as `best_threshold` does.
/// Example: `threshold_accuracy(0.5, Tensor({2}, {0, 1}), Tensor({1}, {2}))`
double threshold_accuracy(double bound, const Tensor& positives, const Tensor& negatives);

}  // namespace tapegrad::TAPEGRAD_SCALAR
