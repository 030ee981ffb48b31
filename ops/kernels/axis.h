#pragma once

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// An array (outer, length, inner): one of its axes, or several neighbouring ones, between those
/// before and those after.
struct AlongAxis {
  Index outer, length, inner;
};

/// The axes [first, last) of a shape as one.
inline AlongAxis along(const Shape& shape, int first, int last) {
  return {shape.count(0, first), shape.count(first, last), shape.count(last, shape.rank())};
}
inline AlongAxis along(const Shape& shape, int axis) { return along(shape, axis, axis + 1); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
