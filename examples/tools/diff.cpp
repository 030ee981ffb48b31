// Compares two traces of a training step: where do they begin to differ, and why?

#include <CLI/CLI.hpp>

#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;

namespace {

constexpr int agreed = 0, differing = 1, refused = 2;

constexpr const char* purpose =
    "Compares the values and gradients of two training steps: where do they begin to differ, and\n"
    "what does the difference look like? The exit code is 0 if they agree, 1 if they differ, 2 if\n"
    "a file cannot be read or the command is wrong.";

struct Command {
  std::string a, b;
  TraceDiffOptions options;
};

void declare(CLI::App& app, Command& command) {
  app.add_option("A", command.a, "A file of write_trace, or of docs/pytorch_trace.py")->required();
  app.add_option("B", command.b, "The file to compare it with")->required();
  app.add_option("--tolerance", command.options.tolerance,
                 "Smaller differences are rounding: in units of the last place of a tensor's "
                 "largest element, in the lower precision of both files")
      ->capture_default_str();
  app.set_version_flag("--version", fmt::format("diff of tapegrad {}", TAPEGRAD_VERSION));
}

}  // namespace

int main(int argc, char** argv) try {
  prepare_output();
  CLI::App app(purpose, "diff");
  Command command;
  declare(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // for help or the version
    std::ostringstream text;
    app.exit(asked, text, text);
    write_help(text.str());
    return results_are_written() ? agreed : differing;
  } catch (const CLI::ParseError& error) {
    write_diagnostic(fmt::format("diff: {}; see diff --help\n", error.what()));
    return refused;
  }
  const TraceDiff diff =
      compare_traces(read_trace(command.a), read_trace(command.b), command.options);
  write_result(printable_lines(diff.report));
  return diff.equal() && results_are_written() ? agreed : differing;
} catch (const std::exception& error) {
  write_diagnostic(fmt::format("diff: {}\n", error.what()));
  return refused;
}
