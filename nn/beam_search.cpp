#include "tapegrad/nn/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

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
  Index prefix;
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
  const bool is_full = std::ssize(best) == most;
  if (is_full && !is_better(next, best.back())) return;
  if (is_full) best.pop_back();
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
  void advance(const real* log_p, Index vocabulary, Index first_row) {
    std::vector<Prefix> continued;
    for (const Candidate& each : best_candidates(log_p, vocabulary)) {
      Prefix prefix{first_row + each.prefix, prefixes_[each.prefix].tokens, each.log_probability};
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
  std::vector<Candidate> best_candidates(const real* log_p, Index vocabulary) const {
    const bool is_last = std::ssize(prefixes_.front().tokens) + 1 == longest_;
    const Index first = is_last ? options_.end : 0, last = is_last ? options_.end + 1 : vocabulary;
    std::vector<Candidate> best;
    // What a token needs to be among the best, or a little less, since sums are rounded.
    const auto least_after = [&](double before) {
      if (std::ssize(best) < options_.width) return std::numeric_limits<real>::lowest();
      const double worst = best.back().log_probability;
      return static_cast<real>(worst - before - 1e-12 * std::abs(worst));
    };
    for (Index i = 0; i < std::ssize(prefixes_); ++i) {
      const real* const row = log_p + i * vocabulary;
      const double before = prefixes_[i].log_probability;
      real least = least_after(before);
      for (Index token = first; token < last; ++token) {
        if (row[token] < least) continue;
        const Candidate next{i, token, before + double{row[token]}};
        expect<Error>(!std::isnan(next.log_probability),
                      "beam_search: the log-probability of token {} is NaN", next.token);
        keep_best(best, options_.width, next);
        least = least_after(before);
      }
    }
    return best;
  }
  double score(double log_probability, Index length) const {
    return log_probability / std::pow(static_cast<double>(length), options_.length_penalty);
  }
  Hypothesis ended(Prefix prefix) const {
    const double reached = score(prefix.log_probability, std::ssize(prefix.tokens));
    return {std::move(prefix.tokens), prefix.log_probability, reached};
  }
  // Whether no prefix can reach the best: probabilities only fall, and no sequence is longer than
  // the longest.
  bool is_decided() const {
    return prefixes_.empty() ||
           (std::ssize(finished_) == options_.width &&
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
    beams.emplace_back(std::ssize(beams), expect_positive("beam_search", "longest", each), options);
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
      beam.advance(log_p.data() + row * vocabulary, vocabulary, row);
      row += rows;
    }
  }
  std::vector<std::vector<Hypothesis>> found;
  for (Beam& beam : beams) found.push_back(std::move(beam).finished());
  return found;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
