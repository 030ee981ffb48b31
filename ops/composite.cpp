#include "tapegrad/ops/composite.h"

#include <utility>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

thread_local bool composite_active = false;

}  // namespace

Composite::Composite(bool readable) : outer_(std::exchange(composite_active, readable)) {}
Composite::~Composite() { composite_active = outer_; }
bool Composite::active() { return composite_active; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
