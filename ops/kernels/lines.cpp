#include "tapegrad/ops/kernels/lines.h"

#include <algorithm>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

Index rows_per_task(Matrix shape) {
  return std::max<Index>(1, elements_per_tile / std::max<Index>(1, shape.columns));
}

// Calls body(first, count) for ranges of rows.
template <class Body>
void for_rows(Matrix shape, const Body& body) {
  if (shape.columns == 0) return;
  parallel_ranges(shape.rows, rows_per_task(shape),
                  [&](Index begin, Index end) { body(begin, end - begin); });
}

// Divides such a range into groups of rows, which later passes find in the first-level cache.
template <class Body>
void for_groups(Index first, Index count, Index columns, const Body& body) {
  const Index group = std::max(rows_at_once, 2048 / columns), end = first + count;
  for (; first < end; first += group) body(first, std::min(end - first, group));
}

// Calls body(first, count) for groups of neighbouring columns.
template <class Body>
void for_columns(Matrix shape, const Body& body) {
  if (shape.rows == 0) return;
  parallel_ranges(shape.columns, norm().most_columns,
                  [&](Index begin, Index end) { body(begin, end - begin); });
}

// Sums over rows, where body(first, count, d) adds some in order: first within blocks of rows, then
// over blocks. Blocks are short, since errors grow with their length.
template <class Body>
void sum_over_rows(Matrix shape, AffineGradients d, const Body& body) {
  constexpr Index few_blocks = 16, most_rows = 128;
  const Index rows = std::clamp((shape.rows + few_blocks - 1) / few_blocks,
                                std::min(rows_per_task(shape), most_rows), most_rows);
  const Index blocks = shape.columns == 0 ? 0 : (shape.rows + rows - 1) / rows;
  const Index partial_size = blocks * shape.columns;
  const Scratch gains(d.gain ? partial_size : 0), biases(d.bias ? partial_size : 0);
  const auto part = [&](const Scratch& partial, real* wanted, Index block) {
    return wanted ? partial.data() + block * shape.columns : nullptr;
  };
  parallel_ranges(
      blocks, std::max<Index>(1, rows_per_task(shape) / rows), [&](Index begin, Index end) {
        for (Index block = begin; block < end; ++block) {
          const AffineGradients here{part(gains, d.gain, block), part(biases, d.bias, block)};
          for (real* sums : {here.gain, here.bias})
            if (sums) std::fill_n(sums, shape.columns, real{0});
          const Index first = block * rows;
          body(first, std::min(rows, shape.rows - first), here);
        }
      });
  for (const auto& [total, partial] : {std::pair{d.gain, &gains}, std::pair{d.bias, &biases}})
    if (total) reduce().sum_columns(partial->data(), blocks, shape.columns, total, shape.columns);
}

}  // namespace

void normalize(const RowNorm& how, Lines lines, Matrix shape, const real* x, real* y,
               real* inverses, real* slopes) {
  count_pass(shape.size(), shape.size());
  if (lines == Lines::rows)
    for_rows(shape, [&](Index first, Index rows) {
      const Index at = first * shape.columns;
      norm().forward(how, x + at, rows, shape.columns, y + at, inverses + first, slopes + first);
    });
  else
    for_columns(shape, [&](Index first, Index count) {
      norm().forward_columns(how, x + first, shape.rows, shape.columns, count, y + first,
                             inverses + first, slopes + first);
    });
}

void normalize_back(const RowNorm& how, Lines lines, Matrix shape, const real* g, const real* y,
                    const real* inverses, const real* slopes, real* dx) {
  count_pass(2 * shape.size(), shape.size());
  if (lines == Lines::rows)
    for_rows(shape, [&](Index first, Index rows) {
      const Index at = first * shape.columns;
      norm().backward(how, inverses + first, slopes + first, g + at, y + at, rows, shape.columns,
                      dx + at);
    });
  else
    for_columns(shape, [&](Index first, Index count) {
      norm().backward_columns(how, inverses + first, slopes + first, g + first, y + first,
                              shape.rows, shape.columns, count, dx + first);
    });
}

void affine(Affine a, Matrix shape, const real* y, real* z) {
  count_pass(shape.size(), shape.size());
  for_rows(shape, [&](Index first, Index rows) {
    const Index at = first * shape.columns;
    norm().affine(y + at, a.gain, a.bias, rows, shape.columns, z + at);
  });
}

void affine_back(Affine a, Matrix shape, const real* y, const real* g, real* dy,
                 AffineGradients d) {
  count_pass(2 * shape.size(), shape.size());
  sum_over_rows(shape, d, [&](Index first, Index rows, AffineGradients sums) {
    const Index at = first * shape.columns;
    norm().affine_back(g + at, y + at, a.gain, rows, shape.columns, dy + at, sums.gain, sums.bias);
  });
}

void affine_norm(const RowNorm& how, Affine a, Matrix shape, const real* x, real* z) {
  count_pass(shape.size(), shape.size());
  for_rows(shape, [&](Index begin, Index count) {
    for_groups(begin, count, shape.columns, [&](Index first, Index rows) {
      const Index at = first * shape.columns;
      const Scratch inverses(rows), slopes(rows);
      norm().forward(how, x + at, rows, shape.columns, z + at, inverses.data(), slopes.data());
      norm().affine(z + at, a.gain, a.bias, rows, shape.columns, z + at);
    });
  });
}

void affine_norm_back(const RowNorm& how, Affine a, Matrix shape, const real* x, const real* g,
                      real* dx, AffineGradients d) {
  count_pass(2 * shape.size(), shape.size());
  sum_over_rows(shape, d, [&](Index begin, Index count, AffineGradients sums) {
    for_groups(begin, count, shape.columns, [&](Index first, Index rows) {
      const Index at = first * shape.columns;
      const Scratch y(rows * shape.columns), inverses(rows), slopes(rows);
      norm().forward(how, x + at, rows, shape.columns, y.data(), inverses.data(), slopes.data());
      norm().affine_back(g + at, y.data(), a.gain, rows, shape.columns, dx + at, sums.gain,
                         sums.bias);
      norm().backward(how, inverses.data(), slopes.data(), dx + at, y.data(), rows, shape.columns,
                      dx + at);
    });
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
