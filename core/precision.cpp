#include "tapegrad/core/precision.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constinit thread_local Precision active_precision = Precision::full;

}  // namespace

PrecisionScope::PrecisionScope(Precision precision) : precision_(active_precision, precision) {}
Precision PrecisionScope::active() { return active_precision; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
