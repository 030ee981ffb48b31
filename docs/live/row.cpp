#include <algorithm>

#include "live.h"
#include "tapegrad/tapegrad.h"

namespace live {
namespace {

using namespace tapegrad;

constexpr std::size_t most_values = 64;  // more are summarized on the tape

Tensor numbers(const Json& request, const char* name) {
  const auto values = request.at(name).get<std::vector<real>>();
  expect<ArgumentError>(!values.empty() && values.size() <= most_values,
                        "{}: needs 1 to {} numbers, has {}", name, most_values, values.size());
  return Tensor({std::ssize(values)}, values);
}

std::vector<real> list(const Tensor& x) { return {x.values().begin(), x.values().end()}; }

}  // namespace

// In the lines of a table blanks take their place.
std::string without_places(std::string text) {
  for (std::size_t at;
       (at = std::min(text.find(".cpp:"), text.find(".h:"))) != std::string::npos;) {
    const std::size_t begin = text.rfind(" (", at), length = text.find(')', at) + 1 - begin;
    const std::size_t line = text.rfind('\n', at) + 1;
    text.replace(begin, length, text.compare(line, 2, "  ") == 0 ? length : 0, ' ');
  }
  return text;
}

Json without_places(const Tape& tape) {
  Json all = Json::parse(as_json(tape));
  for (Json& node : all["nodes"]) {
    node["place"] = node["source"] = "";
    if (node.contains("why")) node["why"] = without_places(node["why"].get<std::string>());
  }
  return all;
}

Json row(const Json& request) {
  const Tensor data = numbers(request, "x"), g = numbers(request, "g");
  NormOptions options{.epsilon = request.at("epsilon").get<double>()};
  Json forms = Json::array();
  for (const bool detach_scale : {false, true})
    for (const bool detach_mean : {false, true}) {
      options.detach_mean = detach_mean;
      options.detach_scale = detach_scale;
      const auto norm = [&](const std::vector<Tensor>& in) { return layer_norm(in[0], options); };
      forms.push_back(list(vjp(norm, {data}, g)[0]));
    }
  options.detach_mean = request.at("detach_mean").get<bool>();
  options.detach_scale = request.at("detach_scale").get<bool>();
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(data), "x"), mu = named(mean(x), "mu");
  const Tensor s = named(sqrt(mean(square(x - mu)) + options.epsilon), "s");
  const Tensor z = named(
      (x - (options.detach_mean ? detach(mu) : mu)) / (options.detach_scale ? detach(s) : s), "z");
  grad(z, x, {.seed = g});
  return {{"mean", mu.item()},
          {"deviation", s.item()},
          {"z", list(z)},
          {"forms", forms},
          {"tape", without_places(tape)}};
}

}  // namespace live
