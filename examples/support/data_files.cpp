#include "support/data_files.h"

#include <fmt/format.h>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::filesystem::path find_data_file(const std::string& directory, const std::string& folder,
                                     const std::string& file) {
  const std::filesystem::path root(directory);
  for (const auto& path :
       {root / folder / (file + ".gz"), root / folder / file, root / (file + ".gz"), root / file})
    if (is_there(path)) return path;
  throw DataError(fmt::format("{}: there is neither {}/{}.gz nor {}.gz, gzipped or not", directory,
                              folder, file, file));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
