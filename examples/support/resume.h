#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/flags.h"
#include "tapegrad/nn/checkpoint.h"

namespace tapegrad::support {

/// A hash of data, to tell whether it is what a checkpoint was trained on (FNV-1a).
class Digest {
 public:
  void add(const void* bytes, std::size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string text() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// The notes of the checkpoint that --resume names, whose flags take the place of those that were
/// not given; nothing without --resume. Throws DataError and CLI::ValidationError.
std::map<std::string, std::string> notes_to_resume(const std::string& resume, Flags& flags);

/// Throws CLI::ValidationError unless the notes, if there are any, are of this data.
void expect_same_data(const std::map<std::string, std::string>& notes, const std::string& resume,
                      const std::string& source, const std::string& digest);

}  // namespace tapegrad::support
