#include <hwy/detect_targets.h>

#include "peak.h"
#include "tapegrad/ops/kernels/product/bfloat16.h"

#if HWY_ARCH_X86_64 && defined(__linux__)

#include <immintrin.h>

#include <cstdint>

namespace tapegrad::bench {
namespace {

[[gnu::target("avx512f,avx512bf16")]] double by_avx512(Index rounds) {
  constexpr Index chains = 12, lanes = 16;
  __m512 sums[chains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  const auto half = (__m512bh)_mm512_set1_epi16(0x3f00);
  for (Index i = 0; i < rounds; ++i)
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, half, half);
  for (Index i = 1; i < chains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  [[maybe_unused]] static volatile float kept;
  kept = _mm512_cvtss_f32(sums[0]);
  return static_cast<double>(rounds * chains * lanes * 4);  // each lane multiplies and adds a pair
}

// Four tiles of sums, as many as the product itself keeps.
[[gnu::target("amx-tile,amx-bf16")]] double by_amx(Index rounds) {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const sizes;
  _tile_loadconfig(&sizes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (Index i = 0; i < rounds; i += 16) {  // they take 16 times as long
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return static_cast<double>(rounds / 16 * 4 * 16 * 16 * 32 * 2);
}

}  // namespace

double bfloat16_multiply_adds(Index rounds) {
  if (kernels::amx_bfloat16()) return by_amx(rounds);
  return kernels::avx512_bfloat16() ? by_avx512(rounds) : 0;
}

}  // namespace tapegrad::bench

#else

namespace tapegrad::bench {
double bfloat16_multiply_adds(Index) { return 0; }
}  // namespace tapegrad::bench

#endif
