#pragma once

// The header of a safetensors file. It is read and written without a tree of nlohmann::json values,
// because their destructors allocate memory, which may fail.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

constexpr const char* metadata_name = "__metadata__";

/// The entry of a tensor in the header.
struct SafetensorsEntry {
  std::string name, type;
  Shape shape;
  std::uint64_t begin, end;  ///< bytes of the values
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// The header in `text`, which begins at byte `begin` of the file. Throws DataError, naming file
/// and tensor or byte, for text that is not a header.
SafetensorsHeader parse_header(const std::string& file, std::span<const char> text,
                               std::size_t begin);

/// The header as text: a JSON object, sorted by name, with metadata if there is any. Throws
/// DataError, beginning with `where`, for names and metadata that are not UTF-8.
std::string header_text(const std::string& where, const std::vector<SafetensorsEntry>& entries,
                        const std::map<std::string, std::string>& metadata = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
