#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include "peak.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<real>;
constexpr Index chains = 12;  // independent, and more than a processor keeps in flight

Index flops_of_round() { return 2 * chains * static_cast<Index>(hn::Lanes(Tag())); }

real run_chains(Index rounds) {
  const Tag d;
  hn::Vec<Tag> sums[chains];
  for (auto& sum : sums) sum = hn::Set(d, real{1});
  const auto factor = hn::Set(d, real{0.5});
  for (Index i = 0; i < rounds; ++i)
    for (auto& sum : sums) sum = hn::MulAdd(sum, factor, factor);
  for (Index i = 1; i < chains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

real add_up(const real* x, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  hn::Vec<Tag> sums[8];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (Index i = 0; i + 8 * lanes <= count; i += 8 * lanes)
    for (Index j = 0; j < 8; ++j) sums[j] = hn::Add(sums[j], hn::LoadU(d, x + i + j * lanes));
  for (Index j = 1; j < 8; ++j) sums[0] = hn::Add(sums[0], sums[j]);
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

}  // namespace

Index round_here() { return flops_of_round(); }
real chains_here(Index rounds) { return run_chains(rounds); }
real sum_here(const real* x, Index count) { return add_up(x, count); }

}  // namespace tapegrad::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::bench {
HWY_EXPORT(round_here);
HWY_EXPORT(chains_here);
HWY_EXPORT(sum_here);

double multiply_adds(Index rounds) {
  [[maybe_unused]] static volatile real kept;
  kept = HWY_DYNAMIC_DISPATCH(chains_here)(rounds);
  return static_cast<double>(rounds * HWY_DYNAMIC_DISPATCH(round_here)());
}

real sum_of(const real* x, Index count) { return HWY_DYNAMIC_DISPATCH(sum_here)(x, count); }

}  // namespace tapegrad::bench
#endif
