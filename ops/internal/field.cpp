#include "tapegrad/ops/internal/field.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/record.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// How many elements of a field's last axis count.
Index counted(const NormField& field, const Shape& shape) {
  const Index extent = shape[field.axes.back()];
  return static_cast<Index>(std::floor(field.share * static_cast<double>(extent) + 1e-9));
}

struct Span {
  Index begin, end;
};
// The positions within `radius` of some position of a span.
Span within(Index radius, const Span& span, Index extent) {
  return {std::max<Index>(0, span.begin - radius), std::min(extent, span.end + radius)};
}

// The matrix of means over positions within `radius` along an axis: these rows and columns of it.
Tensor window_means(Index extent, Index radius, const Span& rows, const Span& columns) {
  Tensor band = zeros({rows.end - rows.begin, columns.end - columns.begin});
  real* row = band.mutable_data();
  for (Index i = rows.begin; i < rows.end; ++i, row += columns.end - columns.begin) {
    const auto [first, last] = within(radius, {i, i + 1}, extent);
    for (Index j = std::max(first, columns.begin); j < std::min(last, columns.end); ++j)
      row[j - columns.begin] = 1 / static_cast<real>(last - first);
  }
  return band;
}

// The last axis of x times that matrix, or times its transpose. A block of the result needs only
// what is near, so that the cost grows with the extent and not with its square.
Tensor times_window_means(const Tensor& x, Index radius, bool transposed) {
  constexpr Index block = 128;
  const Index extent = x.shape()[-1];
  std::vector<Tensor> blocks;
  {
    const NoGrad values_only;
    for (Index begin = 0; begin == 0 || begin < extent; begin += block) {
      const Span own{begin, std::min(extent, begin + block)}, near = within(radius, own, extent);
      const Tensor band = transposed ? window_means(extent, radius, near, own)
                                     : window_means(extent, radius, own, near);
      blocks.push_back(matmul(slice(x, -1, near.begin, near.end), band, {.b = !transposed}));
    }
    if (blocks.size() != 1) blocks = {concat(blocks, -1)};
  }
  return record("window_means", blocks[0], {}, edge(x, [radius, transposed](const Tensor& g) {
                  return times_window_means(g, radius, !transposed);
                }));
}

Tensor mean_along_window(const Tensor& x, int axis, Index radius) {
  const Tensor means = times_window_means(transpose(x, axis, -1), radius, false);
  return transpose(means, axis, -1);
}

}  // namespace

Tensor mean_over(const NormField& field, const Tensor& x) {
  if (field.groups > 1) {
    const Shape groups = cut_into_groups(field, x.shape());
    const Tensor means =
        mean(reshape(x, groups), Axes(axes_after_cut(field, x.shape())), Keep::yes);
    return reshape(broadcast_to(means, groups), x.shape());
  }
  Tensor means = x;
  if (field.share < 1) means = slice(x, field.axes.back(), 0, counted(field, x.shape()));
  if (!field.axes.empty()) means = mean(means, Axes(field.axes), Keep::yes);
  for (const int axis : field.window) means = mean_along_window(means, axis, field.radius);
  return means;
}

Tensor center_over(const NormField& field, const Tensor& x) {
  if (!field.window.empty()) return mean_over(field, x);  // windows overlap, so each has its own
  // The mean is inexact by the mean of what it leaves. It is constant, so that only that mean has a
  // derivative.
  const Tensor nearly = detach(mean_over(field, x));
  return nearly + mean_over(field, x - nearly);
}

double field_size(const NormField& field, const Shape& shape) {
  double size = 1 / static_cast<double>(field.groups);
  for (const int axis : field.axes) size *= static_cast<double>(shape[axis]);
  if (field.share < 1)
    size *=
        static_cast<double>(counted(field, shape)) / static_cast<double>(shape[field.axes.back()]);
  return size;
}

void expect_field(const char* operation, const NormField& field, const Shape& shape) {
  for (const std::vector<int>& axes : {field.axes, field.window})
    for (const int axis : axes)
      expect(axis < shape.rank() && axis >= -shape.rank(),
             "{}: there is no axis {} to normalize over: {}", operation, axis, shape);
  expect<ArgumentError>(!field.axes.empty() || !field.window.empty(), "{}: a field needs axes: {}",
                        operation, shape);
  expect<ArgumentError>(field.radius >= 0, "{}: the radius of a window must not be negative: {}",
                        operation, field.radius);
  expect<ArgumentError>(field.share > 0 && field.share <= 1, "{}: the share must lie in (0, 1]: {}",
                        operation, field.share);
  if (field.share < 1)
    expect<ArgumentError>(
        field.groups == 1 && field.window.empty() && !field.axes.empty() &&
            counted(field, shape) >= 1,
        "{}: a share of {} leaves no element, or is combined with groups or windows: {}", operation,
        field.share, shape);
  if (field.groups == 1) return;
  expect(field.groups > 1 && field.window.empty() && !field.axes.empty() &&
             shape[field.axes.front()] % field.groups == 0,
         "{}: {} groups do not divide axis {} of {}, or are combined with windows", operation,
         field.groups, field.axes.empty() ? 0 : field.axes.front(), shape);
}

Shape cut_into_groups(const NormField& field, const Shape& shape) {
  const int axis = shape.resolve(field.axes.front());
  return shape.with(axis, shape[axis] / field.groups).insert(axis, field.groups);
}

std::vector<int> axes_after_cut(const NormField& field, const Shape& shape) {
  const int first = shape.resolve(field.axes.front());
  std::vector<int> axes;
  for (const int axis : field.axes)
    axes.push_back(shape.resolve(axis) + (shape.resolve(axis) >= first ? 1 : 0));
  return axes;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
