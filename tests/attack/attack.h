#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tapegrad::attack {

/// What a fuzzer does with one input: reads it, and checks the result. Every program of this
/// folder defines it. An Error with a short message refuses the input; whatever else leaves it is a
/// finding.
void attack(std::string_view input);

/// Whether `read` refuses: throws an Error, whose message must be short. Other exceptions pass.
bool refuses(const std::function<void()>& read);

/// Throws std::logic_error, which no attack expects, unless the property holds.
void expect_property(bool holds, const char* property);

/// A file with these bytes, in memory.
class File {
 public:
  /// What comes out of a pipe, once, lies in a block of its own, so that the address
  /// sanitizer sees who reads beyond its end; a file is mapped, and ends with its page.
  enum class Kind { pipe, mapped };
  explicit File(std::string_view bytes, Kind kind = Kind::pipe);
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();
  std::filesystem::path path() const;

 private:
  int descriptor_;
};

}  // namespace tapegrad::attack
