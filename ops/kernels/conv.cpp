#include "tapegrad/ops/kernels/conv.h"

#include <algorithm>
#include <vector>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/storage.h"
#include "tapegrad/ops/kernels/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"

namespace tapegrad::kernels {
namespace {

// One image as a matrix (patch, positions): column p holds what the window sees at position p.
class Patches {
 public:
  explicit Patches(const ConvSizes& sizes)
      : sizes_(sizes),
        storage_(Storage::allocate(sizeof(real) * sizes.patch() * sizes.positions())) {}

  real* values() { return static_cast<real*>(storage_.data()); }

  void gather(const real* image) {
    for_rows([&](real* row, Index line, Index first, Index begin, Index end) {
      std::fill_n(row, begin, real{0});
      for (Index j = begin; j < end; ++j) row[j] = image[line + first + j * sizes_.stride];
      std::fill(row + end, row + sizes_.out_width, real{0});
    });
  }

  // image += the patches, each element where it came from.
  void scatter(real* image) {
    for_rows([&](real* row, Index line, Index first, Index begin, Index end) {
      for (Index j = begin; j < end; ++j) image[line + first + j * sizes_.stride] += row[j];
    });
  }

 private:
  // Calls body(row of out_width elements, start of the image's line, offset in it, begin, end) for
  // each line of positions; elements in [begin, end) lie inside the image, the others in padding.
  template <class Body>
  void for_rows(const Body& body) {
    const ConvSizes& s = sizes_;
    real* row = values();
    for (Index c = 0; c < s.channels; ++c)
      for (Index r = 0; r < s.rows; ++r)
        for (Index q = 0; q < s.columns; ++q)
          for (Index i = 0; i < s.out_height; ++i, row += s.out_width) {
            const Index y = i * s.stride - s.padding + r, first = q - s.padding;
            const bool inside = y >= 0 && y < s.height;
            const Index begin =
                std::min(s.out_width, first >= 0 ? 0 : (-first + s.stride - 1) / s.stride);
            const Index fits = first < s.width ? (s.width - 1 - first) / s.stride + 1 : 0;
            const Index end = inside ? std::clamp(fits, begin, s.out_width) : begin;
            body(row, (c * s.height + y) * s.width, first, begin, end);
          }
  }

  const ConvSizes& sizes_;
  Storage storage_;
};

// Images that one task works on; fixed, so that sums over tasks do not depend on threads.
constexpr Index images_per_task = 4;

}  // namespace

void conv_forward(const ConvSizes& s, const real* x, const real* w, real* y) {
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s);
    for (Index n = begin; n < end; ++n) {
      patches.gather(x + n * s.image());
      gemm_serial(s.filters, s.positions(), s.patch(), {w, s.patch()},
                  {patches.values(), s.positions()}, false, y + n * s.result(), s.positions());
    }
  });
}

void conv_input(const ConvSizes& s, const real* g, const real* w, real* dx) {
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s);
    for (Index n = begin; n < end; ++n) {
      gemm_serial(s.patch(), s.positions(), s.filters, {w, s.patch(), true},
                  {g + n * s.result(), s.positions()}, false, patches.values(), s.positions());
      std::fill_n(dx + n * s.image(), s.image(), real{0});
      patches.scatter(dx + n * s.image());
    }
  });
}

void conv_weight(const ConvSizes& s, const real* x, const real* g, real* dw) {
  const Index weights = s.filters * s.patch();
  const Index tasks = (s.batch + images_per_task - 1) / images_per_task;
  const Storage storage = Storage::allocate(sizeof(real) * weights * std::max<Index>(tasks, 1));
  real* partial = static_cast<real*>(storage.data());
  parallel_ranges(s.batch, images_per_task, [&](Index begin, Index end) {
    Patches patches(s);
    real* sum = partial + begin / images_per_task * weights;
    for (Index n = begin; n < end; ++n) {
      patches.gather(x + n * s.image());
      gemm_serial(s.filters, s.patch(), s.positions(), {g + n * s.result(), s.positions()},
                  {patches.values(), s.positions(), true}, n > begin, sum, s.patch());
    }
  });
  std::fill_n(dw, weights, real{0});
  for (Index task = 0; task < tasks; ++task)
    reduce().accumulate(partial + task * weights, dw, weights);
}

}  // namespace tapegrad::kernels
