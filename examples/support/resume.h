#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/flags.h"
#include "tapegrad/core/error.h"
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
/// not given; nothing without --resume. Warns on standard error of a training that went with
/// another instruction set. Throws DataError and CLI::ValidationError.
std::map<std::string, std::string> notes_to_resume(const std::string& resume, Flags& flags);

/// What `parse` makes of a note of the checkpoint `resume`. Throws DataError, naming both, for a
/// note that is missing or damaged.
template <class Parse>
auto parsed_note(const std::map<std::string, std::string>& notes, const std::string& name,
                 const std::string& resume, const Parse& parse) {
  const auto note = notes.find(name);
  expect<DataError>(note != notes.end(), "{}: it has no note {}", resume, name);
  try {
    return parse(note->second);
  } catch (const Json::exception&) {
    throw DataError(fmt::format("{}: its note {} is damaged: {}", resume, name, note->second));
  }
}

/// Throws CLI::ValidationError unless the notes, if there are any, are of this data.
void expect_same_data(const std::map<std::string, std::string>& notes, const std::string& resume,
                      const std::string& source, const std::string& digest);

}  // namespace tapegrad::support
