#pragma once

#include "data/written_digits.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Lines of pen moves for training, validation and the final test.
struct HandwritingSets {
  std::string source;       ///< where they come from, for people
  std::string digest = {};  ///< differs for other drawings or digits for training or validation
  StrokeLineOptions lines = {};
  std::vector<Strokes> drawings = {};  ///< to train on; without any, the program writes digits
  std::vector<WrittenLine> validation = {}, test = {};

  /// The lines of an epoch: the drawings joined anew, in random order and with new noise, or 800
  /// lines of digits.
  std::vector<WrittenLine> train(Random& random) const;
  /// A text that differs for other lines for the test.
  std::string test_digest() const;
};

/// Reads the drawings of `omniglot` or `kanji` from a directory that holds the files
/// NAME.{train,valid,test}.txt[.gz], with NAME omniglot or short_kanji, or a folder stroke3 with
/// them, and joins them into lines of `moves` moves. Those for validation, 64 at most, and for the
/// test are always the same, with the same noise. Throws DataError, naming the file.
HandwritingSets read_handwriting_sets(const std::string& task, const std::string& directory,
                                      Index moves);

/// Writes lines of digits: 64 for validation and 100 for the test.
HandwritingSets write_handwriting_sets(std::uint64_t seed);

/// What densities that know little cost on the test, in nats per move.
struct HandwritingBaselines {
  double one;     ///< a normal distribution of moves, and a Bernoulli distribution of the pen
  double by_pen;  ///< one of each for a pen that was lifted before, and for one that was not
};
/// Fitted to `train`, scored on `test`.
HandwritingBaselines handwriting_baselines(const std::vector<WrittenLine>& train,
                                           const std::vector<WrittenLine>& test);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
