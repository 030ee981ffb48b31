#include "support/readable.h"

#include "tapegrad/core/beginning.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::string readable(const std::string& text) { return valid_utf8(printable(text)); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
