#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tapegrad/core/place.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Texts such as "ada:c=1,k=0.1": a name, and options that have names.

/// Sets an option to a value that is given as text. Returns what that value must be if it is not,
/// such as "a finite number", and otherwise "".
/// Example: `const OptionSetter ignored = [](std::string_view) { return ""; }`
using OptionSetter = std::function<std::string(std::string_view value)>;
/// The options that a name can have.
/// Example: `bool exact = false; const OptionSetters known{{"exact", flag_option(exact)}}`
using OptionSetters = std::map<std::string, OptionSetter, std::less<>>;

/// Sets the options that a text gives after its name. Throws ArgumentError, which begins with the
/// owner ("norm"), for an option that is unknown or given twice, and for a value that does not fit.
/// Example: `double c = 0; set_options("norm", "ada:c=2", {{"c", number_option(c)}})`
void set_options(const char* owner, std::string_view text, const OptionSetters& setters);

/// A finite number.
/// Example: `double rate = 0; number_option(rate)("1e-3")`
OptionSetter number_option(double& target);
/// A finite number of at least 0.
/// Example: `double epsilon = 0; not_negative_option(epsilon)("1e-6")`
OptionSetter not_negative_option(double& target);
/// A whole number from 1 to a million.
/// Example: `Index groups = 1; count_option(groups)("8")`
OptionSetter count_option(Index& target);
/// One of several words, each with its meaning.
/// Example: `bool outside = false; choice_option(outside, {{"in", false}, {"out", true}})("out")`
template <class T>
OptionSetter choice_option(T& target,
                           std::vector<std::pair<const char*, std::type_identity_t<T>>> words) {
  return [&target, words](std::string_view value) {
    std::string known;
    for (const auto& [word, meaning] : words) {
      if (value == word) {
        target = meaning;
        return std::string();
      }
      known += (known.empty() ? "" : " or ") + std::string(word);
    }
    return known;
  };
}
/// 0 or 1
/// Example: `bool affine = true; flag_option(affine)("0")`
OptionSetter flag_option(bool& target);

}  // namespace tapegrad::TAPEGRAD_SCALAR
