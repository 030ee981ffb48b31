#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Cuts text into pieces of words that are frequent in a corpus, and numbers them: byte-pair
/// encoding (Sennrich et al. 2016), by SentencePiece. Text is not normalized, but runs of blanks
/// become one. Throws Error in a build without SentencePiece.
class Subwords {
 public:
  /// Padding, an unknown character, and what stands before and after a sentence.
  static constexpr Index pad = 0, unknown = 1, begin = 2, end = 3;

  /// Learns from lines: all of their characters, and the most frequent pieces until there are
  /// `vocabulary`. Throws DataError if there are no characters, or too many for the vocabulary.
  static Subwords learn(const std::vector<std::string>& lines, Index vocabulary);
  /// With the pieces of another one, in order. Throws DataError if they cannot be those.
  explicit Subwords(std::vector<std::string> pieces);

  /// All pieces by number; a word begins with U+2581.
  const std::vector<std::string>& pieces() const { return pieces_; }
  Index count() const { return std::ssize(pieces_); }
  /// The pieces of a text, without begin and end.
  std::vector<Index> encode(const std::string& text) const;
  /// Throws ShapeError for a number out of range.
  std::string decode(const std::vector<Index>& numbers) const;

 private:
  std::vector<std::string> pieces_;
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
