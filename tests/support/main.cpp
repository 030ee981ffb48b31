#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "support/golden_file.h"

std::filesystem::path tapegrad::testing::golden_file(const std::string& name) {
  return std::filesystem::path(TAPEGRAD_GOLDEN_DIR) / name;
}
