#include "tapegrad/train/json.h"

#include <cmath>
#include <set>
#include <variant>
#include <vector>

namespace tapegrad::TAPEGRAD_SCALAR {

std::optional<Json> parse_json(const std::string& text, int depth) {
  using Event = Json::parse_event_t;
  bool good = true;
  std::vector<std::set<std::string>> names;  // of the objects that are open
  const auto keep = [&](int around, Event event, const Json& value) {
    if (!good) return false;
    if (event == Event::object_start || event == Event::array_start) good = around < depth;
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::key) good = names.back().insert(value.get<std::string>()).second;
    if (event == Event::object_end) names.pop_back();
    return good;
  };
  const Json value = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (!good || value.is_discarded()) return {};
  return value;
}

void to_json(Json& json, const Metrics& metrics) {
  json = Json::object();
  for (const auto& [name, value] : metrics) {
    const double* found = std::get_if<double>(&value);
    json[name] = found != nullptr && !std::isfinite(*found)
                     ? Json()
                     : std::visit([](const auto& each) { return Json(each); }, value);
  }
}

std::string valid_utf8(const std::string& text) {
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
