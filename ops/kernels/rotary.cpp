#include "tapegrad/ops/kernels/rotary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The positions that occur, in ascending order.
std::vector<Index> distinct_positions(const Rotary& rotary) {
  if (rotary.positions == nullptr) {
    std::vector<Index> steps(static_cast<std::size_t>(rotary.steps));
    std::iota(steps.begin(), steps.end(), rotary.first);
    return steps;
  }
  std::vector<Index> distinct(rotary.positions, rotary.positions + rotary.batch * rotary.steps);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

// turns (positions, pairs of a head, 2): cosines and sines.
void find_turns(const std::vector<Index>& positions, double base, Index pairs, double direction,
                real* turns) {
  for (const Index position : positions)
    for (Index i = 0; i < pairs; ++i) {
      const double frequency = std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
      const double angle = static_cast<double>(position) * frequency;
      *turns++ = static_cast<real>(std::cos(angle));
      *turns++ = static_cast<real>(direction * std::sin(angle));
    }
}

}  // namespace

void rotate(const Rotary& rotary, double direction, const real* x, real* y) {
  const Index steps = rotary.steps, channels = rotary.channels;
  const Index rows = rotary.batch * steps, pairs = channels / rotary.heads / 2;
  count_pass(rows * channels, rows * channels);
  const std::vector<Index> positions = distinct_positions(rotary);
  const Scratch turns(static_cast<Index>(positions.size()) * pairs * 2);
  find_turns(positions, rotary.base, pairs, direction, turns.data());
  const auto turn_of = [&](Index row) -> Index {
    if (rotary.positions == nullptr) return row % steps;
    return std::lower_bound(positions.begin(), positions.end(), rotary.positions[row]) -
           positions.begin();
  };
  const Index grain = std::max<Index>(1, elements_per_tile / std::max<Index>(1, channels));
  parallel_ranges(rows, grain, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const real* angles = turns.data() + turn_of(row) * pairs * 2;
      for (Index pair = 0; pair < channels / 2; ++pair) {
        const real c = angles[pair % pairs * 2], s = angles[pair % pairs * 2 + 1];
        const Index at = row * channels + 2 * pair;
        y[at] = x[at] * c - x[at + 1] * s;
        y[at + 1] = x[at] * s + x[at + 1] * c;
      }
    }
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
