#pragma once

#include "lab/matrix_task.h"
#include "support/translation_sets.h"
#include "tapegrad/models/transformer.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a Transformer learns to translate: as deep as that of Xu et al. 2019, and narrower.
struct TranslationTaskOptions {
  TransformerOptions stack{.layers = 6,
                           .heads = 4,
                           .channels = 64,
                           .feed_forward = 128,
                           .activation = Activation::relu,
                           .dropout = 0.1,
                           .attention_dropout = 0.1,
                           .activation_dropout = 0.1};  ///< the setting chooses its norm
  Index vocabulary = 4000;
  Index batch_tokens = 2048;
  Index epochs = 5;
  Index validations = 4;  ///< in each epoch, as nearly as whole steps allow
  Index warmup = 300;
  double label_smoothing = 0.1;
  Index beam = 5;
  double rate = 2e-3;
  double seconds = 500;
};

/// What each sentence contributes to the BLEU of a corpus, so that the mean over sentences is that
/// BLEU: the jackknife's pseudo-values (Efron 1982), by how much BLEU changes without the sentence.
/// Resampling them comes close to resampling sentences (Koehn 2004), and needs no other bootstrap
/// than that of means. Throws ArgumentError for different numbers of lines.
std::vector<double> bleu_shares(const std::vector<std::string>& translations,
                                const std::vector<std::string>& references);

/// Multi30k: a Transformer translates. The value "test" is BLEU on the first test set; items are
/// the shares of its sentences. BLEU on each further test set has the name of the set. Subwords are
/// learned from both sides of the training set.
///   name: of the `PaperTask`
MatrixTask translation_task(const std::string& name, const support::TranslationSets& sets,
                            const TranslationTaskOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
