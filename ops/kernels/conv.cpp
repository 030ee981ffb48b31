#include "tapegrad/ops/kernels/conv.h"

#include <algorithm>
#include <vector>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/core/storage.h"
#include "tapegrad/ops/kernels/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::kernels {
namespace {

// Images that one task works on; fixed, so that sums over tasks do not depend on threads.
constexpr Index images_per_task = 4;

// One group of channels of some images as one matrix (patch, images x positions): a column holds
// what the window sees at a position. Results as matrices (filters, images x positions) go with it.
class Patches {
 public:
  Patches(const ConvSizes& sizes, Index images)
      : sizes_(sizes),
        images_(images),
        columns_(images * sizes.positions()),
        storage_(
            Storage::allocate(sizeof(real) * (sizes.patch() + sizes.group_filters()) * columns_)) {}

  Index columns() const { return columns_; }
  real* values() { return static_cast<real*>(storage_.data()); }
  real* results() { return values() + sizes_.patch() * columns_; }

  void gather(const real* image) {
    const Index stride = sizes_.stride, width = sizes_.out_width;
    for_lines([=](real* line, Index from, Index begin, Index end) {
      for (Index j = 0; j < begin; ++j) line[j] = 0;
      if (stride == 1)  // a loop that the compiler can turn into vectors
        for (Index j = begin; j < end; ++j) line[j] = image[from + j];
      else
        for (Index j = begin; j < end; ++j) line[j] = image[from + j * stride];
      for (Index j = end; j < width; ++j) line[j] = 0;
    });
  }

  // image += the patches, each element where it came from.
  void scatter(real* image) {
    const Index stride = sizes_.stride;
    for_lines([=](const real* line, Index from, Index begin, Index end) {
      if (stride == 1)
        for (Index j = begin; j < end; ++j) image[from + j] += line[j];
      else
        for (Index j = begin; j < end; ++j) image[from + j * stride] += line[j];
    });
  }

  // Between results() and images (images, filters, positions) in memory.
  void gather_results(const real* from) {
    for_results([&](real* row, Index at) { std::copy_n(from + at, sizes_.positions(), row); });
  }
  void scatter_results(real* to) {
    for_results([&](real* row, Index at) { std::copy_n(row, sizes_.positions(), to + at); });
  }

 private:
  // Calls body(line of out_width elements, offset of the first in the images, begin, end) for each
  // line of positions; elements in [begin, end) lie inside the image, the others in padding.
  template <class Body>
  void for_lines(const Body& body) {
    const ConvSizes& s = sizes_;
    real* line = values();
    for (Index c = 0; c < s.group_channels(); ++c)
      for (Index r = 0; r < s.rows; ++r)
        for (Index q = 0; q < s.columns; ++q) {
          const Index first = q * s.dilation - s.left;
          const Index begin =
              std::min(s.out_width, first >= 0 ? 0 : (-first + s.stride - 1) / s.stride);
          const Index fits = first < s.width ? (s.width - 1 - first) / s.stride + 1 : 0;
          const Index last = std::clamp(fits, begin, s.out_width);
          for (Index n = 0; n < images_; ++n)
            for (Index i = 0; i < s.out_height; ++i, line += s.out_width) {
              const Index y = i * s.stride - s.top + r * s.dilation;
              const bool inside = y >= 0 && y < s.height;
              body(line, n * s.image() + (c * s.height + y) * s.width + first, begin,
                   inside ? last : begin);
            }
        }
  }

  template <class Body>
  void for_results(const Body& body) {
    real* row = results();
    for (Index o = 0; o < sizes_.group_filters(); ++o)
      for (Index n = 0; n < images_; ++n, row += sizes_.positions())
        body(row, (n * sizes_.filters + o) * sizes_.positions());
  }

  const ConvSizes& sizes_;
  Index images_, columns_;
  Storage storage_;
};

// The same for each of the three: images, filters and results are operands or result.
void count_convolution(const ConvSizes& s) {
  const Index products = s.batch * s.result() * s.patch();
  const Index touched = s.batch * (s.image() + s.result()) + s.weights();
  count_work(2 * static_cast<double>(products), static_cast<double>(sizeof(real) * touched));
}

}  // namespace

void conv_forward(const ConvSizes& s, const real* x, const real* w, real* y) {
  count_convolution(s);
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s, end - begin);
    for (Index group = 0; group < s.groups; ++group) {
      patches.gather(x + begin * s.image() + group * s.group_image());
      gemm_serial(s.group_filters(), patches.columns(), s.patch(),
                  {w + group * s.group_weights(), s.patch()}, {patches.values(), patches.columns()},
                  false, patches.results(), patches.columns());
      patches.scatter_results(y + begin * s.result() + group * s.group_result());
    }
  });
}

void conv_input(const ConvSizes& s, const real* g, const real* w, real* dx) {
  count_convolution(s);
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s, end - begin);
    std::fill_n(dx + begin * s.image(), (end - begin) * s.image(), real{0});
    for (Index group = 0; group < s.groups; ++group) {
      patches.gather_results(g + begin * s.result() + group * s.group_result());
      gemm_serial(s.patch(), patches.columns(), s.group_filters(),
                  {w + group * s.group_weights(), s.patch(), true},
                  {patches.results(), patches.columns()}, false, patches.values(),
                  patches.columns());
      patches.scatter(dx + begin * s.image() + group * s.group_image());
    }
  });
}

void conv_weight(const ConvSizes& s, const real* x, const real* g, real* dw) {
  count_convolution(s);
  const Index weights = s.weights();
  const Index tasks = (s.batch + images_per_task - 1) / images_per_task;
  const Storage storage = Storage::allocate(sizeof(real) * weights * std::max<Index>(tasks, 1));
  real* partial = static_cast<real*>(storage.data());
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s, end - begin);
    real* sums = partial + begin / images_per_task * weights;
    for (Index group = 0; group < s.groups; ++group) {
      patches.gather(x + begin * s.image() + group * s.group_image());
      patches.gather_results(g + begin * s.result() + group * s.group_result());
      gemm_serial(s.group_filters(), s.patch(), patches.columns(),
                  {patches.results(), patches.columns()},
                  {patches.values(), patches.columns(), true}, false,
                  sums + group * s.group_weights(), s.patch());
    }
  });
  std::fill_n(dw, weights, real{0});
  for (Index task = 0; task < tasks; ++task)
    reduce().accumulate(partial + task * weights, dw, weights);
}

}  // namespace tapegrad::kernels
