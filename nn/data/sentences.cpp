#include "tapegrad/nn/data/sentences.h"

#include <algorithm>
#include <charconv>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"
#include "tapegrad/nn/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Sentence parse(std::string_view line, const std::string& file, Index number) {
  Sentence sentence{-1, words_of(line)};
  const bool several = sentence.words.size() >= 2;
  if (several) {
    const std::string& first = sentence.words.front();
    const auto [end, error] =
        std::from_chars(first.data(), first.data() + first.size(), sentence.label);
    if (error != std::errc() || end != first.data() + first.size()) sentence.label = -1;
  }
  expect<DataError>(several && sentence.label >= 0 && sentence.label < 1000,
                    "{}: line {} is not a label from 0 to 999 followed by words", file, number);
  sentence.words.erase(sentence.words.begin());
  return sentence;
}

// Positions of the sentences, sorted by length. `random`, if given, shuffles equal lengths.
std::vector<Index> by_length(const std::vector<Sentence>& sentences, Random* random) {
  const auto count = static_cast<Index>(sentences.size());
  std::vector<Index> order;
  if (random != nullptr) {
    const Indices shuffled = random->permutation(count);
    order.assign(shuffled.values().begin(), shuffled.values().end());
  } else {
    for (Index i = 0; i < count; ++i) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return sentences[static_cast<std::size_t>(a)].words.size() <
           sentences[static_cast<std::size_t>(b)].words.size();
  });
  return order;
}

SentenceBatch make_batch(const std::vector<const Sentence*>& sentences,
                         const Vocabulary& vocabulary) {
  const auto count = static_cast<Index>(sentences.size());
  const auto longest = static_cast<Index>(sentences.back()->words.size());
  SentenceBatch batch{
      Indices({count, longest}, std::vector<Index>(static_cast<std::size_t>(count * longest), 0)),
      Indices::uninitialized({count}), Indices::uninitialized({count})};
  for (Index i = 0; i < count; ++i) {
    const Sentence& sentence = *sentences[static_cast<std::size_t>(i)];
    batch.lengths.mutable_data()[i] = static_cast<Index>(sentence.words.size());
    batch.labels.mutable_data()[i] = sentence.label;
    Index* row = batch.words.mutable_data() + i * longest;
    for (const std::string& word : sentence.words) *row++ = vocabulary.number(word);
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

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  constexpr const char* blanks = " \t\r";
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::vector<Sentence> read_sentences(const std::filesystem::path& path) {
  const FileBytes file = read_file(path, std::size_t{1} << 30);
  std::string_view text = file.text();
  std::vector<Sentence> sentences;
  for (Index line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    sentences.push_back(parse(text.substr(0, end), path.string(), line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  expect<DataError>(!sentences.empty(), "{}: it has no sentences", path.string());
  return sentences;
}

Vocabulary::Vocabulary(const std::vector<Sentence>& sentences, Index least)
    : Vocabulary(counted(sentences), least) {}

Vocabulary::Vocabulary(const std::map<std::string, Index>& counts, Index least)
    : Vocabulary(frequent(counts, expect_positive("vocabulary", "least", least))) {}

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)) {
  for (const std::string& word : words_) {
    const bool is_new = numbers_.emplace(word, count()).second;
    expect<DataError>(is_new, "vocabulary: a word is there twice: {}", beginning(word));
  }
}

Index Vocabulary::number(const std::string& word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? 1 : found->second;
}

std::vector<SentenceBatch> sentence_batches(const std::vector<Sentence>& sentences,
                                            const Vocabulary& vocabulary, Index tokens,
                                            Random* random) {
  expect_positive("sentence_batches", "tokens", tokens);
  std::vector<SentenceBatch> batches;
  std::vector<const Sentence*> open;
  for (const Index i : by_length(sentences, random)) {
    const Sentence& next = sentences[static_cast<std::size_t>(i)];
    const auto padded = static_cast<Index>((open.size() + 1) * next.words.size());
    if (!open.empty() && padded > tokens) {
      batches.push_back(make_batch(open, vocabulary));
      open.clear();
    }
    open.push_back(&next);
  }
  if (!open.empty()) batches.push_back(make_batch(open, vocabulary));
  if (random == nullptr) return batches;
  std::vector<SentenceBatch> shuffled;
  for (const Index i : random->permutation(static_cast<Index>(batches.size())).values())
    shuffled.push_back(batches[static_cast<std::size_t>(i)]);
  return shuffled;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
