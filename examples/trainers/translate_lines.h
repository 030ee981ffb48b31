#pragma once

#include <string>
#include <utility>
#include <vector>

#include "problems/translation.h"
#include "tapegrad/train/trainer.h"
#include "trainers/translate_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The subwords of the checkpoint of --resume. Throws DataError, naming it, if they are damaged.
Subwords saved_subwords(const Trainer& trainer);

/// The net that the flags describe.
Translator make_translator(const TranslateFlags& flags, const Subwords& subwords);

/// A picture of where a net looks in the first sentences that it translates.
class AttentionPicture {
 public:
  static constexpr std::size_t most = 4;  ///< sentences

  /// Takes a sentence with its translation, unless there are enough, or it has no words.
  void add(const std::string& line, const std::string& translation);
  /// Throws DataError if it cannot be written.
  void write(const std::string& file, const Translator& net, const Subwords& subwords) const;

 private:
  std::vector<std::pair<std::string, std::string>> sentences_;
};

/// Implements --translate: writes a translation of each line to standard output. Returns the exit
/// code. Throws DataError for a checkpoint that does not fit, and for a line that is too long.
int translate_lines(const TranslateFlags& flags, const Trainer& trainer);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
