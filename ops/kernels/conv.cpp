#include "tapegrad/ops/kernels/conv.h"

#include <algorithm>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/blocks.h"
#include "tapegrad/ops/kernels/product/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The most images of a task. The gradient of w sums over so many, whatever the number of threads.
constexpr Index most_images = 4;

// Fewer images if there are threads for more tasks.
Index images_per_task(const ConvSizes& s) {
  return std::clamp<Index>(s.batch / threads(), 1, most_images);
}

// One group of channels of some images as a matrix (patch, images x positions), as in im2col: a
// column holds what the window sees at a position. Or only the rows [first, end) of the matrix.
class Patches {
 public:
  Patches(const ConvSizes& sizes, Index images, Index first, Index end)
      : sizes_(sizes),
        images_(images),
        columns_(images * sizes.positions()),
        first_(first),
        end_(end),
        values_((end - first) * columns_) {}
  Patches(const ConvSizes& sizes, Index images) : Patches(sizes, images, 0, sizes.patch()) {}

  Index columns() const { return columns_; }
  real* values() { return values_.data(); }
  // The columns of one image.
  real* image(Index n) { return values() + n * sizes_.positions(); }

  void gather(const real* image) {
    if (sizes_.rows.padding > 0 || sizes_.columns.padding > 0)
      std::fill_n(values(), (end_ - first_) * columns_, real{0});
    const Index width = sizes_.columns.count, stride = sizes_.columns.stride;
    const Index line = sizes_.rows.stride * sizes_.columns.extent;
    for_blocks([&](Index image_at, Index at, Index lines, Index count) {
      const real* from = image + image_at;
      real* to = values() + at;
      if (stride == 1) return blocks().copy(lines, count, from, line, to, width);
      for (Index i = 0; i < lines; ++i, from += line, to += width)
        for (Index j = 0; j < count; ++j) to[j] = from[j * stride];
    });
  }

  // Adds each element of the patches to its origin in image.
  void scatter(real* image) {
    const Index width = sizes_.columns.count, stride = sizes_.columns.stride;
    const Index line = sizes_.rows.stride * sizes_.columns.extent;
    for_blocks([&](Index image_at, Index at, Index lines, Index count) {
      const real* from = values() + at;
      real* to = image + image_at;
      if (stride == 1) return blocks().add(lines, count, from, width, to, line);
      for (Index i = 0; i < lines; ++i, from += width, to += line)
        for (Index j = 0; j < count; ++j) to[j * stride] += from[j];
    });
  }

 private:
  // The positions along one axis at which one element of the window lies inside the image.
  struct Inside {
    Index first, count;
    Index start;  // where in the image the first one lies
  };
  static Inside inside(Index place, const ConvAxis& axis) {
    const Index start = place * axis.dilation - axis.padding, stride = axis.stride;
    const Index first = start >= 0 ? 0 : (-start + stride - 1) / stride;
    const Index last = start < axis.extent ? (axis.extent - 1 - start) / stride + 1 : 0;
    return {first, std::max<Index>(0, std::min(last, axis.count) - first), start + first * stride};
  }

  // Calls body(offset in the images, offset in values(), lines, elements of a line) for each row of
  // values() and each image, for the part outside the padding.
  template <class Body>
  void for_blocks(const Body& body) {
    const ConvSizes& s = sizes_;
    Index block = 0;
    for (Index i = first_; i < end_; ++i) {
      const Index q = i % s.columns.size, r = i / s.columns.size % s.rows.size;
      const Index c = i / (s.columns.size * s.rows.size);
      const Inside y = inside(r, s.rows), x = inside(q, s.columns);
      const Index origin = (c * s.rows.extent + y.start) * s.columns.extent + x.start;
      for (Index n = 0; n < images_; ++n, block += s.positions())
        body(n * s.image() + origin, block + y.first * s.columns.count + x.first, y.count, x.count);
    }
  }

  const ConvSizes& sizes_;
  Index images_, columns_, first_, end_;
  Scratch values_;
};

// Counts each of the three functions: images, filters and results are operands or result.
void count_convolution(const ConvSizes& s) {
  const Index products = s.batch * s.result() * s.patch();
  const Index touched = s.batch * (s.image() + s.result()) + s.weights();
  count_work({.flops = 2 * static_cast<double>(products),
              .bytes = static_cast<double>(sizeof(real) * touched)});
}

}  // namespace

void conv_forward(const ConvSizes& s, const real* x, const real* w, real* y) {
  count_convolution(s);
  parallel_ranges(s.batch, images_per_task(s), [&](Index begin, Index end) {
    Patches patches(s, end - begin);
    for (Index group = 0; group < s.groups; ++group) {
      patches.gather(x + begin * s.image() + group * s.group_image());
      for (Index n = begin; n < end; ++n)
        gemm_serial(s.group_filters(), s.positions(), s.patch(),
                    {w + group * s.group_weights(), s.patch()},
                    {patches.image(n - begin), patches.columns()}, {},
                    y + n * s.result() + group * s.group_result(), s.positions());
    }
  });
}

void conv_input(const ConvSizes& s, const real* g, const real* w, real* dx) {
  count_convolution(s);
  parallel_ranges(s.batch, images_per_task(s), [&](Index begin, Index end) {
    Patches patches(s, end - begin);
    std::fill_n(dx + begin * s.image(), (end - begin) * s.image(), real{0});
    for (Index group = 0; group < s.groups; ++group) {
      for (Index n = begin; n < end; ++n)
        gemm_serial(s.patch(), s.positions(), s.group_filters(),
                    {w + group * s.group_weights(), s.patch(), true},
                    {g + n * s.result() + group * s.group_result(), s.positions()}, {},
                    patches.image(n - begin), patches.columns());
      patches.scatter(dx + begin * s.image() + group * s.group_image());
    }
  });
}

void conv_weight(const ConvSizes& s, const real* x, const real* g, real* dw) {
  count_convolution(s);
  const Index weights = s.weights(), filters = s.group_filters(), patch = s.patch();
  const Index sums = std::max<Index>(1, (s.batch + most_images - 1) / most_images);
  const Scratch partial(weights * sums);
  // Threads without images of their own share other images, but few columns cost as many as 8.
  const Index parts = std::clamp<Index>(threads() / sums, 1, std::max<Index>(1, patch / 8));
  parallel_for(sums * parts, [&](Index task) {
    const Index sum = task / parts, part = task % parts;
    const Index begin = sum * most_images, images = std::min(s.batch - begin, most_images);
    const Index first = patch * part / parts, end = patch * (part + 1) / parts;
    Patches patches(s, images, first, end);
    const Index columns = patches.columns();
    const Scratch results(filters * columns);  // (filters, images x positions)
    for (Index group = 0; group < s.groups; ++group) {
      patches.gather(x + begin * s.image() + group * s.group_image());
      for (Index n = 0; n < images; ++n)
        blocks().copy(filters, s.positions(),
                      g + (begin + n) * s.result() + group * s.group_result(), s.positions(),
                      results.data() + n * s.positions(), columns);
      gemm_serial(filters, end - first, columns, {results.data(), columns},
                  {patches.values(), columns, true}, {},
                  partial.data() + sum * weights + group * s.group_weights() + first, patch);
    }
  });
  parallel_ranges(
      weights, std::max<Index>(1, elements_per_tile / sums), [&](Index begin, Index end) {
        reduce().sum_columns(partial.data() + begin, sums, weights, dw + begin, end - begin);
      });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
