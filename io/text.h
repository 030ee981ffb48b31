#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The distinct bytes of a text in ascending order, numbered from 0.
/// Example: `const Characters characters(read_text("input.txt")); characters.encode("the")`
class Characters {
 public:
  explicit Characters(std::string_view text);

  Index count() const { return static_cast<Index>(bytes_.size()); }
  /// All characters, by number.
  const std::string& bytes() const { return bytes_; }
  /// The number of each byte: (length). Throws DataError, naming byte and position, for an unknown
  /// byte.
  Indices encode(std::string_view text) const;
  /// Throws ShapeError for ids that are undefined or out of range.
  std::string decode(const Indices& ids) const;

 private:
  std::string bytes_;
  std::vector<Index> numbers_;  // by byte; -1: none
};

/// A text cut in two: to train on, and to judge by.
/// Example: `const TextSplit text = split_text(labels, 0.5); text.validation`
struct TextSplit {
  Indices training, validation;
};
/// The first `share` of the ids, rounded down, and the rest. Throws ArgumentError for a share
/// outside of [0, 1).
/// Example: `const auto [training, validation] = split_text(labels, 0.5)`
TextSplit split_text(const Indices& ids, double share = 0.9);

/// (B, T) as (T, B). Throws ShapeError for other ranks.
/// Example: `transposed(ids)`
Indices transposed(const Indices& ids);

/// Tokens, and for each the token that follows it: both (B, T).
/// Example: `const TextBatch batch = random_rows(labels, 2, 3, random); batch.targets`
struct TextBatch {
  Indices inputs, targets;
};

/// Rows of `length` tokens that begin at the given positions of ids. Throws ShapeError for a row
/// that does not end before the last id, and for a length below 1.
/// Example: `text_rows(labels, {0, 1}, 2)`
TextBatch text_rows(const Indices& ids, const std::vector<Index>& begins, Index length);

/// Rows that begin at independent random positions. Throws DataError for fewer than length + 1 ids,
/// ArgumentError for sizes below 1.
/// Example: `const auto [inputs, targets] = random_rows(labels, 2, 3, random)`
TextBatch random_rows(const Indices& ids, Index batch, Index length, Random& random);

/// A text cut into `batch` streams of equal length, which are read in parallel: block i of every
/// stream. Drops what follows the last whole block.
/// Example: `TextStreams(part(labels, 0, 3), 1, 2).block(0)`
class TextStreams {
 public:
  /// Throws DataError if the text is too short for one block, ArgumentError for sizes below 1.
  TextStreams(const Indices& ids, Index batch, Index length);
  Index blocks() const { return blocks_; }
  TextBatch block(Index i) const;

 private:
  Indices ids_;
  Index batch_, length_, blocks_;
};

/// A whole text in consecutive blocks of `length`, in which every token but the first is a target
/// once. The blocks come in groups, and within a group each of at most `rows` rows continues from
/// block to block. The last block may be shorter. Throws ArgumentError for sizes below 1.
/// Example: `text_blocks(labels, 2, 3)`
std::vector<std::vector<TextBatch>> text_blocks(const Indices& ids, Index rows, Index length);

}  // namespace tapegrad::TAPEGRAD_SCALAR
