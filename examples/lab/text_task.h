#pragma once

#include "lab/matrix_task.h"
#include "support/char_text.h"
#include "tapegrad/models/transformer_xl.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// How a Transformer-XL learns a text. The layers are those of Xu et al. 2019.
struct TextTaskOptions {
  Index layers = 12;
  Index heads = 4;
  Index channels = 64;
  Index feed_forward = 256;
  double dropout = 0.1;
  Index length = 64;  ///< of a segment, and of the memory in training
  Index rows = 16;    ///< texts read side by side
  Index steps = 1000;
  Index stretch = 50;       ///< steps between two validations; divides `steps`
  Index watched = 20000;    ///< bytes of each validation
  Index long_memory = 256;  ///< in a second evaluation
  Index warmup = 100;
  double rate = 1e-3;
  double seconds = 240;
};

/// enwik8: a Transformer-XL predicts the bytes of a text. One half of what the text holds out is
/// for validation, and the other for the test. Values: "test", in bits per byte, and "test_long",
/// the same with a longer memory than in training. Items are the bits of segments of the test text.
///   name: of the `PaperTask`
MatrixTask text_task(const std::string& name, const std::string& source,
                     const support::CharText& text, const TextTaskOptions& options = {});

/// The bits of every token of a text but the first, summed over segments of `length` tokens. The
/// text is read in `rows` parts side by side, each with a memory that is carried from segment to
/// segment and empty at first; what remains of the text follows with the memory of the last part.
/// Throws ArgumentError for sizes below 1.
std::vector<double> segment_bits(const TransformerXl& net, const Indices& text, Index rows,
                                 Index length);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
