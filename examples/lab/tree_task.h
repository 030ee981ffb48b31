#pragma once

#include "lab/matrix_task.h"
#include "support/treebank.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a transition-based parser learns; sizes as in Xu et al. 2019, section 2.2, but half as wide.
struct TreeTaskOptions {
  Index embedding = 50;
  Index hidden = 256;
  double dropout = 0.2;
  Index batch_size = 1024;
  Index epochs = 6;
  double rate = 1e-3;
  double seconds = 120;
};

/// UD-EWT: a parser of dependencies. The value "test" is the UAS without punctuation in percent,
/// "test_with_punctuation" and "test_las" are others. Items are those of sentences, each its right
/// heads divided by the mean number of words of a sentence, so that their mean is the UAS.
MatrixTask tree_task(const support::Treebank& bank, const TreeTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
