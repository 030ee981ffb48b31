#include "support/readable.h"

#include "tapegrad/core/beginning.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::string readable(const std::string& text) {
  const std::string quoted =
      Json(printable(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
