#include "tapegrad/nn/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// A sequence without its end.
struct Prefix {
  Index row;  // of the last call of the model
  std::vector<Index> tokens;
  double log_probability;
};

// A prefix with one more token.
struct Candidate {
  std::size_t prefix;
  Index token;
  double log_probability;
};

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return a.token != b.token ? a.token < b.token : a.prefix < b.prefix;
}
bool is_better(const Hypothesis& a, const Hypothesis& b) {
  return a.score != b.score ? a.score > b.score : a.tokens < b.tokens;
}

// Adds `next` to the `most` best, of which the best is first.
template <class T>
void keep_best(std::vector<T>& best, Index most, T next) {
  const auto better = [](const T& a, const T& b) { return is_better(a, b); };
  if (static_cast<Index>(best.size()) == most) {
    if (!is_better(next, best.back())) return;
    best.pop_back();
  }
  best.insert(std::upper_bound(best.begin(), best.end(), next, better), std::move(next));
}

// The search for one source.
class Beam {
 public:
  Beam(Index source, Index longest, const BeamOptions& options)
      : options_(options), longest_(longest), prefixes_{{source, {}, 0}} {}

  const std::vector<Prefix>& prefixes() const { return prefixes_; }
  std::vector<Hypothesis> finished() && { return std::move(finished_); }

  /// log_p: (prefixes, vocabulary)   first_row: the number of the first of these rows
  void advance(std::span<const real> log_p, Index vocabulary, Index first_row) {
    std::vector<Prefix> continued;
    for (const Candidate& each : best_candidates(log_p, vocabulary)) {
      Prefix prefix{first_row + static_cast<Index>(each.prefix), prefixes_[each.prefix].tokens,
                    each.log_probability};
      prefix.tokens.push_back(each.token);
      if (each.token == options_.end)
        keep_best(finished_, options_.width, ended(std::move(prefix)));
      else
        continued.push_back(std::move(prefix));
    }
    prefixes_ = std::move(continued);
    if (is_decided()) prefixes_.clear();
  }

 private:
  std::vector<Candidate> best_candidates(std::span<const real> log_p, Index vocabulary) const {
    const bool is_last = static_cast<Index>(prefixes_.front().tokens.size()) + 1 == longest_;
    const Index first = is_last ? options_.end : 0, last = is_last ? options_.end + 1 : vocabulary;
    std::vector<Candidate> best;
    double least = std::numeric_limits<double>::lowest();  // of what can be among the best
    for (std::size_t i = 0; i < prefixes_.size(); ++i) {
      const real* const row = log_p.data() + static_cast<Index>(i) * vocabulary;
      for (Index token = first; token < last; ++token) {
        const double log_probability = prefixes_[i].log_probability + double{row[token]};
        if (log_probability < least) continue;
        expect<Error>(!std::isnan(log_probability),
                      "beam_search: the log-probability of token {} is NaN", token);
        keep_best(best, options_.width, {i, token, log_probability});
        if (std::ssize(best) == options_.width) least = best.back().log_probability;
      }
    }
    return best;
  }
  double score(double log_probability, Index length) const {
    return log_probability / std::pow(static_cast<double>(length), options_.length_penalty);
  }
  Hypothesis ended(Prefix prefix) const {
    const auto length = static_cast<Index>(prefix.tokens.size());
    return {std::move(prefix.tokens), prefix.log_probability,
            score(prefix.log_probability, length)};
  }
  // Whether no prefix can reach the best: probabilities only fall, and no sequence is longer than
  // the longest.
  bool is_decided() const {
    return prefixes_.empty() ||
           (static_cast<Index>(finished_.size()) == options_.width &&
            score(prefixes_.front().log_probability, longest_) < finished_.back().score);
  }

  const BeamOptions& options_;
  Index longest_;
  std::vector<Prefix> prefixes_;      // the most probable first
  std::vector<Hypothesis> finished_;  // the best first
};

// The rows and tokens of the next call of the model.
struct Call {
  std::vector<Index> rows, tokens;

  Call(const std::vector<Beam>& beams, Index begin) {
    for (const Beam& beam : beams)
      for (const Prefix& prefix : beam.prefixes()) {
        rows.push_back(prefix.row);
        tokens.push_back(prefix.tokens.empty() ? begin : prefix.tokens.back());
      }
  }
};

}  // namespace

std::vector<std::vector<Hypothesis>> beam_search(const std::vector<Index>& longest,
                                                 const BeamOptions& options, const BeamStep& step) {
  expect_positive("beam_search", "width", options.width);
  expect<ArgumentError>(options.length_penalty >= 0,
                        "beam_search: length_penalty must not be negative: {}",
                        options.length_penalty);
  std::vector<Beam> beams;
  for (const Index each : longest)
    beams.emplace_back(static_cast<Index>(beams.size()),
                       expect_positive("beam_search", "longest", each), options);
  for (Call call(beams, options.begin); !call.rows.empty(); call = Call(beams, options.begin)) {
    const auto count = static_cast<Index>(call.rows.size());
    const Tensor log_p = step(Indices({count}, call.rows), Indices({count, 1}, call.tokens));
    expect(log_p.shape().rank() == 2 && log_p.shape()[0] == count && 0 <= options.end &&
               options.end < log_p.shape()[1],
           "beam_search: needs the log-probabilities ({}, vocabulary) with token {}: {}", count,
           options.end, log_p.shape());
    const Index vocabulary = log_p.shape()[1];
    Index row = 0;
    for (Beam& beam : beams) {
      const auto rows = static_cast<Index>(beam.prefixes().size());
      if (rows == 0) continue;
      beam.advance({log_p.data() + row * vocabulary, static_cast<std::size_t>(rows * vocabulary)},
                   vocabulary, row);
      row += rows;
    }
  }
  std::vector<std::vector<Hypothesis>> found;
  for (Beam& beam : beams) found.push_back(std::move(beam).finished());
  return found;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
