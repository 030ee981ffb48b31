#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/core/internal/philox.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/core/machine/instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<std::uint64_t>;
using Words = hn::Vec<Wide>;  // a word in the lower half of each lane; the upper half is ignored

Words times(Words a, std::uint32_t factor) {
#if HWY_TARGET == HWY_SCALAR  // has no MulEven
  return hn::Set(Wide(), (hn::GetLane(a) & 0xFFFFFFFF) * factor);
#else
  const hn::Repartition<std::uint32_t, Wide> narrow;
  return hn::MulEven(hn::BitCast(narrow, a), hn::Set(narrow, factor));
#endif
}

// Computes as many blocks as a vector has lanes.
void blocks_at(std::uint64_t seed, std::uint64_t first, std::uint32_t* words) {
  const Wide d;
  const Words n = hn::Iota(d, first);
  Words c0 = n, c1 = hn::ShiftRight<32>(n), c2 = hn::Zero(d), c3 = hn::Zero(d);
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Words p0 = times(c0, 0xD2511F53), p1 = times(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, k0));
    c1 = p1;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, k1));
    c3 = p0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const Words lower = hn::Set(d, 0xFFFFFFFF);
  hn::StoreInterleaved2(hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1)),
                        hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3)), d,
                        reinterpret_cast<std::uint64_t*>(words));
}

}  // namespace

void write_blocks(std::uint64_t seed, std::uint64_t first, Index blocks, std::uint32_t* words) {
  const auto lanes = static_cast<Index>(hn::Lanes(Wide()));
  for (; blocks >= lanes; blocks -= lanes, first += lanes, words += 4 * lanes)
    blocks_at(seed, first, words);
  if (blocks == 0) return;
  HWY_ALIGN std::uint32_t last[4 * hn::MaxLanes(Wide())];
  blocks_at(seed, first, last);
  std::copy_n(last, 4 * blocks, words);
}

// The compiler vectorizes this loop.
void choose(const std::uint32_t* words, Index count, std::uint32_t most, real yes, real* out) {
  for (Index i = 0; i < count; ++i) out[i] = words[i] <= most ? yes : real{0};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR {
HWY_EXPORT(write_blocks);
HWY_EXPORT(choose);

void philox(std::uint64_t seed, std::uint64_t first, Index blocks, std::uint32_t* words) {
  instruction_set();  // chosen before Highway dispatches
  HWY_DYNAMIC_DISPATCH(write_blocks)(seed, first, blocks, words);
}

Choices::Choices(std::uint64_t seed, std::uint64_t start, double probability)
    : seed_(seed), start_(start), yes_words_(std::llround(probability * 0x1p32)) {}

void Choices::read(Index first, Index count, real yes, real* out) const {
  if (yes_words_ == 0) yes = 0;
  const auto most = static_cast<std::uint32_t>(std::max<std::int64_t>(yes_words_, 1) - 1);
  std::array<std::uint32_t, 1024> words;
  while (count > 0) {
    const Index skipped = first % 4;
    const Index now = std::min(count, static_cast<Index>(words.size()) - skipped);
    philox(seed_, start_ + static_cast<std::uint64_t>(first / 4), (skipped + now + 3) / 4,
           words.data());
    HWY_DYNAMIC_DISPATCH(choose)(words.data() + skipped, now, most, yes, out);
    first += now, count -= now, out += now;
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
#endif
