#include "tapegrad/core/machine/instruction_set.h"

#include <fmt/format.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Highway's names, except for little-known ones.
std::string name_of(std::int64_t target) {
  if (target == HWY_AVX3) return "avx512";
  // What the compiler generates from plain C++.
  if (HWY_ARCH_X86_64 && (target == HWY_SCALAR || target == HWY_EMU128)) return "sse2";
  std::string name = hwy::TargetName(target);
  for (char& letter : name)  // std::tolower depends on the locale
    if ('A' <= letter && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

std::string choose() {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();  // best first
  std::vector<std::string> names(targets.size());
  std::transform(targets.begin(), targets.end(), names.begin(), name_of);
  const char* variable = std::getenv("TAPEGRAD_TARGET");
  if (variable == nullptr || *variable == '\0') return names.front();
  const auto found = std::find(names.begin(), names.end(), variable);
  expect<Error>(found != names.end(),
                "TAPEGRAD_TARGET={}: this processor has no such instruction set; choose one of: {}",
                beginning(variable), fmt::format("{}", fmt::join(names, ", ")));
  hwy::DisableTargets(~targets[static_cast<std::size_t>(found - names.begin())]);
  return *found;
}

}  // namespace

const std::string& instruction_set() {
  static const std::string name = choose();
  return name;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
