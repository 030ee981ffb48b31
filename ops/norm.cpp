#include "tapegrad/ops/norm.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/field.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/norm.h"
#include "tapegrad/ops/internal/root.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor composite::layer_norm(const Tensor& x, double epsilon, bool detach_mean, bool detach_scale) {
  const Tensor mu = mean(x, -1, Keep::yes);
  const Tensor sigma = sqrt(mean(square(x - mu), -1, Keep::yes) + epsilon);
  return (x - (detach_mean ? detach(mu) : mu)) / (detach_scale ? detach(sigma) : sigma);
}

Tensor composite::normalize(const Tensor& x, const NormFields& fields, const NormOptions& options,
                            const Tensor& smoothing) {
  const Tensor mu = fields.center ? center_over(*fields.center, x) : Tensor(0);
  Tensor moment = mean_over(fields.scale, square(fields.center ? x - mu : x));
  if (options.variance == Variance::unbiased) {
    const double size = field_size(fields.scale, x.shape());
    moment = moment * (size / (size - 1));
  }
  Tensor scale;
  if (smoothing.defined())
    scale = sqrt(moment + square(smoothing));
  else if (options.place == Epsilon::inside_root)
    scale = sqrt(moment + options.epsilon);
  else
    scale = root(moment) + options.epsilon;
  const Tensor z = (fields.center ? x - (options.detach_mean ? detach(mu) : mu) : x) /
                   (options.detach_scale ? detach(scale) : scale);
  if (options.is_of_paper()) return z;
  const Tensor w = options.unit_factor ? detach(scale) * z : z;
  return w + detach((options.identity_forward ? x : z) - w);
}

void expect_norm(const NormFields& fields, const NormOptions& options, const Tensor& x,
                 const Tensor& smoothing) {
  if (fields.center) expect_field(*fields.center, x.shape());
  expect_field(fields.scale, x.shape());
  expect<ArgumentError>(options.epsilon >= 0 && std::isfinite(options.epsilon),
                        "normalize: epsilon must be finite and at least 0: {}", options.epsilon);
  expect<ArgumentError>(options.variance == Variance::biased || fields.scale.window.empty(),
                        "normalize: an unbiased variance over a window is not supported: {}",
                        x.shape());
  expect<ArgumentError>(!smoothing.defined() || options.place == Epsilon::inside_root,
                        "normalize: a learned smoothing term stands inside the root");
}

kernels::RowNorm row_norm(bool centered, const NormOptions& options, Index length) {
  const Index divisor = length - (options.variance == Variance::unbiased ? 1 : 0);
  return {.centered = centered,
          .outside_root = options.place == Epsilon::outside_root,
          .detached_mean = options.detach_mean,
          .detached_scale = options.detach_scale,
          .epsilon = static_cast<real>(options.epsilon),
          .divisor = static_cast<real>(divisor)};
}

namespace {

using kernels::Lines;

// Normalizes the rows or the columns of a matrix: to mean 0 and mean square 1, or to mean square 1
// only.
struct NormalizeLines {
  static constexpr const char* name = "normalize";

  Lines lines;
  bool centered;
  NormOptions options;
  Tensor inverses = {}, slopes = {};  // of each line, as in kernels::NormLoops
  Tensor normalized = {};             // unless it is the value

  Tensor definition(const Operands<1>& in) const {
    const NormField line{.axes = {lines == Lines::rows ? -1 : 0}};
    const NormFields fields{centered ? std::optional(line) : std::nullopt, line};
    return composite::normalize(in[0], fields, options);
  }
  Tensor value(const Operands<1>& in) {
    const kernels::Matrix shape = matrix(in[0].shape());
    inverses = Tensor::uninitialized({shape.count(lines)});
    slopes = Tensor::uninitialized({shape.count(lines)});
    Tensor y = Tensor::uninitialized(in[0].shape());
    kernels::normalize(row_norm(shape), lines, shape, in[0].data(), y.mutable_data(),
                       inverses.mutable_data(), slopes.mutable_data());
    if (options.unit_factor) inverses = ones(inverses.shape());
    if (!options.identity_forward) return y;
    normalized = y;
    return in[0].view(in[0].shape());
  }
  Gradients<1> gradients(const Operands<1>&, const Tensor& g, const Tensor& value,
                         const Wanted<1>&) const {
    const kernels::Matrix shape = matrix(g.shape());
    const Tensor& y = options.identity_forward ? normalized : value;
    Tensor dx = Tensor::uninitialized(g.shape());
    kernels::normalize_back(row_norm(shape), lines, shape, g.data(), y.data(), inverses.data(),
                            slopes.data(), dx.mutable_data());
    return {dx};
  }

 private:
  kernels::RowNorm row_norm(const kernels::Matrix& shape) const {
    return tapegrad::row_norm(centered, options, lines == Lines::rows ? shape.columns : shape.rows);
  }
};

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
  const PlaceScope caller(place);
  expect_defined("normalize", x);
  expect_norm(fields, options, x, smoothing);
  const bool one_field = !fields.center || *fields.center == fields.scale;
  const bool rows = one_field && fields.scale.window.empty() && fields.scale.share == 1;
  if (Composite::active() || smoothing.defined() || !rows)
    return composite::normalize(x, fields, options, smoothing);

  const bool centered = fields.center.has_value();
  const NormField& field = fields.scale;
  const auto rows_of = [&](const Tensor& in) {
    return fused(NormalizeLines{Lines::rows, centered, options}, Operands<1>{in}, place,
                 centered ? "layer_norm" : "rms_norm");
  };
  if (field == row) return rows_of(x);
  if (all_but_last(field, x.shape())) {
    const Shape matrix{x.shape().count(0, x.rank() - 1), x.shape()[-1]};
    const Tensor y = fused(NormalizeLines{Lines::columns, centered, options},
                           Operands<1>{reshape(x, matrix)}, place, "batch_norm");
    return reshape(y, x.shape());
  }
  if (field.groups == 1) return as_rows(x, field.axes, rows_of);
  const Tensor groups = reshape(x, cut_into_groups(field, x.shape()));
  return reshape(as_rows(groups, axes_after_cut(field, x.shape()), rows_of), x.shape());
}

Tensor layer_norm(const Tensor& x, const NormOptions& options, Place place) {
  const PlaceScope caller(place);
  expect_defined("layer_norm", x);
  return normalize(x, both(row), options, {}, place);
}

Tensor rms_norm(const Tensor& x, const NormOptions& options, Place place) {
  const PlaceScope caller(place);
  expect_defined("rms_norm", x);
  return normalize(x, {.center = {}, .scale = row}, options, {}, place);
}

Tensor ada_scale(const Tensor& y, const AdaOptions& options, Place place) {
  const PlaceScope caller(place);
  expect_defined("ada_scale", y);
  expect<ArgumentError>(std::isfinite(options.factor) && std::isfinite(options.slope),
                        "ada_scale: factor and slope must be finite: {}, {}", options.factor,
                        options.slope);
  const Tensor factor = options.factor * (1 - options.slope * y);
  return (options.detach_factor ? detach(factor) : factor) * y;
}

Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place place) {
  const PlaceScope caller(place);
  expect_defined("weight_norm", v, gain);
  return gain * (v / norm(v, axes, Keep::yes));
}

Tensor l2_normalize(const Tensor& x, L2Options options, Place place) {
  const PlaceScope caller(place);
  expect_defined("l2_normalize", x);
  expect<ArgumentError>(options.epsilon > 0, "l2_normalize: epsilon must be positive: {}",
                        options.epsilon);
  return x / maximum(norm(x, options.axis, Keep::yes), options.epsilon);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
