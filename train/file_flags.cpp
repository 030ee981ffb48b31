#include "tapegrad/train/file_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

namespace fs = std::filesystem;

std::string named_by(const Json& values, const char* flag) {
  return values.contains(flag) && values[flag].is_string() ? values[flag].get<std::string>() : "";
}

// Where a file will be that does not exist yet, and to which links may lead. Nothing if no file can
// be there.
std::optional<fs::path> place_of(const fs::path& path) {
  constexpr int most_links = 40;  // as in the kernel
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  for (int links = 0; links < most_links && fs::is_symlink(target, error); ++links)
    target = target.parent_path() / fs::read_symlink(target, error);
  const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
  return error ? std::nullopt : std::optional(folder / target.filename());
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const std::optional<fs::path> first = place_of(a), second = place_of(b);
  return first && first == second;
}

bool holds_something(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
}

void expect_no_link(const std::string& path) {
  std::error_code error;  // where nothing can be, writing reports it
  expect<DataError>(!fs::is_symlink(path, error),
                    "{}: it is a link, and this program would write to where it leads; remove it, "
                    "or choose another directory",
                    path);
}

void expect_own(const std::string& file, std::string_view mark) {
  expect_no_link(file);
  if (!holds_something(file)) return;
  const FileBytes found = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(found.bytes().data()),
                              found.bytes().size());
  expect<DataError>(text.find(mark) != std::string_view::npos,
                    "{}: this program has not written it, and would replace it; move it, or "
                    "choose another directory",
                    file);
}

void write_own(const std::string& file, std::string_view mark, std::string_view text) {
  expect_own(file, mark);
  write_file(file, std::as_bytes(std::span(text)));
}

void expect_replaceable(const std::string& save, const std::string& resume) {
  if (!save.empty() && holds_something(save) && (resume.empty() || !same_file(save, resume)))
    throw FlagError("--save",
                    fmt::format("{} exists, and this run would replace it; continue it with "
                                "--resume, remove it, or name another",
                                save));
}

void check_file_flags(const Flags& flags) {
  const Json values = flags.values();
  const std::string save = named_by(values, "save"), resume = named_by(values, "resume");
  std::error_code error;
  if (fs::is_fifo(resume, error))
    throw FlagError("--resume",
                    fmt::format("{} is a pipe, which cannot be read twice; name a file", resume));
  expect_replaceable(save, resume);
}

FileLock claim_output(const std::string& flag, const std::string& path) {
  std::error_code error;
  FileLock lock(fs::is_directory(path, error) ? fs::path(path)
                                              : place_of(path).value_or(path) += ".lock");
  if (!lock.is_held() && lock.error() == 0)
    throw FlagError(flag, fmt::format("another run, which has not ended, writes to {}; wait for "
                                      "its end, or choose another",
                                      path));
  return lock;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
