#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/said.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/real.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run_flags.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

struct Outcome {
  int code;
  std::string said;  // on standard error
};

// The result of a program with a few flags on a command line.
Outcome run(
    std::vector<std::string> words, const std::function<int()>& body = [] { return 0; }) {
  double rate = 1e-3, floor = 0;
  Index count = 2;
  std::vector<Index> sizes{3};
  std::uint64_t seed = 1;
  Index warmup = 0;
  Flags flags("program", "A program.");
  flags.training("--rate", rate, "").check(positive());
  flags.training("--floor", floor, "").check(not_negative());
  flags.training("--count", count, "").check(between(1, 1 << 20));
  flags.setting("--sizes", sizes, "").check(between(1, 9));
  flags.setting("--seed", seed, "");
  flags.setting("--warmup", warmup, "").check(not_negative());

  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  Outcome outcome{};
  outcome.said = said_by([&] {
    outcome.code = flags.run(static_cast<int>(arguments.size()), arguments.data(), body);
  });
  return outcome;
}

// Sets a locale that writes 0,5. One is made where none is installed, but its description is.
bool begin_to_write_commas(const Scratch& folder) {
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8"})
    if (std::setlocale(LC_ALL, locale) != nullptr) return true;
  const std::string made = (folder / "de_DE.UTF-8").string();
  const std::string command = "localedef -i de_DE -f UTF-8 '" + made + "' >/dev/null 2>&1";
  [[maybe_unused]] const int code = std::system(command.c_str());
  ::setenv("LOCPATH", folder.path.c_str(), 1);
  const bool is_set = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  ::unsetenv("LOCPATH");
  return is_set;
}

}  // namespace

TEST_CASE("numbers are read as English writes them, whatever the locale", "[flags]") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const Scratch folder;
  if (!begin_to_write_commas(folder)) WARN("skipped: there is no locale that writes 0,5");
  double rate = 0;
  std::vector<double> factors;
  Flags flags("program", "A program.");
  flags.training("--rate", rate, "").check(between(0.01, 0.02));
  flags.training("--factors", factors, "").check(positive());
  std::vector<std::string> words{"program", "--rate=0.015", "--factors=1e-3,+2.5"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const int code =
      flags.run(static_cast<int>(arguments.size()), arguments.data(), [] { return 0; });
  const double minutes = parse_save_interval("0.5m").value_or(SaveInterval()).seconds;
  CHECK_NOTHROW(
      OptimizerFlags{.optimizer = "adam:beta1=0.95"}.make_optimizer({Parameter(zeros({}))}));
  const std::map<std::string, std::string> saved = flags.training_values();
  rate = 0;
  Flags resumed("program", "A program.");
  resumed.training("--rate", rate, "");
  resumed.adopt(saved, "file");
  std::setlocale(LC_ALL, before.c_str());
  CHECK(code == 0);
  CHECK(rate == 0.015);
  CHECK(factors == std::vector<double>{1e-3, 2.5});
  CHECK(minutes == 30);
}

TEST_CASE("a number is all of its text", "[flags]") {
  CHECK(real_number("-2.5e-3") == -2.5e-3);
  CHECK(real_number("+1") == 1.0);
  CHECK(real_number("1e-400") == 0.0);
  CHECK(real_number("1e400") == INFINITY);
  for (const char* text : {"", "+", "+-1", "1,5", "1.5x", " 1", "one"}) CHECK(!real_number(text));
}

TEST_CASE("numbers that do not fit are refused in words", "[flags]") {
  struct Row {
    std::vector<std::string> words;
    std::string message;
  };
  for (const auto& [words, message] : std::vector<Row>{
           {{"--rate", "abc"}, "--rate: abc is not a number\n"},
           {{"--rate", "0"}, "--rate: must be positive: 0\n"},
           {{"--rate", "nan"}, "--rate: nan is not a finite number\n"},
           {{"--rate", "1e999"}, "--rate: 1e999 is not a finite number\n"},
           {{"--floor", "-1"}, "--floor: must be at least 0: -1\n"},
           {{"--count", "many"}, "--count: many is not a whole number\n"},
           {{"--count", "1.5"}, "--count: 1.5 is not a whole number\n"},
           {{"--count", "0"}, "--count: must be from 1 to 1048576: 0\n"},
           {{"--sizes", "1,x"}, "--sizes: x is not a whole number\n"},
           {{"--sizes", "1,10"}, "--sizes: must be from 1 to 9: 10\n"},
           {{"--count", "99999999999999999999"},
            "--count: must be from 1 to 1048576: 99999999999999999999\n"},
           {{"--sizes", "1,99999999999999999999"},
            "--sizes: must be from 1 to 9: 99999999999999999999\n"},
           {{"--seed", "18446744073709551616"},
            "--seed: must be from 0 to 18446744073709551615: 18446744073709551616\n"},
           {{"--seed", "-1"}, "--seed: must be from 0 to 18446744073709551615: -1\n"},
           {{"--seed", "1e3"}, "--seed: 1e3 is not a whole number\n"},
           {{"--seed", "010"}, "--seed: 010 is not a whole number\n"},
           {{"--seed", "0x10"}, "--seed: 0x10 is not a whole number\n"},
           {{"--seed", ""}, "--seed:  is not a whole number\n"},
           {{"--warmup", "9223372036854775808"},
            "--warmup: must be from -9223372036854775808 to 9223372036854775807: "
            "9223372036854775808\n"},
       }) {
    const auto [code, said] = run(words);
    INFO(said);
    CHECK(code == 2);
    CHECK_THAT(said, Catch::StartsWith(message));
  }
  CHECK(run({"--rate", "1e-300", "--floor", "0", "--count", "1048576", "--sizes", "1,9", "--seed",
             "18446744073709551615", "--warmup", "9223372036854775807"})
            .code == 0);
}

TEST_CASE("words that are no flags are named in their order", "[flags]") {
  const auto said_of = [](std::vector<std::string> words) {
    Index steps = 5;
    Flags flags("program", "A program.");
    flags.length("--steps", steps, "");
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return said_by([&] {
      CHECK(flags.run(static_cast<int>(arguments.size()), arguments.data(), [] { return 0; }) == 2);
    });
  };
  const std::string hint = "; --steps sets the length of this run\n",
                    help = "Run with --help for more information.\n";
  CHECK(said_of({"--epochs", "1"}) == "not expected: --epochs 1" + hint + help);
  CHECK(said_of({"--steps", "2", "--epochs=1"}) == "not expected: --epochs=1" + hint + help);
  CHECK(said_of({"one", "--two", "three"}) == "not expected: one --two three\n" + help);
}

TEST_CASE("flags that exclude, need or check something are refused by name", "[flags]") {
  const auto result_of = [](std::vector<std::string> words) {
    std::string side = "left", file;
    std::vector<std::string> names;
    bool quick = false;
    Flags flags("program", "A program.");
    flags.training("--side", side, "").check(one_of({"left", "right"}));
    flags.setting("--quick", quick, "").excludes({"--side"});
    flags.setting("--file", file, "").needs({"--quick"}).check([](const std::string& text) {
      return text == "old" ? "is gone" : "";
    });
    flags.setting("--names", names, "").delimiter(';').environment("TAPEGRAD_TEST_NAMES");
    flags.checks([&] {
      if (names.size() == 3) throw FlagError("--names", "are three");
    });
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    Outcome outcome{};
    outcome.said = said_by([&] {
      outcome.code = flags.run(static_cast<int>(arguments.size()), arguments.data(),
                               [&] { return static_cast<int>(names.size()) + 10; });
    });
    return std::pair(outcome.code, outcome.said.substr(0, outcome.said.find('\n')));
  };
  using Result = std::pair<int, std::string>;
  CHECK(result_of({"--side", "right"}) == Result{10, ""});
  CHECK(result_of({"--side", "up"}) == Result{2, "--side: up not in {left,right}"});
  CHECK(result_of({"--side", "left", "--quick"}) == Result{2, "--side excludes --quick"});
  CHECK(result_of({"--file", "new"}) == Result{2, "--file requires --quick"});
  CHECK(result_of({"--quick", "--file", "old"}) == Result{2, "--file: is gone"});
  CHECK(result_of({"--names", "a,b;c"}) == Result{12, ""});
  CHECK(result_of({"--names", "a;b;c"}) == Result{2, "--names: are three"});
  setenv("TAPEGRAD_TEST_NAMES", "a;b;c", 1);
  CHECK(result_of({}) == Result{2, "--names: are three"});
  CHECK(result_of({"--names", "a"}) == Result{11, ""});
  unsetenv("TAPEGRAD_TEST_NAMES");
}

TEST_CASE("messages stay short", "[flags]") {
  const std::string text(1'000'000, 'x');
  CHECK(run({"--rate", text}).said.size() < 5000);
  CHECK(run({}, [&]() -> int { throw Error(text); }).said.size() < 5000);
}

TEST_CASE("a program that runs out of memory reports what to do", "[flags]") {
  const auto [code, said] = run({}, []() -> int { throw std::bad_alloc(); });
  CHECK(code == 1);
  CHECK_THAT(said, Contains("program: out of memory; use smaller"));
}

TEST_CASE("no file takes the place of a stream that is closed") {
  const pid_t child = fork();
  if (child == 0) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(stream);
    Flags flags("program", "A program.");
    std::string name = "program";
    char* words[] = {name.data()};
    _exit(flags.run(1, words, [] { return open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 3; }));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}
