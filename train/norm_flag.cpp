#include "tapegrad/train/norm_flag.h"

#include <fmt/format.h>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

void add_norm_flag(Flags& flags, std::string& norm, const std::string& help) {
  const auto readable = [](const std::string& text) {
    try {
      const NormSpec read(text);
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  flags
      .training("--norm", norm,
                fmt::format("{}: {}; with options as in ada:c=1,k=0.1", help,
                            fmt::join(norm_names(), ", ")))
      .check(readable);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
