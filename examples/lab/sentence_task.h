#pragma once

#include "lab/matrix_task.h"
#include "support/sentence_classifier.h"
#include "support/sentence_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How sentences are classified; the defaults are those of Xu et al. 2019, section 2.2.
struct SentenceTaskOptions {
  support::SentenceNet net = {};
  Index batch_tokens = 4096;
  Index epochs = 10;
  double rate = 1e-3;
  double seconds = 60;
};

/// RT or SST-5: a Transformer encoder classifies sentences. Items are 100 for a right answer, 0
/// for a wrong one. The vocabulary is that of the training part.
///   name: of the `PaperTask`
MatrixTask sentence_task(const std::string& name, const support::SentenceSets& sets,
                         const SentenceTaskOptions& options = {});

/// The same on other splits of the sentences into training, validation and test: a training with
/// seed K has split 1 + K, as split 1 is that of `sentence_task`. Baselines are means over the
/// splits of the fewest seeds.
MatrixTask split_task(const std::string& name,
                      const std::function<support::SentenceSets(std::uint64_t split)>& sets,
                      const SentenceTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
