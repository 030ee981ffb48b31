#pragma once

#include <filesystem>
#include <string>

namespace tapegrad::testing {

/// A file of tests/golden.
std::filesystem::path golden_file(const std::string& name);

}  // namespace tapegrad::testing
