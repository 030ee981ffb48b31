#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/json_fwd.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A hash of data (FNV-1a), to check whether a checkpoint was trained on the same data.
/// Example: `Digest digest; digest.add(read_text("input.txt")); digest.to_string()`
class Digest {
 public:
  void add(const void* bytes, std::size_t count);
  void add(std::string_view text) { add(text.data(), text.size()); }
  std::string to_string() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// The notes of the checkpoint that --resume names; nothing without --resume. Flags that were not
/// given take their values from it. Warns on standard error if the run used another
/// instruction set. Throws DataError and FlagError.
/// Example: `const auto notes = notes_to_resume("", flags)`
std::map<std::string, std::string> notes_to_resume(const std::string& resume, Flags& flags);

/// A note of the checkpoint `resume`. Throws DataError, naming both, if it is missing.
/// Example: `note_of({{"epoch", "3"}}, "epoch", "saved.checkpoint")`
const std::string& note_of(const std::map<std::string, std::string>& notes, const std::string& name,
                           const std::string& resume);

namespace detail {
// Throws DataError unless `parse` accepts the note.
void parse_note(const std::map<std::string, std::string>& notes, const std::string& name,
                const std::string& resume, const std::function<bool(const Json& note)>& parse);
}  // namespace detail

/// The result of `parse` for a note in JSON, which is a plain value or a list of them. `parse`
/// returns nothing for a damaged note. Throws DataError, naming both, if the note is damaged or
/// missing.
/// Example: `parsed_note({{"n", "3"}}, "n", "net", [](Json n) { return std::optional(int{n}); })`
template <class Parse>
auto parsed_note(const std::map<std::string, std::string>& notes, const std::string& name,
                 const std::string& resume, const Parse& parse) {
  std::invoke_result_t<const Parse&, const Json&> value;
  detail::parse_note(notes, name, resume, [&](const Json& note) {
    value = parse(note);
    return value.has_value();
  });
  return *value;
}

/// Throws FlagError if there are notes and the one of this name is of other data.
/// Example: `expect_same_data({}, "data", "", "input.txt", "0f3a")`
void expect_same_data(const std::map<std::string, std::string>& notes, const std::string& name,
                      const std::string& resume, const std::string& source,
                      const std::string& digest);

}  // namespace tapegrad::TAPEGRAD_SCALAR
