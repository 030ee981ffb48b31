#include "tapegrad/train/resume.h"

#include <fmt/format.h>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/instruction_set.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Checkpoints of earlier versions do not say what they were trained with.
void warn_of_other_bits(const std::map<std::string, std::string>& notes,
                        const std::string& resume) {
  const auto trained = notes.find("instruction_set");
  if (trained == notes.end() || trained->second == instruction_set()) return;
  write_diagnostic(
      fmt::format("{0}: trained with {1}, goes on with {2}: the bits will differ; where the "
                  "processor has it, TAPEGRAD_TARGET={1} keeps them the same\n",
                  resume, beginning(trained->second), instruction_set()));
}

}  // namespace

void Digest::add(const void* bytes, std::size_t count) {
  const auto* begin = static_cast<const unsigned char*>(bytes);
  for (const unsigned char* byte = begin; byte != begin + count; ++byte)
    value_ = (value_ ^ *byte) * 0x100000001b3;
}

std::string Digest::text() const { return fmt::format("{:016x}", value_); }

std::map<std::string, std::string> notes_to_resume(const std::string& resume, Flags& flags) {
  if (resume.empty()) return {};
  const std::map<std::string, std::string> notes = checkpoint_notes(resume);
  flags.adopt(notes, resume);
  warn_of_other_bits(notes, resume);
  return notes;
}

const std::string& note_of(const std::map<std::string, std::string>& notes, const std::string& name,
                           const std::string& resume) {
  const auto note = notes.find(name);
  expect<DataError>(note != notes.end(), "{}: it has no note {}", resume, name);
  return note->second;
}

void expect_same_data(const std::map<std::string, std::string>& notes, const std::string& resume,
                      const std::string& source, const std::string& digest) {
  if (notes.empty()) return;
  const std::string& saved = note_of(notes, "data", resume);
  if (saved == digest) return;
  throw CLI::ValidationError("--data", fmt::format("{} is not what {} was trained on ({}, not {})",
                                                   source, resume, digest, beginning(saved)));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
