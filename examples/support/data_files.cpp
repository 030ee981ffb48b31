#include "support/data_files.h"

#include <fmt/format.h>

#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

namespace fs = std::filesystem;

std::string data_help(const std::string& set, const std::string& folders) {
  return fmt::format("Folder of {}, or one with {} in it", set, folders);
}

std::array<fs::path, 2> data_folders(const std::string& directory, const std::string& name) {
  return {fs::path(directory) / name, directory};
}

std::optional<fs::path> look_for_data_file(const std::string& directory, const std::string& name,
                                           const std::string& file) {
  for (const fs::path& folder : data_folders(directory, name))
    for (const fs::path& path : {folder / (file + ".gz"), folder / file})
      if (is_there(path)) return path;
  return std::nullopt;
}

fs::path find_data_file(const std::string& directory, const std::string& name,
                        const std::string& file) {
  if (const std::optional<fs::path> found = look_for_data_file(directory, name, file))
    return *found;
  const auto [own, given] = data_folders(directory, name);
  throw DataError(fmt::format("{} is neither in {} nor in {}, gzipped or not", file, own.string(),
                              given.string()));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
