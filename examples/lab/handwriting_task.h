#pragma once

#include "lab/matrix_task.h"
#include "support/handwriting_net.h"
#include "support/handwriting_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a net learns to write by hand: Ba et al. 2016, section 6.5, with fewer units and updates.
struct HandwritingTaskOptions {
  HandwritingSynthesisOptions model{
      .net = {.layers = 3, .hidden = 96, .components = 8}, .bumps = 5, .advance = 0.057};
  Index batch_size = 8;
  Index steps = 600;
  Index stretch = 25;  ///< steps between two validations; divides `steps`
  double rate = 1e-3;
  double seconds = 27;
};

/// Drawings of Omniglot or Kanji, which a net predicts, or lines of written digits, whose texts it
/// reads: three LSTMs with a mixture density, without normalization and with the paper's.
///   name: of the paper's task: "omniglot", "kanji" or "written_digits"
/// Values: "test", in nats per move; "largest_gradient", the largest norm of a gradient before
/// clipping; the trace "gradient_norm" has the largest since the validation before. Items are the
/// costs of lines, divided by the mean number of their moves.
MatrixTask handwriting_task(const std::string& name, const support::HandwritingSets& sets,
                            const HandwritingTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
