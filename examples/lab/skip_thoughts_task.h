#pragma once

#include "lab/matrix_task.h"
#include "support/books.h"
#include "support/probe_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How vectors of sentences are learned from their neighbours: Ba et al. 2016, section 6.3, with
/// fewer words, units and updates.
struct SkipThoughtsTaskOptions {
  Index vocabulary = 4000, words = 100, hidden = 256;
  Index batch_size = 64;
  Index steps = 1200;
  Index stretch = 100;  ///< steps between two validations; divides `steps`
  Index look = 400;     ///< steps between two looks by probes; a multiple of `stretch`
  double rate = 5e-4;
  double seconds = 280;
};

/// Skip-thoughts on books, judged by probes. Curves and validations are in nats per word. "test" is
/// the mean of what the probes find, in percent: 100 r of SICK, and the accuracies of four
/// classifications. "test_r", "test_rho" and "test_MSE" are those of SICK, and "test_MR" and so on
/// the accuracies. "test_MPQA_together" is that of MPQA with equal phrases in one fold. "untrained"
/// and "untrained_r" ... are the same of the net before its training, and the traces "probed" and
/// "probed_r" ... what probes find in it at step 0 and at each look. "frequencies" is the
/// validation loss of the frequencies of words alone.
MatrixTask skip_thoughts_task(const support::TripletSets& sets, const support::ProbeSets& probes,
                              const SkipThoughtsTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
