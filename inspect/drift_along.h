#pragma once

#include <functional>
#include <string>

#include "tapegrad/inspect/free_directions.h"
#include "tapegrad/nn/optimizers/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What steps of an optimizer do along a free direction.
/// Example: `if (Drift drift; drift.share > 0.01) fmt::print("{}\n", drift.prediction)`
struct Drift {
  double share = 0;  ///< |part along it| / (rms of the whole step sqrt(elements concerned)), in rms
  double walk = 0;   ///< root mean square of the changes of its numbers; of factors relative
  double growth = 0;  ///< the relative change of the length of what lies along it; 0 for exchange
  double decay = 0;   ///< how much of that length a step takes away for its own sake
  std::string prediction = {};  ///< in a sentence
};
/// Measured by eight steps from the present weights, which are taken back: net, buffers and
/// optimizer are the same bits afterwards. Share, walk and growth belong to a step without its
/// decay; decay is found by comparing with a step from weights of which less lies along the
/// direction. Steps of SGD are orthogonal to a free direction; steps that divide each element by
/// a root of its own are not. Orthogonal steps along a scale add |step|^2 to |w|^2 (Ba et al. 2016,
/// section 5.2.2).
///   loss: as for `free_directions`
/// Throws ArgumentError for a direction of which the optimizer has no parameter, as of the batch,
/// and TapeError if a tape is in scope.
/// Example: `Parameter w(2.); Sgd s({w}); drift_along({}, {{}, {{"w", w}}}, s, [&] { return w; })`
Drift drift_along(const Fields& net, const FreeDirection& direction, Optimizer& optimizer,
                  const std::function<Tensor()>& loss);

}  // namespace tapegrad::TAPEGRAD_SCALAR
