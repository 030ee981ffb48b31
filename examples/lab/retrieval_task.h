#pragma once

#include "lab/matrix_task.h"
#include "support/caption_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How an order of captions and images is learned: Ba et al. 2016, section 6.1, with fewer
/// dimensions and updates.
struct RetrievalTaskOptions {
  Index words = 64, hidden = 128;
  Index batch_size = 128;
  Index steps = 3000;
  Index stretch = 150;  ///< steps between two validations; divides `steps`
  double rate = 1e-3;
  double seconds = 126;
};

/// Retrieval across languages: descriptions in one language stand for images, and captions in
/// another are sought. `none` and `layer` are the order embeddings of a GRU, `symmetric` has
/// cosines for costs, and `bag_of_words` no GRU. Searches of an image by a caption, and of one of
/// its captions by an image, have the values "test_image_recall_1", "..._5", "..._10" in percent
/// and "test_image_mean_rank", and the same of "caption". "test" is the R@10 of images; items are
/// the shares of an image's captions that find it among ten, in percent. The trace "ranks" has the
/// rank of its image for each caption, by the caption's number, and the traces "recall_1",
/// "recall_5" and "recall_10" those of images for validation.
MatrixTask retrieval_task(const support::CaptionSets& sets,
                          const RetrievalTaskOptions& options = {});

/// The R@k of images, in percent, and the results of `retrieval_task` with its items.
Metric image_recall(Index k);
Results with_recall_items(const Results& results, Index k);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
