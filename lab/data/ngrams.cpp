#include "data/ngrams.h"

#include <cmath>
#include <vector>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

void expect_texts(const Indices& training, const Indices& text, Index vocabulary) {
  for (const Indices& each : {training, text}) {
    expect<DataError>(each.size() >= 2, "ngrams: {} tokens are too few", each.size());
    for (const Index id : each.values())
      expect(0 <= id && id < vocabulary, "ngrams: token {} of a vocabulary of {}", id, vocabulary);
  }
}

}  // namespace

double unigram_bits(const Indices& training, const Indices& text, Index vocabulary) {
  expect_texts(training, text, vocabulary);
  std::vector<double> counts(vocabulary, 1);
  for (const Index id : training.values()) ++counts[id];
  const double all = training.size() + vocabulary;
  double bits = 0;
  for (const Index id : text.values().subspan(1)) bits -= std::log2(counts[id] / all);
  return bits / (text.size() - 1);
}

double bigram_bits(const Indices& training, const Indices& text, Index vocabulary) {
  expect_texts(training, text, vocabulary);
  std::vector<double> pairs(vocabulary * vocabulary, 1);
  std::vector<double> firsts(vocabulary, static_cast<double>(vocabulary));
  const auto pair = [&](const Indices& ids, Index second) {
    return ids.data()[second - 1] * vocabulary + ids.data()[second];
  };
  const auto first = [](const Indices& ids, Index second) { return ids.data()[second - 1]; };
  for (Index i = 1; i < training.size(); ++i) {
    ++pairs[pair(training, i)];
    ++firsts[first(training, i)];
  }
  double bits = 0;
  for (Index i = 1; i < text.size(); ++i)
    bits -= std::log2(pairs[pair(text, i)] / firsts[first(text, i)]);
  return bits / (text.size() - 1);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
