#include "tapegrad/nn/functions/ctc.h"

#include <algorithm>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The logarithm of a probability of 0. It is finite, since the gradient of logsumexp is NaN where
// all its terms are -inf.
constexpr double never = -1e30;

void expect_lengths(const char* what, const Indices& lengths, Index batch, Index least,
                    Index most) {
  expect(lengths.shape() == Shape{batch}, "ctc: {} lengths for a batch of {}: {}", what, batch,
         lengths.shape());
  for (const Index length : lengths.values())
    expect(least <= length && length <= most, "ctc: {} length must lie in [{}, {}]: {}", what,
           least, most, length);
}

void expect_arguments(const Tensor& log_p, const Indices& input_lengths, const CtcTargets& targets,
                      const CtcOptions& options) {
  expect_defined("ctc", log_p, input_lengths);
  expect_defined("ctc", targets.labels, targets.lengths);
  expect(log_p.rank() == 3, "ctc: needs (steps, batch, classes): {}", log_p.shape());
  const Index batch = log_p.shape()[1], classes = log_p.shape()[2];
  const Shape& labels = targets.labels.shape();
  expect(labels.rank() == 2 && labels[0] == batch,
         "ctc: inputs {} need labels (batch, longest target): {}", log_p.shape(), labels);
  expect_lengths("input", input_lengths, batch, 1, log_p.shape()[0]);
  expect_lengths("target", targets.lengths, batch, 0, labels[1]);
  expect(0 <= options.blank && options.blank < classes, "ctc: the blank is not in [0, {}): {}",
         classes, options.blank);
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < targets.lengths.data()[b]; ++i) {
      const Index label = targets.labels.data()[b * labels[1] + i];
      expect(0 <= label && label < classes && label != options.blank,
             "ctc: a label must lie in [0, {}) and not be the blank {}: {}", classes, options.blank,
             label);
    }
}

// The targets with a blank around each label, as states to pass through from first to last. All are
// of the shape (batch, 2 longest target + 1).
struct States {
  Indices labels;
  Tensor skips;  // 1 where the blank before may be skipped: between two different labels
  Tensor first;  // 1 where a path may begin
  Tensor last;   // 1 where a path may end
};

States states_of(const CtcTargets& targets, Index blank) {
  const Index batch = targets.labels.shape()[0], longest = targets.labels.shape()[1];
  const Shape shape{batch, 2 * longest + 1};
  States states{Indices::uninitialized(shape), zeros(shape), zeros(shape), zeros(shape)};
  for (Index b = 0; b < batch; ++b) {
    const Index row = b * shape[1], length = targets.lengths.data()[b];
    std::fill_n(states.labels.mutable_data() + row, shape[1], blank);
    for (Index i = 0; i < length; ++i) {
      const Index* label = targets.labels.data() + b * longest + i;
      states.labels.mutable_data()[row + 2 * i + 1] = *label;
      states.skips.mutable_data()[row + 2 * i + 1] = i > 0 && label[-1] != label[0] ? 1 : 0;
    }
    for (Index i = 0; i < std::min<Index>(2, 2 * length + 1); ++i) {
      states.first.mutable_data()[row + i] = 1;
      states.last.mutable_data()[row + 2 * length - i] = 1;
    }
  }
  return states;
}

// For each step, 1 for the rows whose inputs it belongs to: (steps, batch, 1).
Tensor steps_within(const Indices& lengths, Index steps) {
  Tensor within = zeros({steps, lengths.size(), 1});
  for (Index t = 0; t < steps; ++t)
    for (Index b = 0; b < lengths.size(); ++b)
      within.mutable_data()[t * lengths.size() + b] = t < lengths.data()[b] ? 1 : 0;
  return within;
}

// The states `distance` before, of the same shape.
Tensor before(const Tensor& alpha, Index distance) {
  const Index count = alpha.shape()[1];
  if (distance >= count) return full(alpha.shape(), never);
  return slice(pad(alpha, {{distance, 0}}, never), 1, 0, count);
}

}  // namespace

Tensor ctc(const Tensor& log_p, const Indices& input_lengths, const CtcTargets& targets,
           CtcOptions options, Place place) {
  const PlaceScope caller(place);
  expect_arguments(log_p, input_lengths, targets, options);
  const Index steps = log_p.shape()[0], batch = log_p.shape()[1];
  const States states = states_of(targets, options.blank);
  const Index count = states.labels.shape()[1];

  Indices emitted = Indices::uninitialized({steps, batch, count});
  for (Index t = 0; t < steps; ++t)
    std::copy_n(states.labels.data(), batch * count, emitted.mutable_data() + t * batch * count);
  const Tensor emissions = maximum(gather(log_p, 2, emitted), never);
  const Tensor within = steps_within(input_lengths, steps);

  // alpha: log-probabilities of all paths so far that end in each state.
  Tensor alpha = where(states.first, select(emissions, 0), never);
  for (Index t = 1; t < steps; ++t) {
    const Tensor skipped = where(states.skips, before(alpha, 2), never);
    const Tensor next =
        logsumexp(stack({alpha, before(alpha, 1), skipped}), 0) + select(emissions, t);
    alpha = where(select(within, t), next, alpha);
  }
  const Tensor loss = -logsumexp(where(states.last, alpha, never), -1);

  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor possible = where(loss > -0.5 * never, options.zero_infinity ? 0.0 : infinity, loss);
  if (options.reduction == Reduction::none) return possible;
  if (options.reduction == Reduction::sum) return sum(possible);
  Tensor lengths = ones({batch});
  for (Index b = 0; b < batch; ++b)
    lengths.mutable_data()[b] = static_cast<real>(std::max<Index>(1, targets.lengths.data()[b]));
  return mean(possible / lengths);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
