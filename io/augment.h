#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Random changes of training images (N, C, H, W), each image of a batch independently. Pass them to
// `EpochBatches` as a transform. They are not recorded, and draw from `random` in an order that
// depends on the shape alone. They throw ShapeError for other ranks and ArgumentError for invalid
// amounts.

/// Shifts each image by up to `most` pixels in both directions, and fills with 0. most: at least 0,
/// below H and W.
/// Example: `shifted(images, 2, random)`
Tensor shifted(const Tensor& images, Index most, Random& random);

/// Mirrors each image left to right with the given probability.
/// Example: `flipped(images, random)`
Tensor flipped(const Tensor& images, Random& random, double probability = 0.5);

/// Crops each image to height x width at a random position: (N, C, height, width). First adds a
/// frame of `padding` zeros (He et al. 2016, section 4.2: 4).
/// Example: `cropped(images, 8, 8, random, 1)`
Tensor cropped(const Tensor& images, Index height, Index width, Random& random, Index padding = 0);

/// Adds independent numbers of mean 0 and the given deviation. x: any shape
/// Example: `noisy(x, 0.1, random)`
Tensor noisy(const Tensor& x, double deviation, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR
