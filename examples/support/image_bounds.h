#pragma once

#include <vector>

#include "tapegrad/nn/data/idx.h"
#include "tapegrad/zoo/draw.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A bound of -log p of an image from above, with one draw of the latent variables, in nats.
struct ImageBound {
  double total;
  double divergence;  ///< the part for the latent variables
};

/// The number of groups in which the bounds of a set are computed.
Index bound_groups(const ImageSet& set);
/// The bounds of the images in groups [begin, end), in their order. Each group draws from a stream
/// of `noise` of its own, so that bounds do not depend on who computes which group.
std::vector<ImageBound> image_bounds(const Draw& net, const ImageSet& set, const Random& noise,
                                     Index begin, Index end);

/// (B, 1, height, width) without the channel.
Tensor plain_images(const Tensor& images);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
