#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/shape.h"
#include "tapegrad/train/json_fwd.h"

// CLI11 reads the command line. Programs need not compile it, which takes seconds.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tapegrad::TAPEGRAD_SCALAR {

/// Whether text is a whole number in decimal digits, of any size. A leading zero is not allowed,
/// since other programs read such a number as octal.
/// Example: `is_whole("42")`
bool is_whole(const std::string& text);
/// The whole number in text, if it fits T.
/// Example: `whole_number<int>("42").value_or(0)`
template <class T>
std::optional<T> whole_number(const std::string& text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  if (!is_whole(text) || std::from_chars(text.data(), end, value).ec != std::errc()) return {};
  return value;
}

/// The number in text, in any locale.
/// Example: `real_number("1e-3").value_or(0)`
std::optional<double> real_number(const std::string& text);

/// What a flag sets: a variable of one of these types. A list is given with commas between.
/// Example: `bool quick = false; const FlagVariable variable = &quick`
using FlagVariable =
    std::variant<bool*, int*, Index*, std::uint64_t*, double*, std::string*, std::vector<int>*,
                 std::vector<Index>*, std::vector<std::uint64_t>*, std::vector<double>*,
                 std::vector<std::string>*>;

/// A flag that is wrong, by itself or beside others. A program ends with exit code 2 then.
/// Example: `FlagError("--heads", "must divide --channels").what()`
struct FlagError : Error {
  using Error::Error;
  FlagError(const std::string& flag, const std::string& problem) : Error(flag + ": " + problem) {}
};

/// What the text of a flag must be.
/// Example: `Check([](const std::string& text) { return text == "no" ? "must be yes" : ""; })`
struct Check {
  /// Returns what is wrong with the text; "" if nothing is.
  std::function<std::string(const std::string& text)> problem;
  std::string shown;  ///< in --help

  template <std::invocable<const std::string&> Problem>
  Check(Problem says, std::string in_help = "")
      : problem(std::move(says)), shown(std::move(in_help)) {}
};

/// Numbers, with messages such as "--lr: must be positive: -1".
/// Example: `double width = 1; flags.training("--width", width, "Of a window").check(positive())`
Check positive();
/// Example: `double noise = 0; flags.training("--noise", noise, "Added").check(not_negative())`
Check not_negative();
/// From `low` to `high`, inclusive.
/// Example: `double rate = 0; flags.training("--dropout", rate, "Rate").check(between(0, 0.9))`
Check between(double low, double high);
/// One of these words.
/// Example: `std::string side; flags.training("--side", side, "Side").check(one_of({"a", "b"}))`
Check one_of(const std::vector<std::string>& names);

/// A flag that `Flags` has entered, for its further properties. Other flags are named, and
/// must have been entered before.
/// Example: `int a = 1; flags.setting("--a", a, "Terms").check(positive()).excludes({"--warmup"})`
class Flag {
 public:
  Flag check(const Check& check) const;
  /// It must not be given without these.
  Flag needs(const std::vector<std::string>& names) const;
  /// It must not be given with any of these.
  Flag excludes(const std::vector<std::string>& names) const;
  /// Between the values of a list, in place of a comma; '\0': words of their own.
  Flag delimiter(char between) const;
  /// If the flag is not given, its value comes from this environment variable, if it is set.
  Flag environment(const std::string& variable) const;

 private:
  friend class Flags;
  explicit Flag(CLI::Option* option) : option_(option) {}
  CLI::Option* option_;
};

/// The files that a flag makes a program write.
/// Example: `const Output picture{.begins = "<svg"}`
struct Output {
  /// The files in the directory that the flag names; by default, the flag names the file itself.
  std::function<std::vector<std::string>(const std::string& directory)> files = {};
  std::string continues = {};  ///< the flag of an input that this output may replace
  std::string begins = {};     ///< how they all begin; no file that begins otherwise is replaced
};

/// Refuses bad file names: an empty name is a mistake of the caller's script, and one that begins
/// with "--" is a flag after a forgotten name. `Flags::input` and `Flags::output` check it.
/// Example: `std::string file; flags.setting("--note", file, "A file").check(file_name())`
Check file_name();

/// The flags of a program, each bound to a variable that holds its default. Checkpoints keep the
/// flags that shape the run, so that a resumed run uses the same.
/// Example: `Flags own("squares", "Sums squares."); own.run(argc, argv, [] { return 0; })`
class Flags {
 public:
  Flags(const std::string& program, const std::string& description);
  ~Flags();

  /// A flag that affects the trained weights.
  template <class T>
  Flag training(const std::string& name, T& value, const std::string& help) {
    return enter(name, &value, help, true);
  }
  /// The length of the run in steps or epochs, which may grow when it is resumed.
  Flag length(const std::string& name, Index& value, const std::string& help);
  /// A flag that does not: where files lie, what is printed. What the files hold may affect them;
  /// `Trainer::uses_data` checks whether it is the same.
  template <class T>
  Flag setting(const std::string& name, T& value, const std::string& help) {
    return enter(name, &value, help, false);
  }
  /// A setting that names a file or a directory to read, or a list of them.
  template <class T>
  Flag input(const std::string& name, T& value, const std::string& help) {
    return name_file(setting(name, value, help), "INPUT", std::nullopt);
  }
  /// A setting that names a file or a directory to write. `run` refuses an output that is also an
  /// input or another output, under any name of the same file.
  Flag output(const std::string& name, std::string& value, const std::string& help,
              const Output& output = {});

  /// Every flag and its value, by name.
  Json values() const;
  /// The flags that shape the run, as text.
  std::map<std::string, std::string> training_values() const;
  /// What several processes of one run have in common, as text: every flag. For a flag that
  /// names a file, which may differ between machines, only whether it was given.
  std::map<std::string, std::string> shared_values() const;
  /// Whether a flag may have another value here than in the run that `adopt` continues:
  /// greater lengths alone, or all. With all, inputs that were not given are adopted, too.
  enum class Changes { length, all };
  /// Sets flags that the user did not give to the values in `saved`, which were read from `file`.
  /// Throws FlagError, naming the flag, if the user gave another value that may not
  /// differ; DataError for a value that the command line would refuse, and for the checkpoint of
  /// another program.
  void adopt(const std::map<std::string, std::string>& saved, const std::string& file,
             Changes allowed = Changes::length);
  /// The flags given with other values than those that `adopt` found, and both in words:
  /// "--epochs",
  /// "--epochs 10 instead of 5".
  const std::map<std::string, std::string>& changes() const { return changes_; }
  bool given(const std::string& name) const;
  /// Registers a `check` of all flags, to run before the program begins. It should throw
  /// FlagError for flags that conflict.
  void checks(std::function<void()> check) { checks_.push_back(std::move(check)); }

  /// Text for the end of --help.
  void footer(const std::string& text);

  /// Parses the command line, then calls `body`. Returns the exit code of the program: the result
  /// of `body`, 2 for wrong flags, 1 for any other exception and for results that
  /// could not be written.
  int run(int argc, char** argv, const std::function<int()>& body);

 private:
  struct Entry {
    std::string name;
    bool training;
    FlagVariable variable;
    CLI::Option* option;
    std::function<std::string(const std::string&)> last_check;
    bool may_grow = false;
    bool names_file = false;
    std::optional<Output> output = {};

    Json get() const;
  };
  Flag name_file(Flag flag, const char* type, const std::optional<Output>& output);
  // The files that a flag names, as they are written or read.
  std::vector<std::string> files_of(const Entry& entry) const;
  // Throws FlagError for words that are no flag and belong to none.
  void expect_all_known() const;
  // Throws FlagError for an output that would replace what is not its own.
  void check_outputs() const;
  int run_alone(int argc, char** argv, const std::function<int()>& body);

  Flag enter(const std::string& name, FlagVariable variable, const std::string& help,
             bool training);

  std::unique_ptr<CLI::App> app_;  // so that programs need not compile all of CLI11
  std::vector<Entry> entries_;
  std::vector<std::function<void()>> checks_;
  std::map<std::string, std::string> changes_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
