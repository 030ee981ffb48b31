#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The longest n-grams that BLEU counts.
constexpr std::size_t bleu_order = 4;

/// The counts from which BLEU compares a translation with its reference. The counts of a corpus are
/// the sum of the counts of its sentences.
/// Example: `BleuCounts all; all += bleu_counts("a small dog", "a little dog"); bleu(all)`
struct BleuCounts {
  std::array<Index, bleu_order> matches = {};  ///< n-grams that the reference has too, n from 1
  std::array<Index, bleu_order> total = {};    ///< n-grams of the translation
  Index length = 0, reference_length = 0;      ///< in words

  BleuCounts& operator+=(const BleuCounts& more);
};

/// The words of a line as mteval-v13a splits them: marks of punctuation are words of their own, but
/// not a point or a comma within a number. Bytes that are not valid UTF-8 are kept.
/// Example: `bleu_words("It costs 1,000.5 dollars, really.").size()`
std::vector<std::string> bleu_words(std::string_view line);

/// The counts of one sentence. An n-gram matches as often as the reference has it.
/// Example: `bleu_counts("the the the", "the dog").matches[0]`
BleuCounts bleu_counts(std::string_view translation, std::string_view reference);

/// BLEU of a corpus, from 0 to 100 (Papineni et al. 2002): the geometric mean of the precisions of
/// n-grams, times exp(1 - reference_length / length) if the translations are shorter. The k-th n
/// without a match counts 2^-k matches; 0 if no n has any. The same as sacreBLEU (Post 2018)
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp`.
/// Example: `bleu(bleu_counts("a small dog barks", "a small dog barks"))`
double bleu(const BleuCounts& counts);
/// The score of plain text, one segment per line. Throws ArgumentError for different numbers of
/// lines.
double bleu(const std::vector<std::string>& translations,
            const std::vector<std::string>& references);

}  // namespace tapegrad::TAPEGRAD_SCALAR
