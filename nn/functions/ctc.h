#pragma once

#include "tapegrad/nn/functions/loss.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Sequences of labels, padded to one length.
/// Example: `const CtcTargets targets{ids, Indices({2}, {5, 3})}`
struct CtcTargets {
  Indices labels;   ///< (B, S), in [0, C) and never the blank; those from a length on are ignored
  Indices lengths;  ///< (B), each in [0, S]
};
struct CtcOptions {
  Index blank = 0;             ///< the class that stands for no label
  bool zero_infinity = false;  ///< a target too long for its input has loss 0 instead of infinity
  Reduction reduction = Reduction::mean;
};
/// Connectionist temporal classification: -log of the probability that the steps of an input, with
/// repeated labels merged and blanks then removed, spell its target (Graves et al. 2006, equations
/// 3, 6 and 7, in log space). torch's ctc_loss, whose mean divides each loss by the length of its
/// target, at least 1.
///   log_p: (T, B, C), such as from log_softmax   input_lengths: (B), each in [1, T]
///   returns () or (B)
/// Where the loss is infinite, the gradient is 0 (in PyTorch NaN, unless zero_infinity). Throws
/// ShapeError for shapes, lengths and labels that do not fit.
/// Elsewhere: `F.ctc_loss`
/// Example: `ctc(steps, {{2}, {5, 4}}, {{{2, 1}, {3, 1}}, {{2}, {1, 1}}}, {.blank = 5})`
Tensor ctc(const Tensor& log_p, const Indices& input_lengths, const CtcTargets& targets,
           CtcOptions options = {}, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
