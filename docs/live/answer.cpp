#include <memory>
#include <stdexcept>
#include <string>

#include "live.h"
#include "playground.h"

namespace {

using live::Json;

Json computed(const Json& request) {
  static std::unique_ptr<live::Drift> drift;
  const auto what = request.at("compute").get<std::string>();
  if (what == "row") return live::row(request);
  if (what == "expression") return live::expression(request);
  if (what == "depth") return live::depth(request);
  if (what == "norms") return live::norms();
  if (what == "playground") return playground::answer(request);
  if (what == "drift") {
    if (request.contains("optimizer")) drift = std::make_unique<live::Drift>(request);
    if (!drift) throw std::invalid_argument("drift: the first request names an optimizer");
    return drift->steps(request.at("steps").get<int>());
  }
  throw std::invalid_argument("unknown: " + what);
}

}  // namespace

extern "C" const char* answer(const char* request) {
  static std::string text;
  try {
    text = computed(Json::parse(request)).dump();
  } catch (const std::exception& error) {
    text = Json{{"error", playground::words(error)}}.dump(-1, ' ', false,
                                                          Json::error_handler_t::replace);
  }
  return text.c_str();
}
