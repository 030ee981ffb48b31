#include "tapegrad/ops/composite.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

thread_local bool composite_active = false;

}  // namespace

Composite::Composite(bool readable) : readable_(composite_active, readable) {}
bool Composite::active() { return composite_active; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
