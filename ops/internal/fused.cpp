#include "tapegrad/ops/internal/fused.h"

namespace tapegrad::TAPEGRAD_SCALAR {

std::vector<std::string_view>& fused_operations() {
  static std::vector<std::string_view> names;
  return names;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
