#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The help of --data in every program: "Folder of MNIST, or one with mnist/ in it".
std::string data_help(const std::string& set, const std::string& folders);

/// Where the files of a data set may lie, given --data: in its folder `name` there, or there.
std::array<std::filesystem::path, 2> data_folders(const std::string& directory,
                                                  const std::string& name);

/// A file of a data set, plain or with .gz, in the first of `data_folders` that has it.
std::optional<std::filesystem::path> look_for_data_file(const std::string& directory,
                                                        const std::string& name,
                                                        const std::string& file);
/// Finds the same file. Throws DataError, naming both folders, if it is in neither.
std::filesystem::path find_data_file(const std::string& directory, const std::string& name,
                                     const std::string& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
