#pragma once

#include <vector>

#include "experiments/comparison.h"

/// Recalls of images by their captions, from the trace "ranks" of a run.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// For each image the share of its captions whose rank is at most k, in percent. Throws DataError
/// for ranks that do not belong to the captions of so many images.
std::vector<double> recall_items(const Outcome& run, Index images, Index k);

/// The R@k of images, in percent, and the results of a retrieval with its items.
Metric image_recall(Index k);
Results with_recall_items(const Results& results, Index k);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
