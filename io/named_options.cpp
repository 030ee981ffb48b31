#include "tapegrad/io/named_options.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::optional<double> finite_number(std::string_view text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || !std::isfinite(number)) return {};
  return number;
}

// An option that takes those finite numbers that `fits`.
template <class T, class Fits>
OptionSetter number_that(T& target, Fits fits, const char* what) {
  return [&target, fits, what](std::string_view value) -> std::string {
    const std::optional<double> number = finite_number(value);
    if (!number || !fits(*number)) return what;
    target = static_cast<T>(*number);
    return "";
  };
}

std::string names_of(const OptionSetters& setters) {
  std::string names;
  for (const auto& [name, setter] : setters) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

void set_options(const char* owner, std::string_view text, const OptionSetters& setters) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = text.substr(0, colon);
  std::set<std::string_view> given;
  for (std::size_t end = colon; end < text.size();) {
    const std::size_t begin = end + 1;
    end = std::min(text.find(',', begin), text.size());
    const std::string_view option = text.substr(begin, end - begin);
    const std::size_t equals = option.find('=');
    const std::string_view key = option.substr(0, equals);
    expect<ArgumentError>(!option.empty(),
                          "{}: {}: an option is empty; leave out the colon or comma before it",
                          owner, name);
    const auto setter = setters.find(key);
    expect<ArgumentError>(setter != setters.end() && equals != std::string_view::npos,
                          "{}: {} has no option {}; available: {}", owner, name, beginning(option),
                          names_of(setters));
    expect<ArgumentError>(given.insert(key).second, "{}: {}: {} is given twice", owner, name, key);
    const std::string what = setter->second(option.substr(equals + 1));
    expect<ArgumentError>(what.empty(), "{}: {}: {} must be {}", owner, name, beginning(option),
                          what);
  }
}

OptionSetter number_option(double& target) {
  return number_that(
      target, [](double) { return true; }, "a finite number");
}

OptionSetter not_negative_option(double& target) {
  return number_that(
      target, [](double number) { return number >= 0; }, "a finite number of at least 0");
}

OptionSetter count_option(Index& target) {
  return number_that(
      target,
      [](double number) { return number >= 1 && number <= 1e6 && number == std::floor(number); },
      "a whole number from 1 to a million");
}

OptionSetter flag_option(bool& target) {
  return choice_option(target, {{"0", false}, {"1", true}});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
