#include <hwy/detect_targets.h>

#include "tapegrad/ops/kernels/product/bfloat16.h"

#if HWY_ARCH_X86_64 && defined(__linux__) && !defined(TAPEGRAD_DOUBLE)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/blocks.h"
#include "tapegrad/ops/kernels/scratch.h"

// Highway has no operations for AMX, and those for AVX512_BF16 emulate it: so intrinsics.

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// Both matrices are cut into blocks of 16 lines, rows of a or columns of b, by 32 terms. A pair is
// two successive terms of a line in 32 bits, the first one in the high half, since the processor
// adds the product of the high halves first. A block is 1 KiB: 16 x 16 pairs, line by line for a,
// and term by term for b.
using Pair = std::uint32_t;
constexpr Index block_lines = 16, block_terms = 32, block_pairs = block_lines * block_terms / 2;

// A block of c is 32 by 32: two blocks of a times two of b, whose sums stay in registers.
constexpr Index square = 2 * block_lines;

// Pieces of a and b that fit the second-level cache together.
constexpr Index most_terms = 4 * chain, rows_at_a_time = 256, most_of_b = Index{1} << 19;

constexpr Index blocks_of(Index count, Index size) { return (count + size - 1) / size; }

// The lines of a matrix in memory.
struct Lines {
  const real* values;
  Index count, line_stride, term_stride;
};
Lines rows_of(Index m, MatrixView a) {
  return {a.values, m, a.transposed ? 1 : a.stride, a.transposed ? a.stride : 1};
}
Lines columns_of(Index n, MatrixView b) {
  return {b.values, n, b.transposed ? b.stride : 1, b.transposed ? 1 : b.stride};
}

constexpr auto first_lanes(Index count) {
  return static_cast<__mmask16>((1u << std::clamp<Index>(count, 0, 16)) - 1);
}

[[gnu::target("avx512f")]] inline __m512i lanes() {
  return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Transposes 16 x 16 pairs: swaps halves, then quarters, and so on. Unrolled, so that the rows stay
// in registers.
[[gnu::target("avx512f")]] void transpose_pairs(__m512i (&rows)[16]) {
  const __m512i lane = lanes();
#pragma GCC unroll 4
  for (int size = 8; size > 0; size /= 2) {
    const __m512i step = _mm512_set1_epi32(size);
    const __mmask16 upper = _mm512_test_epi32_mask(lane, step);
    // Lanes from 16 on belong to the second operand.
    const __m512i low =
        _mm512_mask_add_epi32(lane, upper, _mm512_sub_epi32(lane, step), _mm512_set1_epi32(16));
    const __m512i high =
        _mm512_mask_add_epi32(_mm512_add_epi32(lane, step), upper, lane, _mm512_set1_epi32(16));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if ((i & size) != 0) continue;
      const __m512i first = rows[i], second = rows[i + size];
      rows[i] = _mm512_permutex2var_epi32(first, low, second);
      rows[i + size] = _mm512_permutex2var_epi32(first, high, second);
    }
  }
}

// Rounds a block of lines, line by line or term by term, with zeros beyond `lines` and `terms`.
[[gnu::target("avx512f,avx512bw,avx512bf16")]] void pack_block(const real* from, const Lines& all,
                                                               Index lines, Index terms,
                                                               bool by_terms, Pair* to) {
  __m512i rows[16];
  // Places number i of the lower half beside number i of the upper one, which becomes the high half
  // of a pair.
  const __m512i halves = _mm512_add_epi32(_mm512_mullo_epi32(lanes(), _mm512_set1_epi32(0x10001)),
                                          _mm512_set1_epi32(0x100000));
  const bool lines_are_rows = all.term_stride == 1;
  const Index count = lines_are_rows ? lines : (terms + 1) / 2;
#pragma GCC unroll 16
  for (Index i = 0; i < 16; ++i) {
    if (i >= count) {
      rows[i] = _mm512_setzero_si512();
    } else if (lines_are_rows) {
      const real* line = from + i * all.line_stride;
      const __m512 low = _mm512_maskz_loadu_ps(first_lanes(terms), line);
      const __m512 high = _mm512_maskz_loadu_ps(first_lanes(terms - 16), line + 16);
      rows[i] = _mm512_rol_epi32((__m512i)_mm512_cvtne2ps_pbh(high, low), 16);
    } else {
      const real* term = from + 2 * i * all.term_stride;
      const __m512 first = _mm512_maskz_loadu_ps(first_lanes(lines), term);
      const __mmask16 there = first_lanes(2 * i + 1 < terms ? lines : 0);
      const __m512 second = _mm512_maskz_loadu_ps(there, term + all.term_stride);
      const auto both = (__m512i)_mm512_cvtne2ps_pbh(first, second);
      rows[i] = _mm512_permutexvar_epi16(halves, both);
    }
  }
  if (lines_are_rows == by_terms) transpose_pairs(rows);
#pragma GCC unroll 16
  for (Index i = 0; i < 16; ++i) _mm512_store_si512(to + i * 16, rows[i]);
}

// All blocks of some terms of a matrix; blocks of the same lines follow each other. Reads along
// what lies together in memory, as the processor expects.
void pack(const Lines& lines, Index first_term, Index terms, bool by_terms, Pair* to) {
  const Index depth = blocks_of(terms, block_terms);
  const auto pack_at = [&](Index line, Index term) {
    pack_block(lines.values + line * lines.line_stride + (first_term + term) * lines.term_stride,
               lines, std::min(lines.count - line, block_lines),
               std::min(terms - term, block_terms), by_terms,
               to + (line / block_lines * depth + term / block_terms) * block_pairs);
  };
  if (lines.term_stride == 1)
    for (Index line = 0; line < lines.count; line += block_lines)
      for (Index term = 0; term < terms; term += block_terms) pack_at(line, term);
  else
    for (Index term = 0; term < terms; term += block_terms)
      for (Index line = 0; line < lines.count; line += block_lines) pack_at(line, term);
}

// to = sum + start, if there is one
[[gnu::target("avx512f")]] inline void store_sum(__m512 sum, const real* start, real* to) {
  _mm512_storeu_ps(to, start ? _mm512_add_ps(sum, _mm512_loadu_ps(start)) : sum);
}

// How a processor computes c (32, 32) = start + a b, both packed, for `depth` blocks of terms.
// begin() comes before some of them, and end() after them.
struct Avx512 {
  static void begin() {}
  static void end() {}
  static void multiply(Index depth, const Pair* a, const Pair* b, Start start, real* c,
                       Index c_stride);
};
struct Amx {
  static void begin();
  static void end();
  static void multiply(Index depth, const Pair* a, const Pair* b, Start start, real* c,
                       Index c_stride);
};

[[gnu::target("avx512f,avx512bf16")]] void Avx512::multiply(Index depth, const Pair* a,
                                                            const Pair* b, Start start, real* c,
                                                            Index c_stride) {
  constexpr Index rows = 8;
  for (Index row = 0; row < square; row += rows) {
    const Pair* left = a + row / block_lines * depth * block_pairs + row % block_lines * 16;
    Start from = start;
    Index block = 0;
    do {  // chain by chain, even without terms
      __m512 sums[rows][2];
      for (Index r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
      const Index last = std::min(depth, block + chain / block_terms);
      for (; block < last; ++block, left += block_pairs) {
        const Pair* right = b + block * block_pairs;
        for (Index pair = 0; pair < 16; ++pair) {
          const auto first = (__m512bh)_mm512_load_si512(right + pair * 16);
          const auto second = (__m512bh)_mm512_load_si512(right + depth * block_pairs + pair * 16);
          for (Index r = 0; r < rows; ++r) {
            const auto factor = (__m512bh)_mm512_set1_epi32(static_cast<int>(left[r * 16 + pair]));
            sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factor, first);
            sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factor, second);
          }
        }
      }
      for (Index r = 0; r < rows; ++r)
        for (Index half = 0; half < 2; ++half)
          store_sum(sums[r][half], from.from(row + r, half * block_lines).values,
                    c + (row + r) * c_stride + half * block_lines);
      from = {c, c_stride};
    } while (block < depth);
  }
}

// Tiles 0 to 3 hold the sums, 4 and 5 blocks of a, 6 and 7 blocks of b: 16 rows of 64 bytes each.
struct alignas(64) TileSizes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::target("amx-tile")]] void Amx::begin() {
  static constexpr TileSizes sizes;
  _tile_loadconfig(&sizes);
}
[[gnu::target("amx-tile")]] void Amx::end() { _tile_release(); }

[[gnu::target("avx512f,amx-tile,amx-bf16")]] void Amx::multiply(Index depth, const Pair* a,
                                                                const Pair* b, Start start, real* c,
                                                                Index c_stride) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const Index next = depth * block_pairs;
  for (Index block = 0; block < depth; ++block, a += block_pairs, b += block_pairs) {
    for (const Pair* ahead : {a + block_pairs, a + next + block_pairs})
      for (Index line = 0; line < block_lines; ++line) _mm_prefetch(ahead + line * 16, _MM_HINT_T0);
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + next, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + next, 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  alignas(64) real sums[square * square];
  real* const to = start.values ? sums : c;
  const Index to_stride = start.values ? square : c_stride;
  const Index bytes = to_stride * static_cast<Index>(sizeof(real));
  _tile_stored(0, to, bytes);
  _tile_stored(1, to + block_lines, bytes);
  _tile_stored(2, to + block_lines * to_stride, bytes);
  _tile_stored(3, to + block_lines * to_stride + block_lines, bytes);
  for (Index row = 0; row < square && start.values; ++row)
    for (Index column = 0; column < square; column += block_lines)
      store_sum(_mm512_load_ps(sums + row * square + column), start.from(row, column).values,
                c + row * c_stride + column);
}

// Computes the end of rows or columns, by way of a whole square.
template <class Processor>
void part_of_square(Index rows, Index columns, Index depth, const Pair* a, const Pair* b,
                    Start start, real* c, Index c_stride) {
  alignas(64) real whole[square * square] = {};
  if (start.values) blocks().copy(rows, columns, start.values, start.stride, whole, square);
  Processor::multiply(depth, a, b, {whole, square}, whole, square);
  blocks().copy(rows, columns, whole, square, c, c_stride);
}

// Brings a square of c into the cache, to be written.
void prefetch_square(Index rows, real* c, Index c_stride) {
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < square; column += block_lines)
      __builtin_prefetch(c + row * c_stride + column, 1);
}

// A piece of c from packed pieces of a and b.
template <class Processor>
void multiply_packed(Index m, Index n, Index depth, const Pair* a, const Pair* b, Start start,
                     real* c, Index c_stride) {
  Processor::begin();
  for (Index column = 0; column < n; column += square)
    for (Index row = 0; row < m; row += square) {
      const Pair* left = a + row / block_lines * depth * block_pairs;
      const Pair* right = b + column / block_lines * depth * block_pairs;
      const Index rows = std::min(m - row, square), columns = std::min(n - column, square);
      const Start from = start.from(row, column);
      real* to = c + row * c_stride + column;
      prefetch_square(std::min(m - row - rows, square), to + square * c_stride, c_stride);
      if (rows == square && columns == square)
        Processor::multiply(depth, left, right, from, to, c_stride);
      else
        part_of_square<Processor>(rows, columns, depth, left, right, from, to, c_stride);
    }
  Processor::end();
}

// Memory for the blocks of so many lines, in whole squares. What is beyond the last block has any
// values: no element that is kept depends on them.
Index packed_size(Index lines, Index terms) {
  return blocks_of(lines, square) * 2 * blocks_of(terms, block_terms) * block_pairs;
}

template <class Processor>
void multiply(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
              Index c_stride) {
  static_assert(sizeof(Pair) == sizeof(real));
  const Index most = std::min(k, most_terms);
  const Index columns_at_a_time = std::min(n, most_of_b / std::max(most, chain) / square * square);
  const Scratch left(packed_size(std::min(m, rows_at_a_time), most));
  const Scratch right(packed_size(columns_at_a_time, most));
  auto* const a_packed = reinterpret_cast<Pair*>(left.data());
  auto* const b_packed = reinterpret_cast<Pair*>(right.data());
  Index term = 0;
  do {  // even without terms: then c is the start
    const Index terms = std::min(k - term, most_terms), depth = blocks_of(terms, block_terms);
    for (Index column = 0; column < n; column += columns_at_a_time) {
      const Index columns = std::min(n - column, columns_at_a_time);
      pack(columns_of(columns, b.from(0, column)), term, terms, true, b_packed);
      for (Index row = 0; row < m; row += rows_at_a_time) {
        const Index rows = std::min(m - row, rows_at_a_time);
        pack(rows_of(rows, a.from(row, 0)), term, terms, false, a_packed);
        multiply_packed<Processor>(rows, columns, depth, a_packed, b_packed,
                                   start.from(row, column), c + row * c_stride + column, c_stride);
      }
    }
    term += terms;
    start = {c, c_stride};
  } while (term < k);
}

struct Found {
  bool avx512_bf16 = false, amx_bf16 = false;
};
Found find() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (instruction_set() != "avx512" || !__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) return {};
  const bool avx512_bf16 = (eax >> 5 & 1) != 0;
  __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx);
  const bool amx_bf16 = (edx >> 22 & 1) != 0 && (edx >> 24 & 1) != 0;
  // Linux keeps the tiles of a process only after it has asked for them.
  constexpr long request = 0x1023, tile_data = 18;
  return {avx512_bf16, avx512_bf16 && amx_bf16 && syscall(SYS_arch_prctl, request, tile_data) == 0};
}
const Found& found() {
  static const Found here = find();
  return here;
}

}  // namespace

Bfloat16Product avx512_bfloat16() { return found().avx512_bf16 ? &multiply<Avx512> : nullptr; }
Bfloat16Product amx_bfloat16() { return found().amx_bf16 ? &multiply<Amx> : nullptr; }

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels

#else

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
Bfloat16Product avx512_bfloat16() { return nullptr; }
Bfloat16Product amx_bfloat16() { return nullptr; }
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels

#endif
