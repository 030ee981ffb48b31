#include "tapegrad/nn/beam_search.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

constexpr Index word_count = 4, begin_token = 0, end_token = 2;
using Tokens = std::vector<Index>;

// A model whose probabilities depend on the source and on all tokens so far.
class Model {
 public:
  explicit Model(double spread) : spread_(spread) {}

  Tensor next(Index source, const Tokens& prefix) const {
    Random random = Random(5).stream(static_cast<std::uint64_t>(source));
    for (const Index token : prefix) random = random.stream(static_cast<std::uint64_t>(token));
    return log_softmax(random.normal({word_count}, 0, spread_));
  }

  // A model for `beam_search`. It keeps the prefix of each row, as a net keeps its caches.
  BeamStep step(Index first_source = 0) const {
    return [this, first_source, prefixes = std::vector<std::pair<Index, Tokens>>()](
               const Indices& rows, const Indices& tokens) mutable {
      std::vector<std::pair<Index, Tokens>> selected;
      Tensor log_p = Tensor::uninitialized({rows.size(), word_count});
      for (Index i = 0; i < rows.size(); ++i) {
        const Index row = rows.data()[i], token = tokens.data()[i];
        if (prefixes.empty()) {
          CHECK(token == begin_token);
          selected.push_back({first_source + row, {}});
        } else {
          selected.push_back(prefixes[static_cast<std::size_t>(row)]);
          selected.back().second.push_back(token);
        }
        const Tensor own = next(selected.back().first, selected.back().second);
        std::copy_n(own.data(), word_count, log_p.mutable_data() + i * word_count);
      }
      prefixes = std::move(selected);
      return log_p;
    };
  }

 private:
  double spread_;
};

// Every sequence of at most `longest` tokens, with its score.
void enumerate(const Model& model, Index source, Index longest, double alpha,
               const Hypothesis& prefix, std::vector<Hypothesis>& all) {
  const Tensor log_p = model.next(source, prefix.tokens);
  for (Index token = 0; token < word_count; ++token) {
    Hypothesis next = prefix;
    next.tokens.push_back(token);
    next.log_probability += double{log_p.data()[token]};
    const auto length = static_cast<double>(next.tokens.size());
    next.score = next.log_probability / std::pow(length, alpha);
    if (token == end_token)
      all.push_back(next);
    else if (static_cast<Index>(next.tokens.size()) < longest)
      enumerate(model, source, longest, alpha, next, all);
  }
}

Tokens greedy(const Model& model, Index source, Index longest) {
  Tokens tokens;
  while (tokens.empty() || tokens.back() != end_token) {
    const Tensor log_p = model.next(source, tokens);
    const bool is_last = static_cast<Index>(tokens.size()) + 1 == longest;
    const auto best = std::max_element(log_p.data(), log_p.data() + word_count) - log_p.data();
    tokens.push_back(is_last ? end_token : best);
  }
  return tokens;
}

void check_equal(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].tokens == expected[i].tokens);
    CHECK(found[i].log_probability == expected[i].log_probability);
    CHECK(found[i].score == expected[i].score);
  }
}

BeamOptions options(Index width, double alpha = 1) {
  return {.begin = begin_token, .end = end_token, .width = width, .length_penalty = alpha};
}

}  // namespace

TEST_CASE("a beam as wide as all prefixes finds every sequence", "[beam]") {
  constexpr Index longest = 4, width = 256;  // vocabulary^longest
  for (const double alpha : {0.0, 0.6, 1.0, 2.0}) {
    const Model model(2);
    std::vector<Hypothesis> all;
    enumerate(model, 0, longest, alpha, {{}, 0, 0}, all);
    CHECK(all.size() == 1 + 3 + 9 + 27);
    std::stable_sort(all.begin(), all.end(),
                     [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    check_equal(beam_search({longest}, options(width, alpha), model.step())[0], all);
  }
}

TEST_CASE("a search goes on while a prefix can reach the best, and no longer", "[beam]") {
  // The first token ends with probability 0.55 and is token 1 with 0.4; the second ends with 0.55.
  // Then token 1 is certain, and after four tokens the end.
  for (const Index certain : {Index{1}, end_token}) {
    Index calls = 0;
    const auto step = [&](const Indices& rows, const Indices&) {
      Tensor p = zeros({rows.size(), word_count});
      for (Index i = 0; i < rows.size(); ++i) {
        real* row = p.mutable_data() + i * word_count;
        row[1] = calls == 0 ? real(0.4) : calls == 1 ? real(0.45) : calls < 4 ? real{1} : real{0};
        row[end_token] = calls == 0 ? real(0.55) : real{1} - row[1];
        if (calls >= 2 && certain == end_token) row[1] = real(1e-30), row[end_token] = 1;
      }
      ++calls;
      return log(p);
    };
    const auto found = beam_search({5}, options(2), step)[0];
    if (certain == 1) {
      CHECK(found[0].tokens == Tokens{1, 1, 1, 1, end_token});
      CHECK(found[0].score == Approx((std::log(0.4) + std::log(0.45)) / 5));
      CHECK(calls == 5);
    } else {
      CHECK(found[0].tokens == Tokens{1, 1, end_token});
      CHECK(calls == 3);
    }
  }
}

TEST_CASE("a beam of one is greedy", "[beam]") {
  const Model model(1);
  for (Index source = 0; source < 50; ++source) {
    const auto found = beam_search({7}, options(1), model.step(source));
    REQUIRE(found[0].size() == 1);
    CHECK(found[0][0].tokens == greedy(model, source, 7));
  }
}

TEST_CASE("sources side by side are searched as if alone", "[beam]") {
  const Model model(1.5);
  const std::vector<Index> longest{3, 8, 1, 5, 8, 2};
  const auto together = beam_search(longest, options(3), model.step());
  for (std::size_t i = 0; i < longest.size(); ++i) {
    const auto source = static_cast<Index>(i);
    check_equal(together[i], beam_search({longest[i]}, options(3), model.step(source))[0]);
    CHECK(static_cast<Index>(together[i].front().tokens.size()) <= longest[i]);
    CHECK(together[i].front().tokens.back() == end_token);
  }
}

TEST_CASE("of equally good sequences the lower tokens come first", "[beam]") {
  const auto even = [](const Indices& rows, const Indices&) {
    return log_softmax(zeros({rows.size(), word_count}));
  };
  const auto found = beam_search({2}, options(4, 0), even)[0];
  REQUIRE(found.size() == 4);
  CHECK(found[0].tokens == Tokens{end_token});
  for (const Index first : {0, 1, 3})
    CHECK(found[static_cast<std::size_t>(first == 3 ? 3 : first + 1)].tokens ==
          Tokens{first, end_token});
  const auto narrow = beam_search({2}, options(2, 0), even)[0];  // leaves no room for the end
  REQUIRE(narrow.size() == 2);
  CHECK(narrow[0].tokens == Tokens{0, end_token});
  CHECK(narrow[1].tokens == Tokens{1, end_token});
}

TEST_CASE("impossible tokens are never chosen", "[beam]") {
  constexpr auto never = -std::numeric_limits<real>::infinity();
  const auto only_token_1 = [&](const Indices& rows, const Indices&) {
    Tensor log_p = Tensor::uninitialized({rows.size(), word_count});
    for (Index i = 0; i < log_p.size(); ++i)
      log_p.mutable_data()[i] = i % word_count == 1 ? real{0} : never;
    return log_p;
  };
  CHECK(beam_search({3}, options(2), only_token_1)[0].empty());
}

TEST_CASE("a search refuses what it cannot do", "[beam]") {
  const Model model(1);
  CHECK(beam_search({}, options(2), model.step()).empty());
  CHECK_THROWS_WITH(beam_search({2}, options(0), model.step()), Contains("width must be"));
  CHECK_THROWS_WITH(beam_search({2, 0}, options(1), model.step()), Contains("longest must be"));
  CHECK_THROWS_WITH(beam_search({2}, options(1, -1), model.step()), Contains("length_penalty"));
  const auto shape = [](const Indices&, const Indices&) { return zeros({1, 2}); };
  CHECK_THROWS_WITH(beam_search({2}, options(1), shape),
                    Contains("beam_search: needs the log-probabilities (1, vocabulary) with token "
                             "2: (1, 2)"));
  const auto nan_scores = [](const Indices&, const Indices&) {
    return Tensor({1, 4}, {0, std::numeric_limits<real>::quiet_NaN(), 0, 0});
  };
  CHECK_THROWS_WITH(beam_search({2}, options(1), nan_scores), Contains("token 1 is NaN"));
}
