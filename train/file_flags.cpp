#include "tapegrad/train/file_flags.h"

#include <filesystem>

#include "tapegrad/core/beginning.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

namespace fs = std::filesystem;

std::string named_by(const Json& values, const char* flag) {
  return values.contains(flag) && values[flag].is_string() ? values[flag].get<std::string>() : "";
}

// An empty file, as made by mktemp, has nothing to lose.
bool holds_something(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
}

}  // namespace

CLI::Validator file_name() {
  return {[](const std::string& text) -> std::string {
            if (text.empty()) return "the file name is empty";
            if (!text.starts_with("--")) return "";
            return fmt::format("the file name is missing: {0} is a flag; write ./{0} for a file",
                               beginning(text));
          },
          ""};
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(a, error), error);
  return first == fs::weakly_canonical(fs::absolute(b, error), error) && !error;
}

void check_file_flags(const Flags& flags) {
  const Json values = flags.values();
  const std::string save = named_by(values, "save"), resume = named_by(values, "resume");
  std::error_code error;
  if (fs::is_fifo(resume, error))
    throw CLI::ValidationError(
        "--resume", fmt::format("{} is a pipe, which cannot be read twice; name a file", resume));
  if (!save.empty() && holds_something(save) && (resume.empty() || !same_file(save, resume)))
    throw CLI::ValidationError(
        "--save", fmt::format("{} exists, and this training would replace it; continue it with "
                              "--resume, remove it, or name another",
                              save));
  const std::string directory = named_by(values, "log-dir");
  if (directory.empty()) return;
  for (const std::string& file : log_files(directory))
    for (const char* flag : {"data", "save", "resume"}) {
      const std::string path = named_by(values, flag);
      if (!path.empty() && same_file(path, file))
        throw CLI::ValidationError(
            fmt::format("--{}", flag),
            fmt::format("{} is a log file of --log-dir {}; name another", path, directory));
    }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
