#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Changes of images for training, each image of a batch on its own, to be given to `EpochBatches`
// as a transform. images: (N, C, H, W)   They go on no tape, draw from `random` in an order that
// the shape alone gives, and throw ShapeError for other ranks, ArgumentError for amounts that make
// no sense.

/// Moves each image by up to `most` pixels in both directions; what comes in is 0. most: from 0 to
/// below H and W.
Tensor shifted(const Tensor& images, Index most, Random& random);

/// Mirrors each image left to right with the given probability.
Tensor flipped(const Tensor& images, Random& random, double probability = 0.5);

/// A part of each image, of height x width, from anywhere: (N, C, height, width). With `padding`,
/// from the image in a frame of so many zeros (He et al. 2016, section 4.2: 4).
Tensor cropped(const Tensor& images, Index height, Index width, Random& random, Index padding = 0);

/// Adds independent numbers of mean 0 and the given deviation. x: any shape
Tensor noisy(const Tensor& x, double deviation, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR
