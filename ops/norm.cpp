#include "tapegrad/ops/norm.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/internal/root.h"
#include "tapegrad/ops/kernels/norm.h"
#include "tapegrad/ops/kernels/scratch.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

const Field row{.axes = {-1}};

// How many elements of the last of a field's axes count.
Index counted(const Field& field, const Shape& shape) {
  const Index extent = shape[field.axes.back()];
  return static_cast<Index>(std::floor(field.share * static_cast<double>(extent) + 1e-9));
}

// The number of elements of a field without windows.
double field_size(const Field& field, const Shape& shape) {
  double size = 1 / static_cast<double>(field.groups);
  for (const int axis : field.axes) size *= static_cast<double>(shape[axis]);
  if (field.share < 1)
    size *=
        static_cast<double>(counted(field, shape)) / static_cast<double>(shape[field.axes.back()]);
  return size;
}

// A matrix that takes the mean over the positions within `radius` along an axis.
Tensor window_means(Index extent, Index radius) {
  Tensor band = Tensor::uninitialized({extent, extent});
  for (Index i = 0; i < extent; ++i) {
    const Index first = std::max<Index>(0, i - radius), last = std::min(extent - 1, i + radius);
    for (Index j = 0; j < extent; ++j)
      band.mutable_data()[i * extent + j] =
          j >= first && j <= last ? 1 / static_cast<real>(last - first + 1) : real{0};
  }
  return band;
}

Tensor mean_along_window(const Tensor& x, int axis, Index radius) {
  const Tensor along = transpose(x, axis, -1);
  const Tensor means = matmul(along, window_means(along.shape()[-1], radius), {.b = true});
  return transpose(means, axis, -1);
}

// The first of a field's axes cut in two: groups and members.
Shape cut(const Field& field, const Shape& shape) {
  const int axis = shape.resolve(field.axes.front());
  return shape.with(axis, shape[axis] / field.groups).insert(axis, field.groups);
}

// The field's axes among those of the cut shape.
std::vector<int> axes_after_cut(const Field& field, const Shape& shape) {
  const int first = shape.resolve(field.axes.front());
  std::vector<int> axes;
  for (const int axis : field.axes)
    axes.push_back(shape.resolve(axis) + (shape.resolve(axis) >= first ? 1 : 0));
  return axes;
}

// The mean over each element's field, in a shape that broadcasts to x's.
Tensor mean_over(const Field& field, const Tensor& x) {
  if (field.groups > 1) {
    const Shape groups = cut(field, x.shape());
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

void expect_field(const Field& field, const Shape& shape) {
  for (const std::vector<int>& axes : {field.axes, field.window})
    for (const int axis : axes)
      expect(axis < shape.rank() && axis >= -shape.rank(),
             "normalize: there is no axis {} to normalize over: {}", axis, shape);
  expect(!field.axes.empty() || !field.window.empty(), "normalize: a field needs axes: {}", shape);
  expect(field.radius >= 0, "normalize: the radius of a window must not be negative: {}",
         field.radius);
  expect(field.share > 0 && field.share <= 1, "normalize: the share must lie in (0, 1]: {}",
         field.share);
  if (field.share < 1)
    expect(field.groups == 1 && field.window.empty() && !field.axes.empty() &&
               counted(field, shape) >= 1,
           "normalize: a share of {} leaves no element, or is combined with groups or windows: {}",
           field.share, shape);
  if (field.groups == 1) return;
  expect(field.groups > 1 && field.window.empty() && !field.axes.empty() &&
             shape[field.axes.front()] % field.groups == 0,
         "normalize: {} groups do not divide axis {} of {}, or are combined with windows",
         field.groups, field.axes.empty() ? 0 : field.axes.front(), shape);
}

void expect_options(const NormFields& fields, const NormOptions& options, const Tensor& x,
                    const Tensor& smoothing) {
  if (fields.centre) expect_field(*fields.centre, x.shape());
  expect_field(fields.scale, x.shape());
  expect(options.epsilon >= 0 && std::isfinite(options.epsilon),
         "normalize: epsilon must be finite and at least 0: {}", options.epsilon);
  expect(options.variance == Variance::biased || fields.scale.window.empty(),
         "normalize: an unbiased variance over a window is not supported: {}", x.shape());
  expect(!smoothing.defined() || options.place == Epsilon::inside_root,
         "normalize: a learned smoothing term stands inside the root");
}

kernels::RowNorm row_norm(bool centred, const NormOptions& options, Index length) {
  const Index divisor = length - (options.variance == Variance::unbiased ? 1 : 0);
  return {.centred = centred,
          .outside_root = options.place == Epsilon::outside_root,
          .detached_mean = options.detach_mean,
          .detached_scale = options.detach_scale,
          .epsilon = static_cast<real>(options.epsilon),
          .divisor = static_cast<real>(divisor)};
}

const real* data_of(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

// Calls body(row) for every row along the last axis of a tensor of the given shape.
template <class Body>
void for_rows(const Shape& shape, const Body& body) {
  const Index length = shape[-1];
  if (length == 0) return;
  parallel_ranges(shape.size() / length, std::max<Index>(1, elements_per_tile / length),
                  [&](Index begin, Index end) {
                    for (Index r = begin; r < end; ++r) body(r);
                  });
}

// Elements that are normalized together: the rows of a tensor, along its last axis, or the columns
// of a matrix.
enum class Lines { rows, columns };

Index length_of(Lines lines, const Shape& shape) {
  return lines == Lines::rows ? shape[-1] : shape[0];
}

// Calls body(first, count) for groups of neighbouring columns.
template <class Body>
void for_columns(const Shape& shape, const Body& body) {
  parallel_ranges(shape[1], kernels::norm().most_columns,
                  [&](Index begin, Index end) { body(begin, end - begin); });
}

// What the fused kernels keep: 1 / s of each line, and the slopes of RowScale.
struct Normalized {
  Tensor y, inverses, slopes;
};

Normalized normalize_lines(const Tensor& x, Lines lines, const kernels::RowNorm& norm) {
  count_pass(x.size(), x.size());
  const Shape& shape = x.shape();
  const Index length = length_of(lines, shape), count = length == 0 ? 0 : x.size() / length;
  Normalized result{Tensor::uninitialized(shape), Tensor::uninitialized({count}),
                    Tensor::uninitialized({count})};
  real *y = result.y.mutable_data(), *inverses = result.inverses.mutable_data(),
       *slopes = result.slopes.mutable_data();
  if (lines == Lines::rows)
    for_rows(shape, [&](Index r) {
      const kernels::RowScale scale =
          kernels::norm().forward(norm, x.data() + r * length, length, y + r * length);
      inverses[r] = scale.inverse;
      slopes[r] = scale.slope;
    });
  else
    for_columns(shape, [&](Index first, Index columns) {
      kernels::norm().forward_columns(norm, x.data() + first, length, shape[1], columns, y + first,
                                      inverses + first, slopes + first);
    });
  return result;
}

Tensor normalize_lines_back(const Tensor& g, Lines lines, const kernels::RowNorm& norm,
                            const Normalized& kept) {
  count_pass(2 * g.size(), g.size());
  const Shape& shape = g.shape();
  const Index length = length_of(lines, shape);
  Tensor result = Tensor::uninitialized(shape);
  real* dx = result.mutable_data();
  const real *y = kept.y.data(), *inverses = kept.inverses.data(), *slopes = kept.slopes.data();
  if (lines == Lines::rows)
    for_rows(shape, [&](Index r) {
      const Index at = r * length;
      kernels::norm().backward(norm, {inverses[r], slopes[r]}, g.data() + at, y + at, length,
                               dx + at);
    });
  else
    for_columns(shape, [&](Index first, Index columns) {
      kernels::norm().backward_columns(norm, inverses + first, slopes + first, g.data() + first,
                                       y + first, length, shape[1], columns, dx + first);
    });
  return result;
}

Tensor normalize_fused(const Tensor& x, Lines lines, bool centred, const NormOptions& options,
                       Place place) {
  const kernels::RowNorm norm = row_norm(centred, options, length_of(lines, x.shape()));
  const Normalized found = normalize_lines(x, lines, norm);
  const auto to_x = [x, lines, norm, centred, options, inverses = found.inverses,
                     slopes = found.slopes](const Tensor& g, const Tensor& y) {
    if (!recording()) return normalize_lines_back(g, lines, norm, {y, inverses, slopes});
    const Field line{.axes = {lines == Lines::rows ? -1 : 0}};
    const NormFields fields{centred ? std::optional(line) : std::nullopt, line};
    return vjp([&](const auto& in) { return composite::normalize(in[0], fields, options); }, {x},
               g)[0];
  };
  const char* name = lines == Lines::columns ? "batch_norm" : centred ? "layer_norm" : "rms_norm";
  return record(name, found.y, place, edge(x, to_x));
}

Tensor affine_value(const Tensor& y, const Tensor& gain, const Tensor& bias) {
  count_pass(y.size(), y.size());
  const Index length = y.shape()[-1];
  Tensor z = Tensor::uninitialized(y.shape());
  real* out = z.mutable_data();
  for_rows(y.shape(), [&](Index r) {
    kernels::norm().affine(y.data() + r * length, gain.data(), data_of(bias), length,
                           out + r * length);
  });
  return z;
}

// The gradients of rows, gain and bias where body(row, d_gain, d_bias) writes that of a row and
// adds to those of gain and bias (null: not wanted). These are summed over blocks of rows, and the
// blocks in order.
template <class Body>
Gradients<3> gradients_by_rows(Tensor d_rows, const Wanted<3>& wanted, const Body& body) {
  constexpr Index most_blocks = 16;
  const Shape& shape = d_rows.shape();
  const Index length = shape[-1], rows = length == 0 ? 0 : shape.size() / length;
  const Index least = std::max<Index>(1, elements_per_tile / std::max<Index>(1, length));
  const Index grain = std::max(least, (rows + most_blocks - 1) / most_blocks);
  Tensor partial = zeros({2, (rows + grain - 1) / grain, length});
  real* d_gain = partial.mutable_data();
  real* d_bias = d_gain + partial.size() / 2;
  parallel_ranges(rows, grain, [&](Index begin, Index end) {
    const Index block = begin / grain * length;
    for (Index r = begin; r < end; ++r)
      body(r, wanted[1] ? d_gain + block : nullptr, wanted[2] ? d_bias + block : nullptr);
  });
  const Tensor sums = sum(partial, 1);
  return {d_rows, select(sums, 0), select(sums, 1)};
}

Gradients<3> affine_gradients(const Tensor& y, const Tensor& gain, const Tensor& g,
                              const Wanted<3>& wanted) {
  count_pass(2 * g.size(), g.size());
  const Index length = y.shape()[-1];
  Tensor dy = Tensor::uninitialized(y.shape());
  real* out = dy.mutable_data();
  return gradients_by_rows(dy, wanted, [&](Index r, real* d_gain, real* d_bias) {
    const Index at = r * length;
    kernels::norm().affine_back(g.data() + at, y.data() + at, gain.data(), length, out + at, d_gain,
                                d_bias);
  });
}

Tensor affine_norm_value(const Tensor& x, const kernels::RowNorm& norm, const Tensor& gain,
                         const Tensor& bias) {
  count_pass(x.size(), x.size());
  const Index length = x.shape()[-1];
  Tensor z = Tensor::uninitialized(x.shape());
  real* out = z.mutable_data();
  for_rows(x.shape(), [&](Index r) {
    real* line = out + r * length;
    kernels::norm().forward(norm, x.data() + r * length, length, line);
    kernels::norm().affine(line, gain.data(), data_of(bias), length, line);
  });
  return z;
}

// Rows are normalized again, so that nothing is kept but x.
Gradients<3> affine_norm_gradients(const Tensor& x, const kernels::RowNorm& norm,
                                   const Tensor& gain, const Tensor& g, const Wanted<3>& wanted) {
  count_pass(2 * g.size(), g.size());
  const Index length = x.shape()[-1];
  Tensor dx = Tensor::uninitialized(x.shape());
  real* out = dx.mutable_data();
  return gradients_by_rows(dx, wanted, [&](Index r, real* d_gain, real* d_bias) {
    const Index at = r * length;
    const kernels::Scratch y(length);
    const kernels::RowScale scale = kernels::norm().forward(norm, x.data() + at, length, y.data());
    kernels::norm().affine_back(g.data() + at, y.data(), gain.data(), length, out + at, d_gain,
                                d_bias);
    kernels::norm().backward(norm, scale, out + at, y.data(), length, out + at);
  });
}

// The gradients of f(x, gain, bias), or of f(x, gain) without a bias, by recording it.
template <class F>
Gradients<3> recorded_gradients(const F& f, const Tensor& x, const Tensor& gain, const Tensor& bias,
                                const Tensor& g) {
  std::vector<Tensor> present{x, gain};
  if (bias.defined()) present.push_back(bias);
  const std::vector<Tensor> d =
      vjp([&](const auto& in) { return f(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); },
          present, g);
  return {d[0], d[1], bias.defined() ? d[2] : Tensor()};
}

void expect_channels(const char* operation, const Tensor& x, const Tensor& gain,
                     const Tensor& bias) {
  expect(x.rank() >= 1 && gain.shape() == Shape{x.shape()[-1]} &&
             (!bias.defined() || bias.shape() == gain.shape()),
         "{}: gain and bias must have the extent of the last axis of {}: {} and {}", operation,
         x.shape(), gain.shape(), bias.shape());
}

// Whether a field is that of batch normalization of features.
bool all_but_last(const Field& field, const Shape& shape) {
  std::vector<int> axes;
  for (const int axis : field.axes) axes.push_back(shape.resolve(axis));
  std::sort(axes.begin(), axes.end());
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis)
    if (axes[axis] != axis) return false;
  return field.groups == 1 && static_cast<int>(axes.size()) == shape.rank() - 1;
}

// x with the given axes last, as rows of their elements; f of it; and back again.
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

Tensor composite::normalize(const Tensor& x, const NormFields& fields, const NormOptions& options,
                            const Tensor& smoothing) {
  const Tensor mu = fields.centre ? mean_over(*fields.centre, x) : Tensor(0);
  Tensor moment = mean_over(fields.scale, square(fields.centre ? x - mu : x));
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
  return (fields.centre ? x - (options.detach_mean ? detach(mu) : mu) : x) /
         (options.detach_scale ? detach(scale) : scale);
}

Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options,
                 const Tensor& smoothing, Place place) {
  expect_defined("normalize", x);
  expect_options(fields, options, x, smoothing);
  const PlaceScope caller(place);
  const bool one_field = !fields.centre || *fields.centre == fields.scale;
  const bool rows = one_field && fields.scale.window.empty() && fields.scale.share == 1;
  if (Composite::active() || smoothing.defined() || !rows)
    return composite::normalize(x, fields, options, smoothing);

  const bool centred = fields.centre.has_value();
  const Field& field = fields.scale;
  const auto fused = [&](const Tensor& in, Lines lines = Lines::rows) {
    return normalize_fused(in, lines, centred, options, place);
  };
  if (field == row) return fused(x);
  if (all_but_last(field, x.shape())) {
    const Shape matrix{x.shape().count(0, x.rank() - 1), x.shape()[-1]};
    return reshape(fused(reshape(x, matrix), Lines::columns), x.shape());
  }
  if (field.groups == 1) return as_rows(x, field.axes, fused);
  const Tensor groups = reshape(x, cut(field, x.shape()));
  return reshape(as_rows(groups, axes_after_cut(field, x.shape()), fused), x.shape());
}

Tensor layer_norm(const Tensor& x, const NormOptions& options, Place place) {
  expect_defined("layer_norm", x);
  return normalize(x, both(row), options, {}, place);
}

Tensor rms_norm(const Tensor& x, const NormOptions& options, Place place) {
  expect_defined("rms_norm", x);
  return normalize(x, {.centre = {}, .scale = row}, options, {}, place);
}

Tensor composite::affine(const Tensor& y, const Tensor& gain, const Tensor& bias) {
  return bias.defined() ? y * gain + bias : y * gain;
}

Tensor affine(const Tensor& y, const Tensor& gain, const Tensor& bias, Place place) {
  expect_defined("affine", y, gain);
  expect_channels("affine", y, gain, bias);
  const PlaceScope caller(place);
  if (Composite::active()) return composite::affine(y, gain, bias);
  const auto to_all = [y, gain, bias](const Tensor& g, const Wanted<3>& wanted) -> Gradients<3> {
    if (recording()) return recorded_gradients(composite::affine, y, gain, bias, g);
    return affine_gradients(y, gain, g, wanted);
  };
  return record("affine", affine_value(y, gain, bias), place,
                joint_edge<3>({&y, &gain, &bias}, to_all));
}

Tensor affine_norm(const Tensor& x, const NormFields& fields, const Tensor& gain,
                   const Tensor& bias, const NormOptions& options, Place place) {
  expect_defined("affine_norm", x, gain);
  expect_channels("affine_norm", x, gain, bias);
  expect_options(fields, options, x, {});
  const PlaceScope caller(place);
  const bool rows = fields.scale == row && (!fields.centre || *fields.centre == row);
  if (Composite::active() || !rows) return affine(normalize(x, fields, options), gain, bias);
  const kernels::RowNorm norm = row_norm(fields.centre.has_value(), options, x.shape()[-1]);
  const auto to_all = [x, gain, bias, norm, fields, options](
                          const Tensor& g, const Wanted<3>& wanted) -> Gradients<3> {
    if (!recording()) return affine_norm_gradients(x, norm, gain, g, wanted);
    const auto definition = [&](const Tensor& in, const Tensor& a, const Tensor& b) {
      return composite::affine(composite::normalize(in, fields, options), a, b);
    };
    return recorded_gradients(definition, x, gain, bias, g);
  };
  return record("affine_norm", affine_norm_value(x, norm, gain, bias), place,
                joint_edge<3>({&x, &gain, &bias}, to_all));
}

Tensor ada_scale(const Tensor& y, const AdaOptions& options, Place place) {
  expect_defined("ada_scale", y);
  const PlaceScope caller(place);
  expect(std::isfinite(options.factor) && std::isfinite(options.slope),
         "ada_scale: factor and slope must be finite: {}, {}", options.factor, options.slope);
  const Tensor factor = options.factor * (1 - options.slope * y);
  return (options.detach_factor ? detach(factor) : factor) * y;
}

Tensor centred_l1(const Tensor& x, const Field& field, Place place) {
  expect_defined("centred_l1", x);
  expect_field(field, x.shape());
  const PlaceScope caller(place);
  return mean(abs(x - mean_over(field, x)));
}

Tensor divisive_norm(const Tensor& x, const Tensor& summation, const Tensor& suppression,
                     const DivisiveOptions& options, Place place) {
  expect_defined("divisive_norm", x, summation, suppression);
  expect(options.exponent > 0 && std::isfinite(options.exponent),
         "divisive_norm: the exponent must be finite and positive: {}", options.exponent);
  expect(std::isfinite(options.smoothing), "divisive_norm: the smoothing must be finite: {}",
         options.smoothing);
  const PlaceScope caller(place);
  const double p = options.exponent;
  const Tensor energy = matmul(p == 2 ? square(x) : pow(abs(x), p), suppression, {.b = true});
  const Tensor pool = energy + options.smoothing * options.smoothing;
  return matmul(x, summation, {.b = true}) / (p == 2 ? sqrt(pool) : pow(pool, 1 / p));
}

Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place place) {
  expect_defined("weight_norm", v, gain);
  const PlaceScope caller(place);
  return gain * (v / norm(v, axes, Keep::yes));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
