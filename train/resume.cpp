#include "tapegrad/train/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// All values of instruction_set(), on this processor or others.
constexpr std::array<std::string_view, 9> instruction_sets{
    "avx512", "avx3_dl", "avx3_zen4",        "avx3_spr", "avx2",
    "sse2",   "neon",    "neon_without_aes", "neon_bf16"};

// Checkpoints of earlier versions do not record their instruction set.
void warn_of_other_bits(const std::map<std::string, std::string>& notes,
                        const std::string& resume) {
  const auto trained = notes.find("instruction_set");
  if (trained == notes.end() || trained->second == instruction_set()) return;
  expect<DataError>(std::find(instruction_sets.begin(), instruction_sets.end(), trained->second) !=
                        instruction_sets.end(),
                    "{}: its note instruction_set is damaged: {}", resume,
                    beginning(trained->second));
  write_diagnostic(
      fmt::format("{0}: trained with {1}, continuing with {2}: the bits will differ; where the "
                  "processor supports it, TAPEGRAD_TARGET={1} keeps them the same\n",
                  resume, trained->second, instruction_set()));
}

// Throws FlagError unless --log-dir is empty or has the log of a run with the same
// flags, or with the checkpoint's flags if its training is extended.
void expect_own_log(const std::map<std::string, std::string>& notes, const Flags& flags) {
  const Json values = flags.values();
  const std::string directory =
      values.contains("log-dir") ? values["log-dir"].get<std::string>() : "";
  std::error_code failure;  // where no log can be, RunLog reports it
  if (directory.empty() || !std::filesystem::exists(directory + "/" + rows_file, failure)) return;
  const std::string path = directory + "/" + config_file;
  constexpr int depth = 2;  // flags, some of them with lists
  const std::optional<Json> logged =
      std::filesystem::exists(path, failure) ? parse_json(read_text(path), depth) : std::nullopt;
  const bool is_configuration = logged && logged->is_object();
  for (const auto& [name, value] : flags.training_values()) {
    if (!values.contains(name)) continue;  // the program's name
    const std::string entry =
        is_configuration && logged->contains(name) ? (*logged)[name].dump() : "";
    if (entry == value || entry == notes.at(name)) continue;
    throw FlagError(
        "--log-dir",
        fmt::format("{} has the log of another run, not of the one to resume: its {} does not "
                    "have {} {}; choose another",
                    directory, config_file, name, value));
  }
}

}  // namespace

void Digest::add(const void* bytes, std::size_t count) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  for (const unsigned char* byte = begin; byte != begin + count; ++byte)
    value_ = (value_ ^ *byte) * 0x100000001b3;
}

std::string Digest::to_string() const { return fmt::format("{:016x}", value_); }

std::map<std::string, std::string> notes_to_resume(const std::string& resume, Flags& flags) {
  if (resume.empty()) return {};
  const std::map<std::string, std::string> notes = checkpoint_notes(resume);
  flags.adopt(notes, resume);
  expect_own_log(notes, flags);
  warn_of_other_bits(notes, resume);
  return notes;
}

const std::string& note_of(const std::map<std::string, std::string>& notes, const std::string& name,
                           const std::string& resume) {
  const auto note = notes.find(name);
  expect<DataError>(note != notes.end(), "{}: it has no note {}", resume, name);
  return note->second;
}

void detail::parse_note(const std::map<std::string, std::string>& notes, const std::string& name,
                        const std::string& resume,
                        const std::function<bool(const Json& note)>& parse) {
  const std::string& text = note_of(notes, name, resume);
  const std::optional<Json> note = parse_json(text, 1);
  expect<DataError>(note && parse(*note), "{}: its note {} is damaged: {}", resume, name,
                    beginning(text));
}

void expect_same_data(const std::map<std::string, std::string>& notes, const std::string& name,
                      const std::string& resume, const std::string& source,
                      const std::string& digest) {
  if (notes.empty()) return;
  const std::string& saved = note_of(notes, name, resume);
  if (saved == digest) return;
  throw FlagError("--data", fmt::format("{} is not what {} was trained on ({}, not {})", source,
                                        resume, digest, beginning(saved)));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
