#pragma once

#include "tapegrad/ops/normalize.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The mean over each element's field, in a shape that broadcasts to x's.
Tensor mean_over(const NormField& field, const Tensor& x);
/// The mean again, to the last bit where all elements of a field without windows are equal:
/// subtracted from them, it leaves 0.
Tensor center_over(const NormField& field, const Tensor& x);

/// The number of elements of a field without windows.
double field_size(const NormField& field, const Shape& shape);

/// Throws ShapeError and ArgumentError, in the name of `operation`, unless tensors of this shape
/// have such a field.
void expect_field(const char* operation, const NormField& field, const Shape& shape);

/// The shape with the first of the field's axes split in two: groups and members.
Shape cut_into_groups(const NormField& field, const Shape& shape);
/// The field's axes in the shape after that split.
std::vector<int> axes_after_cut(const NormField& field, const Shape& shape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
