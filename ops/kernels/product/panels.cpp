#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/product/panels.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/blocks.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/product/packed.h"
#include "tapegrad/ops/kernels/product/panels.h"
#include "tapegrad/ops/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// The largest blocks of sums that fit the registers: vectors of columns, and rows for that many
// vectors.
constexpr Index most_vectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
constexpr Index most_rows(Index vectors) {
  return vectors == 1 ? 12 : vectors == most_vectors ? 6 : 8;
}

// Uncached panels, those read in place or packed once for many products, are prefetched some rows
// ahead. They are narrower, so that more rows share each load.
constexpr Index in_place_vectors = HWY_TARGET <= HWY_AVX3 ? 3 : 2;
constexpr Index packed_vectors = 2;
static_assert(packed_columns % (packed_vectors * hn::MaxLanes(Tag())) == 0);
constexpr Index rows_ahead(Index vectors) {
  return vectors == packed_vectors ? 16 : vectors == in_place_vectors ? 8 : 0;
}

// A piece of a and the panels of b fit the second-level cache.
constexpr Index most_terms = 2 * chain;
constexpr Index columns_at_a_time = 512;

// With few terms, storing c takes the longest: a few whole rows after the other, it is written in
// the order of memory.
constexpr Index rows_at_a_time(Index terms, Index vectors) {
  return terms < 64 ? most_rows(vectors) : 192;
}

// The hardware does not prefetch rows as far apart as this.
constexpr Index far = 2048 / sizeof(real);

// If more rows of a than this read a panel of b, a copy pays off.
constexpr Index most_rows_in_place(Index b_stride) {
  return b_stride >= far && in_place_vectors == most_vectors ? 24 : 128;
}

Index lanes() { return static_cast<Index>(hn::Lanes(Tag())); }

// The strides of a product with k terms: element (row, term) of a is at row * a_row + term *
// a_term.
struct Steps {
  Index k, a_row, a_term, b, start, c;
};
Steps steps_of(Index k, MatrixView a, Index b_stride, Index start_stride, Index c_stride) {
  return {.k = k,
          .a_row = a.transposed ? 1 : a.stride,
          .a_term = a.transposed ? a.stride : 1,
          .b = b_stride,
          .start = start_stride,
          .c = c_stride};
}

// The hardware does not prefetch a block of c, since its rows are far apart.
void prefetch(Index rows, Index vectors, Start block) {
  for (Index row = 0; row < rows; ++row)
    for (Index v = 0; v < vectors; ++v)
      __builtin_prefetch(block.values + row * block.stride + v * lanes());
}

// c (rows, vectors) = start + a (rows, k) b (k, vectors), chain by chain
template <Index rows, Index vectors>
void multiply_block(const Steps& step, const real* a, const real* b, const real* start, real* c) {
  const Tag d;
  Index left = step.k, start_step = step.start;
  prefetch(rows, vectors, {c, step.c});
  do {  // even without terms: then c is the start
    Vector sums[rows * vectors];
    HWY_UNROLL(24)
    for (Index i = 0; i < rows * vectors; ++i) sums[i] = hn::Zero(d);
    for (Index i = std::min(left, chain); i > 0; --i, a += step.a_term, b += step.b) {
      Vector terms[vectors];
      for (Index v = 0; v < vectors; ++v) {
        terms[v] = hn::LoadU(d, b + v * lanes());
        if constexpr (rows_ahead(vectors) > 0)
          __builtin_prefetch(b + rows_ahead(vectors) * step.b + v * lanes());
      }
      for (Index r = 0; r < rows; ++r) {
        const Vector factor = hn::Set(d, a[r * step.a_row]);
        for (Index v = 0; v < vectors; ++v)
          sums[r * vectors + v] = hn::MulAdd(factor, terms[v], sums[r * vectors + v]);
      }
    }
    HWY_UNROLL(24)
    for (Index i = 0; i < rows * vectors; ++i) {
      const Index row = i / vectors, column = i % vectors * lanes();
      if (start) sums[i] = hn::Add(sums[i], hn::LoadU(d, start + row * start_step + column));
      hn::StoreU(sums[i], d, c + row * step.c + column);
    }
    left -= chain;
    start = c;
    start_step = step.c;
  } while (left > 0);
}

// The m rows of one panel, block by block.
template <Index vectors, Index rows = most_rows(vectors)>
void multiply_panel(Index m, const Steps& step, const real* a, const real* b, const real* start,
                    real* c) {
  for (; m >= rows; m -= rows, a += rows * step.a_row, c += rows * step.c) {
    multiply_block<rows, vectors>(step, a, b, start, c);
    if (start) start += rows * step.start;
  }
  constexpr Index fewer = rows == 6 ? 4 : rows / 2;
  if constexpr (fewer > 0) multiply_panel<vectors, fewer>(m, step, a, b, start, c);
}

// Calls body(first column, vectors, columns) for every panel. The last panel may have fewer columns
// than its vectors hold.
template <class Body>
void for_panels(Index n, Index widest, const Body& body, bool reversed = false) {
  const Index width = widest * lanes(), count = (n + width - 1) / width;
  for (Index i = 0; i < count; ++i) {
    const Index j = (reversed ? count - 1 - i : i) * width, columns = std::min(n - j, width);
    body(j, (columns + lanes() - 1) / lanes(), columns);
  }
}

// Transposes a square block of `from`, with as many rows as elements fit 16 bytes.
#if HWY_TARGET == HWY_SCALAR
constexpr Index square = 1;
#else
constexpr Index square = 16 / sizeof(real);
#endif
void transpose_square(const real* from, [[maybe_unused]] Index from_stride, real* to,
                      [[maybe_unused]] Index to_stride) {
#if HWY_TARGET == HWY_SCALAR
  *to = *from;
#else
  const hn::FixedTag<real, square> d;
  const auto first = hn::LoadU(d, from), second = hn::LoadU(d, from + from_stride);
#ifdef TAPEGRAD_DOUBLE
  hn::StoreU(hn::InterleaveLower(d, first, second), d, to);
  hn::StoreU(hn::InterleaveUpper(d, first, second), d, to + to_stride);
#else
  const auto third = hn::LoadU(d, from + 2 * from_stride);
  const auto fourth = hn::LoadU(d, from + 3 * from_stride);
  const auto odd_low = hn::InterleaveLower(d, first, third);
  const auto odd_high = hn::InterleaveUpper(d, first, third);
  const auto even_low = hn::InterleaveLower(d, second, fourth);
  const auto even_high = hn::InterleaveUpper(d, second, fourth);
  hn::StoreU(hn::InterleaveLower(d, odd_low, even_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, odd_low, even_low), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, odd_high, even_high), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, odd_high, even_high), d, to + 3 * to_stride);
#endif
#endif
}

// to (rows, columns) = from (columns, rows) transposed
void transpose(Index rows, Index columns, const real* from, Index from_stride, real* to,
               Index to_stride) {
  constexpr Index line = 64 / sizeof(real);  // reads whole cache lines
  const Index whole_columns = columns / square * square, whole_rows = rows / square * square;
  for (Index first = 0; first < whole_rows; first += line)
    for (Index j = 0; j < whole_columns; j += square)
      for (Index i = first; i < std::min(whole_rows, first + line); i += square)
        transpose_square(from + j * from_stride + i, from_stride, to + i * to_stride + j,
                         to_stride);
  for (Index j = 0; j < columns; ++j)
    for (Index i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      to[i * to_stride + j] = from[j * from_stride + i];
}

// to (rows, width) = the first `columns` columns of b, and 0 in the others.
void copy_columns(Index rows, Index columns, MatrixView b, Index width, real* to) {
  if (columns < width) std::fill_n(to, rows * width, real{0});
  if (b.transposed) return transpose(rows, columns, b.values, b.stride, to, width);
  if (columns < width) return blocks().copy(rows, columns, b.values, b.stride, to, width);
  const Tag d;
  for (Index i = 0; i < rows; ++i, b.values += b.stride, to += width)
    for (Index j = 0; j < width; j += lanes()) hn::StoreU(hn::LoadU(d, b.values + j), d, to + j);
}

// c (m, vectors) = start + a times a panel.
void multiply_whole(Index m, Index vectors, const Steps& step, const real* a, const real* b,
                    const real* start, real* c) {
  const auto multiply = vectors == most_vectors       ? multiply_panel<most_vectors>
                        : vectors == in_place_vectors ? multiply_panel<in_place_vectors>
                        : vectors == 2                ? multiply_panel<2>
                                                      : multiply_panel<1>;
  multiply(m, step, a, b, start, c);
}

// c (m, columns) = start + a times a copied panel, padded to `vectors`.
void multiply_padded(Index m, Index vectors, Index columns, Steps step, const real* a,
                     const real* panel, const real* start, real* c) {
  const Index width = vectors * lanes();
  step.b = width;
  if (columns == width) return multiply_whole(m, vectors, step, a, panel, start, c);
  const Scratch rows(m * width);
  if (start) blocks().copy(m, columns, start, step.start, rows.data(), width);
  const Index c_step = std::exchange(step.c, width);
  step.start = width;
  multiply_whole(m, vectors, step, a, panel, start ? rows.data() : nullptr, rows.data());
  blocks().copy(m, columns, rows.data(), width, c, c_step);
}

// c = start + a b, with no more terms than a panel has rows. Panels of b that are not read in place
// are copied to `panels`, as is the last one unless its vectors are full.
void multiply_terms(Index m, Index n, Index k, MatrixView a, MatrixView b, bool copies_b,
                    Start start, real* c, Index c_stride, real* panels) {
  const Steps step = steps_of(k, a, b.stride, start.stride, c_stride);
  const auto stays = [=](Index vectors, Index columns) {
    return !copies_b && columns == vectors * lanes();
  };
  const Index widest = !copies_b && n > most_vectors * lanes() ? in_place_vectors : most_vectors;
  for_panels(n, widest, [&](Index j, Index vectors, Index columns) HWY_ATTR {
    if (!stays(vectors, columns))
      copy_columns(k, columns, b.from(0, j), vectors * lanes(), panels + j * k);
  });
  // The rows of a single panel are whole anyway.
  const Index most = n <= widest * lanes() ? m : rows_at_a_time(k, widest);
  for (Index row = 0; row < m; row += most) {
    const Index rows = std::min(m - row, most);
    const real* left = a.from(row, 0).values;
    for_panels(n, widest, [&](Index j, Index vectors, Index columns) HWY_ATTR {
      const real* from = start.from(row, j).values;
      real* to = c + row * c_stride + j;
      if (stays(vectors, columns))
        multiply_whole(rows, vectors, step, left, b.from(0, j).values, from, to);
      else
        multiply_padded(rows, vectors, columns, step, left, panels + j * k, from, to);
    });
  }
}

void multiply_directly(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                       Index c_stride) {
  const Index depth = std::min(k, most_terms), wide = std::min(n, columns_at_a_time);
  // If distant rows are read often enough, a copy is cheaper.
  const bool copies_a = a.transposed && a.stride >= far && n > 32;
  const bool copies_b = b.transposed || m > most_rows_in_place(b.stride);
  const Scratch a_copy(copies_a ? m * depth : 0), panels(packed_size(depth, wide));
  Index term = 0;
  do {  // even without terms: then c is the start
    const Index terms = std::min(k - term, depth);
    MatrixView left = a.from(0, term);
    if (copies_a) {
      copy_columns(m, terms, left, terms, a_copy.data());
      left = {a_copy.data(), terms};
    }
    for (Index column = 0; column < n; column += wide)
      multiply_terms(m, std::min(n - column, wide), terms, left, b.from(term, column), copies_b,
                     start.from(0, column), c + column, c_stride, panels.data());
    term += terms;
    start = {c, c_stride};
  } while (term < k);
}

void multiply(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
              Index c_stride) {
  // Computes the transposed product instead of transposing a large b, or more of a than of c. The
  // rows of c are then the columns of panels, and should not leave half of a vector idle.
  const Index idle = (lanes() - m % lanes()) % lanes();
  const bool turns_b = b.transposed && 2 * m * (n + k) <= n * k && 2 * idle <= lanes();
  const bool turns_a = a.transposed && a.stride >= far && !b.transposed && n < m && n < k;
  if (!turns_b && !turns_a) return multiply_directly(m, n, k, a, b, start, c, c_stride);
  const Scratch turned(n * m);
  if (start.values) transpose(n, m, start.values, start.stride, turned.data(), m);
  multiply_directly(n, m, k, {b.values, b.stride, !b.transposed},
                    {a.values, a.stride, !a.transposed},
                    {start.values ? turned.data() : nullptr, m}, turned.data(), m);
  transpose(m, n, turned.data(), m, c, c_stride);
}

void pack(Index k, Index n, MatrixView b, real* panels) {
  for_panels(n, packed_vectors, [&](Index j, Index vectors, Index columns) HWY_ATTR {
    copy_columns(k, columns, b.from(0, j), vectors * lanes(), panels + j * k);
  });
}

void multiply_packed(Index m, Index n, Index k, MatrixView a, const real* panels, Start start,
                     real* c, Index c_stride, bool reversed) {
  const Steps step = steps_of(k, a, 0, start.stride, c_stride);
  const auto multiply = [&](Index j, Index vectors, Index columns) HWY_ATTR {
    const Index next = j + (reversed ? -1 : 1) * packed_vectors * lanes();
    if (start.values && next >= 0 && next < n) prefetch(m, packed_vectors, start.from(0, next));
    multiply_padded(m, vectors, columns, step, a.values, panels + j * k, start.from(0, j).values,
                    c + j);
  };
  for_panels(n, packed_vectors, multiply, reversed);
}

}  // namespace

const PanelLoops* panels_here() {
  static constexpr PanelLoops loops{
      .multiply = multiply, .pack = pack, .multiply_packed = multiply_packed};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(panels_here);
const PanelLoops& panel_loops() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(panels_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
