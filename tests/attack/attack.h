#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace tapegrad::attack {

/// What a fuzzer does with one input: has it read, and checks what comes out. Every program of this
/// folder defines it. An Error with a short message refuses the input; whatever else leaves it is a
/// finding.
void attack(std::string_view input);

/// Whether `read` refuses: throws an Error, whose message must be short. Other exceptions pass.
bool refuses(const std::function<void()>& read);

/// Throws std::logic_error, which no attack expects, unless the property holds.
void expect_property(bool holds, const char* property);

/// A file with these bytes, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  std::filesystem::path path() const;

 private:
  int descriptor_;
};

}  // namespace tapegrad::attack
