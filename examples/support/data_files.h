#pragma once

#include <filesystem>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A file of a data set, plain or with .gz, in `folder` of a directory that holds several sets, or
/// in the directory itself. Throws DataError, naming both, if it is in neither.
std::filesystem::path find_data_file(const std::string& directory, const std::string& folder,
                                     const std::string& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
