#pragma once

// The header of a safetensors file. It is read and written without a tree of JSON values: those of
// nlohmann::json ask for memory in their destructors, where there may be none.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

constexpr const char* metadata_name = "__metadata__";

/// What a header says of a tensor.
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
/// and tensor or byte, for text that is no header.
SafetensorsHeader parse_header(const std::string& file, std::span<const char> text,
                               std::size_t begin);

/// The same for other programs: a JSON object, sorted by names, with metadata if there are any.
/// Throws DataError, beginning with `where`, for names and metadata that are not UTF-8.
std::string header_text(const std::string& where, const std::vector<SafetensorsEntry>& entries,
                        const std::map<std::string, std::string>& metadata = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
