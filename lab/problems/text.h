#pragma once

#include "data/char_text.h"
#include "problems/problem.h"
#include "tapegrad/models/transformer_xl.h"

/// A text whose bytes a Transformer-XL predicts, as in Xu et al. 2019, section 2.2.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The bits of every token of a text but the first, summed over segments of `length` tokens. The
/// text is read in `rows` parts side by side, each with a memory that is carried from segment to
/// segment and empty at first; what remains of the text follows with the memory of the last part.
/// Throws ArgumentError for sizes below 1.
std::vector<double> segment_bits(const TransformerXl& net, const Indices& text, Index rows,
                                 Index length);

/// The sizes of the task. The layers follow Xu et al. 2019.
struct TextSizes {
  Index layers = 12;
  Index heads = 4;
  Index channels = 64;
  Index feed_forward = 256;
  double dropout = 0.1;
  Index length = 64;  ///< of a segment, and of the memory in training
  Index rows = 16;    ///< texts read side by side
  Index steps = 1000;
  Index eval_interval = 50;  ///< steps between two validations
  Index watched = 20000;     ///< bytes of each validation
  Index long_memory = 256;   ///< in a second evaluation
  Index warmup = 100;
  double rate = 1e-3;
  double seconds = 240;
};

/// enwik8. One half of what the text holds out is for validation, and the other for the test.
/// Values: "test", in bits per byte, and "test_long", the same with a longer memory than in
/// training. Items are the bits of segments of the test text.
Problem text_problem(const std::string& source, const support::CharText& text,
                     const TextSizes& sizes = {});
/// The text of enwik8, or one that is drawn.
///   short_text: trains on its first bytes alone; validation and test are the same
Problem text_problem(const Origin& origin, Size size, bool short_text);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
