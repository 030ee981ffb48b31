#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// An image as people described it: in one language, whose words stand for what is seen, and in
/// another, independently, as captions.
struct DescribedImage {
  std::vector<std::string> descriptions;
  std::vector<std::string> captions;
};

/// Described images for training, validation and the final test. All have the same number of
/// captions.
struct CaptionSets {
  std::string source;  ///< where they come from, for people
  std::vector<DescribedImage> train, validation, test;

  Index captions_of_each() const;
  /// A text that differs for other descriptions or captions for training or validation.
  std::string digest() const;
  /// A text that differs for another test set.
  std::string test_digest() const;
};

/// Reads {train,val,test_2016}.lc.norm.tok.{1..5}.{de,en}, plain or gzipped, from a directory or
/// its folder multi30k-captions: the descriptions are German, the captions English. Throws
/// DataError, naming the file, for one that is missing, and naming file and line for a line without
/// words or without counterpart in the other files.
CaptionSets read_caption_sets(const std::string& directory);

/// Draws images as sets of 6 of 40 attributes. A description names all of them, each of three
/// captions names three of them, in another language and between other words.
CaptionSets draw_caption_sets(std::uint64_t seed);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
