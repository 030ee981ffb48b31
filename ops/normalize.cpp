#include "tapegrad/ops/normalize.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/field.h"
#include "tapegrad/ops/internal/norm.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor composite::normalize(const Tensor& x, const NormFields& fields, const NormOptions& options,
                            const Tensor& smoothing) {
  const Tensor mu = fields.center ? center_over(*fields.center, x) : Tensor(0);
  const Tensor moment = mean_over(fields.scale, square(fields.center ? x - mu : x));
  const Tensor s = deviation(moment, field_size(fields.scale, x.shape()), options, smoothing);
  const Tensor v = fields.center ? x - (options.detach_mean ? detach(mu) : mu) : x;
  return in_form(v / (options.detach_scale ? detach(s) : s), x, s, options);
}

void expect_norm(const char* operation, const NormFields& fields, const NormOptions& options,
                 const Tensor& x, const Tensor& smoothing) {
  if (fields.center) expect_field(operation, *fields.center, x.shape());
  expect_field(operation, fields.scale, x.shape());
  expect<ArgumentError>(options.epsilon >= 0 && std::isfinite(options.epsilon),
                        "{}: epsilon must be finite and at least 0: {}", operation,
                        options.epsilon);
  expect<ArgumentError>(options.variance == Variance::biased || fields.scale.window.empty(),
                        "{}: an unbiased variance over a window is not supported: {}", operation,
                        x.shape());
  expect<ArgumentError>(!smoothing.defined() || options.place == Epsilon::inside_root,
                        "{}: a learned smoothing term stands inside the root", operation);
}

namespace {

using kernels::Lines;

// Whether this is the field of batch normalization of features.
bool all_but_last(const NormField& field, const Shape& shape) {
  std::vector<int> axes;
  for (const int axis : field.axes) axes.push_back(shape.resolve(axis));
  std::sort(axes.begin(), axes.end());
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis)
    if (axes[axis] != axis) return false;
  return field.groups == 1 && static_cast<int>(axes.size()) == shape.rank() - 1;
}

// Moves the given axes last and flattens them into rows, applies f, and restores the layout.
template <class F>
Tensor as_rows(const Tensor& x, const std::vector<int>& axes, const F& f) {
  std::vector<bool> inside(x.rank());
  for (const int axis : axes) inside[x.shape().resolve(axis)] = true;
  std::vector<int> order;
  for (const bool last : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if (inside[axis] == last) order.push_back(axis);
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int>(i);

  const Tensor ordered = std::is_sorted(order.begin(), order.end()) ? x : permute(x, order);
  const int outer = x.rank() - static_cast<int>(axes.size());
  const Shape rows{ordered.shape().count(0, outer), ordered.shape().count(outer, x.rank())};
  const Tensor y = reshape(f(reshape(ordered, rows)), ordered.shape());
  return std::is_sorted(order.begin(), order.end()) ? y : permute(y, back);
}

}  // namespace

Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options,
                 const Tensor& smoothing, Place place) {
  const OperationScope scope("normalize", place, x);
  expect_norm("normalize", fields, options, x, smoothing);
  const bool one_field = !fields.center || *fields.center == fields.scale;
  const bool rows = one_field && fields.scale.window.empty() && fields.scale.share == 1;
  if (Composite::active() || smoothing.defined() || !rows)
    return composite::normalize(x, fields, options, smoothing);

  const bool centered = fields.center.has_value();
  const NormField& field = fields.scale;
  const auto rows_of = [&](const Tensor& in) {
    return centered ? layer_norm(in, options, place) : rms_norm(in, options, place);
  };
  if (field == row) return rows_of(x);
  if (all_but_last(field, x.shape())) {
    const Shape matrix{x.shape().count(0, x.rank() - 1), x.shape()[-1]};
    return reshape(
        normalize_lines(reshape(x, matrix), Lines::columns, centered, options, "batch_norm", place),
        x.shape());
  }
  if (field.groups == 1) return as_rows(x, field.axes, rows_of);
  const Tensor groups = reshape(x, cut_into_groups(field, x.shape()));
  return reshape(as_rows(groups, axes_after_cut(field, x.shape()), rows_of), x.shape());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
