#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `const BeamOptions options{.begin = 2, .end = 3, .width = 5}`
struct BeamOptions {
  Index begin;                ///< the token before the first
  Index end;                  ///< the token that ends a sequence
  Index width = 5;            ///< how many prefixes of each sequence are continued; 1: greedy
  double length_penalty = 1;  ///< alpha of the score; 0: none
};

/// A sequence that a search has found.
/// Example: `const Hypothesis best{.tokens = {4, 3}, .log_probability = -1, .score = -0.5}`
struct Hypothesis {
  std::vector<Index> tokens;  ///< `end` included
  double log_probability;
  double score;  ///< log_probability / (number of tokens)^alpha
};

/// The next step of a model: the log-probabilities of the token after each prefix.
///   rows: (N), the row of the call before that each prefix continues; in the first call the
///   sequences, in order   tokens: (N, 1), the last of each prefix   returns (N, vocabulary)
/// A model that keeps caches selects these rows of them first: `AttentionCache::select`.
/// Example: `const BeamStep step = [](auto&, auto&) { return log_softmax(zeros({1, 3})); }`
using BeamStep = std::function<Tensor(const Indices& rows, const Indices& tokens)>;

/// Searches for the sequences of highest score, log p / length^alpha (Wu et al. 2016, section 7,
/// without its coverage; alpha = 1 as in Ott et al. 2019), for several sources side by side. In
/// each step the `width` best continuations of all prefixes of a source are kept; those that end
/// leave the beam. The search ends when no prefix can still reach the `width` best. Of equals, the
/// lower token comes first. With `width` at least vocabulary^longest it finds every sequence.
///   longest: the most tokens for each source, `end` included; the last can only be `end`
///   returns for each source at most `width` hypotheses, the best first; none if all are impossible
/// Throws ArgumentError for a width or a length below 1 and a negative penalty, ShapeError for
/// log-probabilities of another shape, and Error if one is NaN.
/// Example: `beam_search({2}, {0, 1, 1}, [](auto&, auto&) { return zeros({1, 3}); })`
std::vector<std::vector<Hypothesis>> beam_search(const std::vector<Index>& longest,
                                                 const BeamOptions& options, const BeamStep& step);

}  // namespace tapegrad::TAPEGRAD_SCALAR
