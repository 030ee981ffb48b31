// What a browser lacks of Highway's library: there is one instruction set, the compiler's.

#include <hwy/targets.h>

namespace hwy {

decltype(SupportedTargets()) SupportedTargets() { return HWY_STATIC_TARGET; }
void DisableTargets(std::int64_t /*disabled*/) {}

}  // namespace hwy
