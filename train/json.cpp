#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR {

std::optional<Json> parse_json(const std::string& text, int depth) {
  bool shallow = true;
  const auto keep = [&](int around, Json::parse_event_t event, const Json&) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    shallow = shallow && !(opens && around >= depth);
    return shallow;
  };
  const Json value = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (!shallow || value.is_discarded()) return {};
  return value;
}

std::string valid_utf8(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
