#pragma once

#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The mean over each element's field, in a shape that broadcasts to x's.
Tensor mean_over(const NormField& field, const Tensor& x);

/// The number of elements of a field without windows.
double field_size(const NormField& field, const Shape& shape);

/// Throws ShapeError for a field that no tensor of this shape has.
void expect_field(const NormField& field, const Shape& shape);

/// The first of a field's axes cut in two: groups and members.
Shape cut_into_groups(const NormField& field, const Shape& shape);
/// A field's axes among those of the shape that is so cut.
std::vector<int> axes_after_cut(const NormField& field, const Shape& shape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
