#include "tapegrad/ops/kernels/rotary.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// turns (steps, pairs of a head, 2): cosines and sines.
void find_turns(const Rotary& rotary, Index pairs, double direction, real* turns) {
  for (Index t = 0; t < rotary.steps; ++t)
    for (Index i = 0; i < pairs; ++i) {
      const double frequency =
          std::pow(rotary.base, -static_cast<double>(i) / static_cast<double>(pairs));
      const double angle = static_cast<double>(rotary.first + t) * frequency;
      turns[2 * (t * pairs + i)] = static_cast<real>(std::cos(angle));
      turns[2 * (t * pairs + i) + 1] = static_cast<real>(direction * std::sin(angle));
    }
}

}  // namespace

void rotate(const Rotary& rotary, double direction, const real* x, real* y) {
  const Index steps = rotary.steps, channels = rotary.channels;
  const Index rows = rotary.batch * steps, pairs = channels / rotary.heads / 2;
  count_pass(rows * channels, rows * channels);
  const Scratch turns(steps * pairs * 2);
  find_turns(rotary, pairs, direction, turns.data());
  const Index grain = std::max<Index>(1, elements_per_tile / std::max<Index>(1, channels));
  parallel_ranges(rows, grain, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      const real* angles = turns.data() + row % steps * pairs * 2;
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
