#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct Sentence {
  Index label;
  std::vector<std::string> words;
};

/// The parts of a line between blanks.
std::vector<std::string> words_of(std::string_view line);

/// Reads lines of a label from 0 on, a blank and words between blanks; plain or gzipped. Bytes stay
/// as they are. Throws DataError, naming file and line, for a line without label or words.
std::vector<Sentence> read_sentences(const std::filesystem::path& path);

/// Numbers for words: 0 is padding, 1 any word that is not known.
class Vocabulary {
 public:
  /// The words that occur at least `least` times, the most frequent first. Throws ArgumentError
  /// for less than once.
  Vocabulary(const std::vector<Sentence>& sentences, Index least = 2);
  Index count() const { return static_cast<Index>(numbers_.size()) + 2; }
  Index number(const std::string& word) const;

 private:
  std::unordered_map<std::string, Index> numbers_;
};

struct SentenceBatch {
  Indices words;    ///< (B, T), padded with 0 behind the end
  Indices lengths;  ///< (B)
  Indices labels;   ///< (B)
};

/// Batches of sentences of similar length, each of at most `tokens` words with padding, but at
/// least one sentence. With `random`, sentences of equal length and the batches themselves are in
/// random order. Throws ArgumentError for fewer than one word.
std::vector<SentenceBatch> sentence_batches(const std::vector<Sentence>& sentences,
                                            const Vocabulary& vocabulary, Index tokens,
                                            Random* random = nullptr);

}  // namespace tapegrad::TAPEGRAD_SCALAR
