#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/lines.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `const Sentence sentence{.label = 1, .words = words_of("the dogs run")}`
struct Sentence {
  Index label;
  std::vector<std::string> words;
};

/// Reads a file, plain or gzipped, whose lines are a label (from 0), a blank and words separated by
/// blanks. Bytes are kept as they are. Throws DataError, naming file and line, for a line without
/// label or with fewer than `least_words` words.
/// Example: `const std::vector<Sentence> sentences = read_sentences("sentences.txt")`
std::vector<Sentence> read_sentences(const std::filesystem::path& path, Index least_words = 1);

/// Numbers the words: 0 is padding, 1 any unknown word.
/// Example: `Vocabulary(read_sentences("sentences.txt"), 1).number("dogs")`
class Vocabulary {
 public:
  /// The words that occur at least `least` times, the most frequent first. Throws ArgumentError if
  /// `least` is below 1.
  Vocabulary(const std::vector<Sentence>& sentences, Index least = 2);
  /// Takes words with the numbers of times that they occur.
  Vocabulary(const std::map<std::string, Index>& counts, Index least);
  /// A vocabulary of these words, in their order. Throws DataError for a word that is there twice.
  static Vocabulary of(std::vector<std::string> words);
  /// The `most` most frequent words; of equally frequent ones, the first by the alphabet. Throws
  /// ArgumentError if `most` is below 1.
  static Vocabulary most_frequent(const std::map<std::string, Index>& counts, Index most);

  Index count() const { return static_cast<Index>(numbers_.size()) + 2; }
  Index number(const std::string& word) const;
  /// The words with numbers of their own, from 2 on.
  const std::vector<std::string>& words() const& { return words_; }
  std::vector<std::string> words() && { return std::move(words_); }

 private:
  Vocabulary() = default;

  std::vector<std::string> words_;
  std::unordered_map<std::string, Index> numbers_;
};

/// Example: `SentenceBatch batch{.words = ids, .lengths = Indices({2}, {5, 3}), .labels = {}}`
struct SentenceBatch {
  Indices words;    ///< (B, T), padded with 0 after the end
  Indices lengths;  ///< (B)
  Indices labels;   ///< (B)
};

/// Sentences side by side, in their order, each with a 0 at its end, which counts as a word. There
/// are no labels.
/// Example: `ended_batch(Vocabulary::of({"the", "dogs"}), {{"the", "dogs"}, {}}).lengths`
SentenceBatch ended_batch(const Vocabulary& vocabulary,
                          const std::vector<std::vector<std::string>>& sentences);

/// Batches of sentences of similar length. Each has at most `tokens` words, including padding, but
/// at least one sentence. `random` shuffles sentences of equal length and the batches. Throws
/// ArgumentError if `tokens` is below 1.
/// Example: `auto all = read_sentences("sentences.txt"); sentence_batches(all, Vocabulary(all), 9)`
std::vector<SentenceBatch> sentence_batches(const std::vector<Sentence>& sentences,
                                            const Vocabulary& vocabulary, Index tokens,
                                            Random* random = nullptr);

}  // namespace tapegrad::TAPEGRAD_SCALAR
