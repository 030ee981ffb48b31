#include "tapegrad/io/sentences.h"

#include <algorithm>
#include <charconv>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/batches.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Sentence parse(std::vector<std::string> words_of_line, Index least_words, const std::string& file,
               Index number) {
  Sentence sentence{-1, std::move(words_of_line)};
  if (!sentence.words.empty()) {
    const std::string& first = sentence.words.front();
    const auto [end, error] =
        std::from_chars(first.data(), first.data() + first.size(), sentence.label);
    if (error != std::errc() || end != first.data() + first.size()) sentence.label = -1;
  }
  const auto words = static_cast<Index>(sentence.words.size()) - 1;  // the first is the label
  expect<DataError>(words >= least_words && sentence.label >= 0 && sentence.label < 1000,
                    "{}: line {} is not a label from 0 to 999 followed by words", file, number);
  sentence.words.erase(sentence.words.begin());
  return sentence;
}

Indices zero_indices(const Shape& shape) {
  return Indices(shape, std::vector<Index>(static_cast<std::size_t>(shape.size()), 0));
}

// Writes the numbers of words from `row` on.
void number(const std::vector<std::string>& words, const Vocabulary& vocabulary, Index* row) {
  for (const std::string& word : words) *row++ = vocabulary.number(word);
}

// The sentences at these positions, of which the last is the longest.
SentenceBatch make_batch(const std::vector<Sentence>& sentences, const std::vector<Index>& chosen,
                         const Vocabulary& vocabulary) {
  const auto at = [&](Index i) -> const Sentence& {
    return sentences[static_cast<std::size_t>(i)];
  };
  const auto count = static_cast<Index>(chosen.size());
  const auto longest = static_cast<Index>(at(chosen.back()).words.size());
  SentenceBatch batch{zero_indices({count, longest}), Indices::uninitialized({count}),
                      Indices::uninitialized({count})};
  for (Index i = 0; i < count; ++i) {
    const Sentence& sentence = at(chosen[static_cast<std::size_t>(i)]);
    batch.lengths.mutable_data()[i] = static_cast<Index>(sentence.words.size());
    batch.labels.mutable_data()[i] = sentence.label;
    number(sentence.words, vocabulary, batch.words.mutable_data() + i * longest);
  }
  return batch;
}

std::map<std::string, Index> counted(const std::vector<Sentence>& sentences) {
  std::map<std::string, Index> counts;
  for (const Sentence& sentence : sentences)
    for (const std::string& word : sentence.words) ++counts[word];
  return counts;
}

// The words that occur at least `least` times, the most frequent first.
std::vector<std::string> frequent(const std::map<std::string, Index>& counts, Index least) {
  std::vector<std::pair<Index, std::string>> ordered;
  for (const auto& [word, times] : counts)
    if (times >= least) ordered.emplace_back(-times, word);
  std::sort(ordered.begin(), ordered.end());
  std::vector<std::string> words;
  for (auto& [times, word] : ordered) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::vector<Sentence> read_sentences(const std::filesystem::path& path, Index least_words) {
  expect_not_negative("read_sentences", "least_words", least_words);
  std::vector<Sentence> sentences;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    Sentence sentence = parse(lines.words(*line), least_words, path.string(), lines.number());
    // Also what a batch has of it: a number for each word, its length and its label.
    lines.keep(in_growing_vector<Sentence> + (sentence.words.size() + 2) * sizeof(Index));
    sentences.push_back(std::move(sentence));
  }
  expect<DataError>(!sentences.empty(), "{}: it has no sentences", path.string());
  return sentences;
}

Vocabulary::Vocabulary(const std::vector<Sentence>& sentences, Index least)
    : Vocabulary(counted(sentences), least) {}

Vocabulary::Vocabulary(const std::map<std::string, Index>& counts, Index least)
    : Vocabulary(of(frequent(counts, expect_positive("vocabulary", "least", least)))) {}

Vocabulary Vocabulary::of(std::vector<std::string> words) {
  Vocabulary vocabulary;
  for (const std::string& word : words) {
    const bool is_new = vocabulary.numbers_.emplace(word, vocabulary.count()).second;
    expect<DataError>(is_new, "vocabulary: a word is there twice: {}", beginning(word));
  }
  vocabulary.words_ = std::move(words);
  return vocabulary;
}

Vocabulary Vocabulary::most_frequent(const std::map<std::string, Index>& counts, Index most) {
  expect_positive("vocabulary", "most", most);
  std::vector<std::string> words = frequent(counts, 1);
  if (static_cast<Index>(words.size()) > most) words.resize(static_cast<std::size_t>(most));
  return of(std::move(words));
}

Index Vocabulary::number(const std::string& word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? 1 : found->second;
}

SentenceBatch ended_batch(const Vocabulary& vocabulary,
                          const std::vector<std::vector<std::string>>& sentences) {
  const auto count = static_cast<Index>(sentences.size());
  SentenceBatch batch{{}, Indices::uninitialized({count}), {}};
  Index longest = 0;
  for (Index i = 0; i < count; ++i) {
    const auto words = static_cast<Index>(sentences[static_cast<std::size_t>(i)].size());
    longest = std::max(longest, batch.lengths.mutable_data()[i] = words + 1);
  }
  batch.words = zero_indices({count, longest});
  for (Index i = 0; i < count; ++i)
    number(sentences[static_cast<std::size_t>(i)], vocabulary,
           batch.words.mutable_data() + i * longest);
  return batch;
}

std::vector<SentenceBatch> sentence_batches(const std::vector<Sentence>& sentences,
                                            const Vocabulary& vocabulary, Index tokens,
                                            Random* random) {
  expect_positive("sentence_batches", "tokens", tokens);
  std::vector<ExampleLengths> lengths;
  for (const Sentence& sentence : sentences)
    lengths.push_back({static_cast<Index>(sentence.words.size()), 0});
  std::vector<SentenceBatch> batches;
  for (const std::vector<Index>& chosen : batches_by_length(lengths, tokens, random))
    batches.push_back(make_batch(sentences, chosen, vocabulary));
  return batches;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
