#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace tapegrad::support {

using Json = nlohmann::ordered_json;

/// Checks of a flag's number, with messages such as "--lr: must be positive: -1".
CLI::Validator positive();
CLI::Validator not_negative();
/// For names of files: an empty one is a mistake of the caller's script.
CLI::Validator not_empty();
/// From `low` to `high`, both included.
CLI::Validator between(double low, double high);

/// The flags of a program, each bound to a variable whose value is its default. Those that shape
/// the training are kept in checkpoints, so that resuming goes on with them.
class Flags {
 public:
  Flags(const std::string& program, const std::string& description);

  /// A flag on which the trained weights depend.
  template <class T>
  CLI::Option* training(const std::string& name, T& value, const std::string& help) {
    return enter(name, value, help, true);
  }
  /// A flag on which they do not: where files go, what is printed.
  template <class T>
  CLI::Option* setting(const std::string& name, T& value, const std::string& help) {
    return enter(name, value, help, false);
  }

  /// Every flag and its value, by name.
  Json values() const;
  /// The flags that shape the training, as text.
  std::map<std::string, std::string> training_values() const;
  /// Takes over what `saved`, read from `file`, has for flags that the user did not give. Throws
  /// CLI::ValidationError, naming the flag, for one that was given another value, and DataError for
  /// a value that the command line would not take, and for the checkpoint of another program.
  void adopt(const std::map<std::string, std::string>& saved, const std::string& file);
  bool given(const std::string& name) const { return app_.get_option(name)->count() > 0; }

  /// Reads the command line, then calls `body`. Returns the exit code of the program: that of
  /// `body`, 2 for flags that are wrong (CLI::ParseError), 1 for any other exception and for
  /// results that could not be written.
  int run(int argc, char** argv, const std::function<int()>& body);

 private:
  struct Entry {
    std::string name;
    bool training;
    std::function<Json()> get;
    CLI::Option* option;
  };
  template <class T>
  CLI::Option* enter(const std::string& name, T& value, const std::string& help, bool training) {
    CLI::Option* option = add(name, value, help);
    entries_.push_back({name, training, [&value] { return Json(value); }, option});
    return option;
  }
  template <class T>
  CLI::Option* add(const std::string& name, T& value, const std::string& help) {
    if constexpr (std::is_same_v<T, bool>) {
      return app_.add_flag(name, value, help);
    } else {
      CLI::Option* option = app_.add_option(name, value, help)->capture_default_str();
      if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>)
        return checked<T>(option->take_last());
      else
        return checked<typename T::value_type>(option->delimiter(','));
    }
  }

  /// The option, which refuses text that is no finite number if T is one.
  template <class T>
  static CLI::Option* checked(CLI::Option* option) {
    if constexpr (std::is_arithmetic_v<T>)
      option->check([](const std::string& text) -> std::string {
        T value = 0;
        if (!CLI::detail::lexical_cast(text, value))
          return text + (std::is_integral_v<T> ? " is not a whole number" : " is not a number");
        return std::isfinite(static_cast<double>(value)) ? "" : text + " is not a finite number";
      });
    return option;
  }

  CLI::App app_;
  std::vector<Entry> entries_;
};

}  // namespace tapegrad::support
