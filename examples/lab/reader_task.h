#pragma once

#include "lab/matrix_task.h"
#include "support/stories.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How an attentive reader learns to answer questions: Ba et al. 2016, section 6.2, with fewer
/// units and updates.
struct ReaderTaskOptions {
  Index hidden = 64;
  Index entities = 10;
  double dropout = 0.5;
  Index batch_size = 64;
  Index steps = 1500;
  Index stretch = 75;  ///< steps between two validations; divides `steps`
  double rate = 3e-4;
  double seconds = 15;
};

/// The attentive reader on bAbI. `layer` normalizes both LSTMs, `layer_small_gain` begins with a
/// gain of 0.1, and `layer_everywhere` normalizes the products of the attention and of the last
/// layer, too; `batch` and `batch_everywhere` are the same with recurrent batch normalization, gain
/// 0.1. "test" is the error in percent; items are 100 for a wrong answer, 0 for a right one. Curves
/// have the validation error in percent.
MatrixTask reader_task(const support::StorySets& sets, const ReaderTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
