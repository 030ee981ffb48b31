#pragma once

#include <span>
#include <variant>

#include "support/written_digits.h"
#include "tapegrad/zoo/handwriting.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The number of characters of texts: digits.
constexpr Index digit_count = 10;

/// Lines side by side, as nets read them.
struct HandwritingBatch {
  StrokeBatch strokes;
  Tensor text;  ///< (B, U, 10), one-hot; undefined if lines say nothing

  Index rows() const { return strokes.lengths.size(); }
  /// The moves of all lines, without padding.
  double moves() const;
  /// 1 for moves and 0 for padding, (T, B).
  Tensor counted() const;
};
/// Throws ArgumentError without lines.
HandwritingBatch handwriting_batch(std::span<const WrittenLine> lines);

/// Lines in batches of `size`, in their order; those that fill none are left out.
std::vector<std::vector<WrittenLine>> line_batches(const std::vector<WrittenLine>& lines,
                                                   Index size);
/// Lines that say nothing.
std::vector<WrittenLine> without_text(std::vector<WrittenLine> lines);
/// The moves of all lines.
double moves_of(std::span<const WrittenLine> lines);

/// Digits as a net reads them, (1, U, 10).
Tensor text_of(const std::vector<Index>& digits);

/// A net that predicts lines, or one that writes their texts.
struct HandwritingNet {
  std::variant<HandwritingPredictor, HandwritingSynthesis> net;

  /// with_text: whether it writes texts
  HandwritingNet(bool with_text, Random& random, const HandwritingSynthesisOptions& options);
  /// The mean of -log p of the moves in nats, without padding.
  Tensor nll(const HandwritingBatch& batch, Mode mode = {}) const;
  /// -log p of all moves of these lines, in nats.
  double cost(std::span<const WrittenLine> lines) const;
  void visit(Fields& field) const {
    std::visit([&](const auto& one) { one.visit(field); }, net);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
