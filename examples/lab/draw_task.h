#pragma once

#include "lab/matrix_task.h"
#include "support/image_sets.h"
#include "tapegrad/zoo/draw.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How DRAW learns to draw digits: Ba et al. 2016, section 6.4, with fewer glimpses, units and
/// epochs.
struct DrawTaskOptions {
  DrawOptions model = {};
  Index batch_size = 128;
  Index steps = 2340;
  Index stretch = 117;   ///< steps between two validations; divides `steps`
  Index watched = 2000;  ///< images of the validation; 0: all
  double rate = 1e-3;
  double seconds = 104;
};

/// Binarized MNIST: DRAW without normalization, with that of the cells alone (`layer`), as in the
/// paper, and in all places of its LSTMs (`layer_everywhere`). Values: "test", a bound of -log p of
/// an image from above in nats, and its parts "test_reconstruction" and "test_divergence". Items
/// are the bounds of images, to three decimals.
MatrixTask draw_task(const support::ImageSets& sets, const DrawTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
