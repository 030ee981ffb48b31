#include "tapegrad/train/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <new>
#include <sstream>
#include <type_traits>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {

namespace {

constexpr const char* program_note = "program";

// The longest message, whatever a file or a command line holds.
constexpr std::size_t longest_message = 4000;

void write_message(std::string text) {
  if (text.size() > longest_message) text = text.substr(0, longest_message) + "...\n";
  write_diagnostic(text);
}

Check bounded(const std::string& bounds, const std::function<bool(double)>& inside) {
  const auto problem = [=](const std::string& text) -> std::string {
    const std::optional<double> value = real_number(text);
    if (value && inside(*value)) return "";
    return fmt::format("must be {}: {}", bounds, beginning(text));
  };
  return {problem, bounds};
}

// The exit code of a program that is called in a wrong way.
int refused(const std::exception& error) {
  write_message(printable(error.what()) + "\nRun with --help for more information.\n");
  return 2;
}

// A flag's value in the form of the command line.
std::vector<std::string> words_of(const Json& value) {
  std::vector<std::string> words;
  for (const Json& each : value.is_array() ? value : Json::array({value}))
    words.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  return words;
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

// Numbers with a fraction are read and shown here: CLI11 does both by the locale.
template <class T>
CLI::Option* bind(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return app.add_option(name, value, help);
}

CLI::Option* bind(CLI::App& app, const std::string& name, double& value, const std::string& help) {
  const auto set = [&value](const CLI::results_t& words) {
    value = real_number(words.back()).value();
    return true;
  };
  const auto text = [&value] { return fmt::format("{:g}", value); };
  return app.add_option(name, CLI::callback_t(set), help, false, text)->type_name("FLOAT");
}

CLI::Option* bind(CLI::App& app, const std::string& name, std::vector<double>& values,
                  const std::string& help) {
  const auto set = [&values](const CLI::results_t& words) {
    values.clear();
    for (const std::string& word : words) values.push_back(real_number(word).value());
    return true;
  };
  const auto text = [&values] { return fmt::format("[{:g}]", fmt::join(values, ",")); };
  return app.add_option(name, CLI::callback_t(set), help, false, text)
      ->type_name("FLOAT")
      ->expected(1, CLI::detail::expected_max_vector_size);
}

// Both describe what is wrong with text that should be a T, or an element of the list T.
template <class T>
std::string no_number(const std::string& text) {
  if constexpr (is_list<T>) {
    return no_number<typename T::value_type>(text);
  } else if constexpr (std::is_integral_v<T>) {
    return is_whole(text) ? "" : beginning(text) + " is not a whole number";
  } else if constexpr (std::is_floating_point_v<T>) {
    const std::optional<double> value = real_number(text);
    if (!value) return beginning(text) + " is not a number";
    if (!std::isfinite(*value)) return beginning(text) + " is not a finite number";
  }
  return "";
}

template <class T>
std::string out_of_range(const std::string& text) {
  if constexpr (is_list<T>) {
    return out_of_range<typename T::value_type>(text);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Limits = std::numeric_limits<T>;
    if (!whole_number<T>(text))
      return fmt::format("must be from {} to {}: {}", Limits::min(), Limits::max(),
                         beginning(text));
  }
  return "";
}

template <class T>
CLI::Option* add(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(name, value, help);
  } else {
    CLI::Option* option = bind(app, name, value, help)->capture_default_str();
    return (is_list<T> ? option->delimiter(',') : option->take_last())->check(no_number<T>);
  }
}

bool begins_with(const std::string& file, const std::string& beginning) {
  std::string found(beginning.size(), '\0');
  std::ifstream(file, std::ios::binary)
      .read(found.data(), static_cast<std::streamsize>(found.size()));
  return found == beginning;
}

}  // namespace

Check file_name() {
  return {[](const std::string& text) -> std::string {
            if (text.empty()) return "the file name is empty";
            if (!text.starts_with("--")) return "";
            return fmt::format("the file name is missing: {0} is a flag; write ./{0} for a file",
                               beginning(text));
          },
          ""};
}

bool is_whole(const std::string& text) {
  const std::string digits = text.substr(text.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
         (digits.size() == 1 || digits[0] != '0');
}

std::optional<double> real_number(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  const char* const end = digits.data() + digits.size();
  double value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) return {};
  if (error == std::errc::result_out_of_range)
    return digits.find('-', 1) == std::string_view::npos ? INFINITY : 0;
  return value;
}

Check positive() {
  return bounded("positive", [](double value) { return value > 0; });
}

Check not_negative() {
  return bounded("at least 0", [](double value) { return value >= 0; });
}

Check between(double low, double high) {
  return bounded(fmt::format("from {} to {}", low, high),
                 [=](double value) { return low <= value && value <= high; });
}

Check one_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  const std::string shown = "{" + list + "}";
  const auto problem = [=](const std::string& text) -> std::string {
    const bool is_one = std::find(names.begin(), names.end(), text) != names.end();
    return is_one ? "" : fmt::format("{} not in {}", text, shown);
  };
  return {problem, shown};
}

Flag Flag::check(const Check& check) const {
  option_->check(check.problem, check.shown);
  return *this;
}

Flag Flag::needs(const std::vector<std::string>& names) const {
  for (const std::string& name : names) option_->needs(name);
  return *this;
}

Flag Flag::excludes(const std::vector<std::string>& names) const {
  for (const std::string& name : names) option_->excludes(name);
  return *this;
}

Flag Flag::delimiter(char between) const {
  option_->delimiter(between);
  return *this;
}

Flag Flag::environment(const std::string& variable) const {
  option_->envname(variable);
  return *this;
}

Flags::Flags(const std::string& program, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, program)) {
  app_->allow_extras();  // `expect_all_known` reports them
  app_->set_version_flag("--version", program + " (tapegrad " TAPEGRAD_VERSION ")");
}

Flags::~Flags() = default;

Json Flags::Entry::get() const {
  return std::visit([](const auto* value) { return Json(*value); }, variable);
}

Flag Flags::enter(const std::string& name, FlagVariable variable, const std::string& help,
                  bool training) {
  const auto add_variable = [&]<class T>(T* value) {
    CLI::Option* option = add(*app_, name, *value, help);
    entries_.push_back({name, training, value, option, out_of_range<T>});
    return Flag(option);
  };
  return std::visit(add_variable, variable);
}

Flag Flags::length(const std::string& name, Index& value, const std::string& help) {
  const Flag flag = enter(name, &value, help, true);
  entries_.back().may_grow = true;
  return flag;
}

bool Flags::given(const std::string& name) const { return app_->get_option(name)->count() > 0; }

void Flags::footer(const std::string& text) { app_->footer(text); }

// The type is that in --help.
Flag Flags::name_file(Flag flag, const char* type, const std::optional<Output>& output) {
  entries_.back().names_file = true;
  entries_.back().output = output;
  flag.option_->type_name(type);
  return flag.check(file_name());
}

Flag Flags::output(const std::string& name, std::string& value, const std::string& help,
                   const Output& output) {
  return name_file(setting(name, value, help), "OUTPUT", output);
}

std::vector<std::string> Flags::files_of(const Entry& entry) const {
  std::vector<std::string> files;
  if (!entry.names_file) return files;
  for (const std::string& path : words_of(entry.get())) {
    if (path.empty()) continue;
    if (entry.output && entry.output->files)
      files = entry.output->files(path);
    else
      files.push_back(!entry.output && path == "-" ? "/dev/stdin" : path);
  }
  return files;
}

void Flags::expect_all_known() const {
  const std::vector<std::string> rest = app_->remaining();
  if (rest.empty()) return;
  std::string message = fmt::format("not expected: {}", fmt::join(rest, " "));
  const auto is_length = [](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return name == "--epochs" || name == "--steps";
  };
  if (std::any_of(rest.begin(), rest.end(), is_length))
    for (const Entry& entry : entries_)
      if (entry.may_grow) message += fmt::format("; {} sets the length of this run", entry.name);
  throw FlagError(message);
}

void Flags::check_outputs() const {
  for (const Entry& entry : entries_) {
    if (!entry.output) continue;
    for (const std::string& file : files_of(entry)) {
      const auto refuse = [&](const std::string& why) {
        throw FlagError(entry.name,
                        fmt::format("would replace {}, {}; name another file", file, why));
      };
      for (const Entry& other : entries_)
        for (const std::string& path : files_of(other))
          if (other.name != entry.name && other.name != entry.output->continues &&
              same_file(file, path))
            refuse(fmt::format("which {} {}", other.name, other.output ? "writes" : "reads"));
      if (holds_something(file) && !begins_with(file, entry.output->begins))
        refuse(fmt::format("which does not begin with {}", entry.output->begins));
    }
  }
}

Json Flags::values() const {
  Json result;
  for (const Entry& entry : entries_) result[entry.name.substr(2)] = entry.get();
  return result;
}

std::map<std::string, std::string> Flags::training_values() const {
  std::map<std::string, std::string> result{{program_note, app_->get_name()}};
  for (const Entry& entry : entries_)
    if (entry.training) result[entry.name.substr(2)] = entry.get().dump();
  return result;
}

std::map<std::string, std::string> Flags::shared_values() const {
  std::map<std::string, std::string> result;
  for (const Entry& entry : entries_)
    result[entry.name] = entry.names_file ? Json(given(entry.name)).dump() : entry.get().dump();
  for (const char* of_machine : {"--threads", "--quiet"}) result.erase(of_machine);
  return result;
}

void Flags::adopt(const std::map<std::string, std::string>& saved, const std::string& file,
                  Changes allowed) {
  const auto program = saved.find(program_note);
  expect<DataError>(program != saved.end() && program->second == app_->get_name(),
                    "{}: it is not a checkpoint of {}{}", file, app_->get_name(),
                    program == saved.end() ? "" : " but of " + beginning(program->second));
  for (const Entry& entry : entries_) {
    const auto found = saved.find(entry.name.substr(2));
    const bool adopts_input = allowed == Changes::all && entry.names_file && !entry.output &&
                              !given(entry.name) && found != saved.end();
    if (!entry.training && !adopts_input) continue;
    expect<DataError>(found != saved.end(), "{}: it has no value for {}", file, entry.name);
    const std::string now = entry.get().dump();
    if (now == found->second) continue;
    if (given(entry.name)) {
      const std::optional<Index> before = whole_number<Index>(found->second);
      const bool grows = entry.may_grow && before && entry.get().get<Index>() > *before;
      if (grows || allowed == Changes::all) {
        changes_[entry.name] =
            fmt::format("{} {} instead of {}", entry.name, now, beginning(found->second));
        continue;
      }
      throw FlagError(entry.name,
                      fmt::format("is {} here, but the run in {} has {}; leave the flag out "
                                  "to resume it, or start over without --resume",
                                  now, file, beginning(found->second)));
    }
    const std::optional<Json> value = parse_json(found->second, 1);
    if (value) try {
        for (const std::string& word : words_of(*value)) entry.option->add_result(word);
        if (entry.option->count() > 0) entry.option->run_callback();
        entry.option->clear();  // it was not given
      } catch (const CLI::Error& error) {
        throw DataError(fmt::format("{}: {}", file, beginning(error.what())));
      }
    expect<DataError>(entry.get().dump() == found->second, "{}: its note {} is damaged", file,
                      entry.name.substr(2));
  }
  check_outputs();  // beside the inputs that it has adopted
}

int Flags::run_alone(int argc, char** argv, const std::function<int()>& body) try {
  // After the check of the flag's own range, whose message is clearer than the message of its type.
  for (const Entry& entry : entries_) Flag(entry.option).check(Check(entry.last_check));
  app_->parse(argc, argv);
  expect_all_known();
  check_outputs();
  for (const auto& check : checks_) check();
  const int code = body();
  return code == 0 && !results_are_written() ? 1 : code;
} catch (const FlagError& error) {
  return refused(error);
} catch (const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return refused(error);
  std::ostringstream help;
  app_->exit(error, help, help);
  write_help(help.str());
  return results_are_written() ? 0 : 1;
}

int Flags::run(int argc, char** argv, const std::function<int()>& body) try {
  prepare_output();
  const int code = run_alone(argc, argv, body);
  // A process that trains with others first compares versions; they would wait for this one.
  if (code == 0 && Cluster::awaited())
    Cluster().expect_same("version", "none, it ended without a run");
  return code;
} catch (const std::bad_alloc&) {
  write_diagnostic(fmt::format("{}: out of memory; use smaller layers, batches or sequences\n",
                               app_->get_name()));
  return 1;
} catch (const std::exception& error) {
  write_message(fmt::format("{}: {}\n", app_->get_name(), printable(error.what())));
  return 1;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
