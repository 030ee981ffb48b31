#include "tapegrad/train/past_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char *program_key = "program", *version_key = "tapegrad",
                     *instructions_key = "instruction_set", *digests_key = "digests";

std::string digest_key(const std::string& name) { return fmt::format("{}.{}", digests_key, name); }

std::map<std::string, std::string> read_configuration(const std::string& directory) {
  constexpr int depth = 2;  // flags, some of them with lists, and the digests
  const std::string path = fmt::format("{}/{}", directory, config_file);
  const std::optional<Json> found = parse_json(read_text(path), depth);
  expect<DataError>(found && found->is_object() && found->contains(digests_key) &&
                        (*found)[digests_key].is_object(),
                    "{}: it is not the configuration of a run, or of one by an earlier version, "
                    "whose steps cannot be computed again; train again with --log-dir",
                    path);
  std::map<std::string, std::string> entries;
  for (const auto& [name, value] : found->items()) entries[name] = value.dump();
  for (const auto& [name, value] : (*found)[digests_key].items())
    entries[digest_key(name)] = value.dump();
  return entries;
}

// Gives the flags as the notes of a checkpoint have them. A run that goes back does not resume what
// that one did.
std::map<std::string, std::string> flags_of(std::map<std::string, std::string> configuration) {
  std::string& program = configuration[program_key];
  if (program.size() > 2) program = program.substr(1, program.size() - 2);  // without quotes
  configuration.erase("resume");
  configuration.erase("original");
  return configuration;
}

}  // namespace

Json configuration_of(const Flags& flags, const std::map<std::string, std::string>& digests) {
  Json configuration = flags.values();
  configuration[program_key] = flags.training_values().at(program_key);
  configuration[instructions_key] = instruction_set();
  configuration[digests_key] = digests;
  return configuration;
}

std::optional<PastRun> PastRun::of(RunFlags& run, Flags& flags) {
  if (run.rewind == 0 && run.fork == 0) return {};
  if (run.fork > 0 && same_file(run.log_dir, run.original))
    throw FlagError("--log-dir", fmt::format("would replace the run to fork, {}; "
                                             "choose another",
                                             run.original));
  PastRun past;
  past.directory_ = run.rewind > 0 ? run.log_dir : run.original;
  past.configuration_ = read_configuration(past.directory_);
  flags.adopt(flags_of(past.configuration_), fmt::format("{}/{}", past.directory_, config_file),
              Flags::Changes::all);
  run.adds_probe = run.probe && !past.probed();
  run.probe = run.probe || past.probed();
  const std::vector<Index> kept = kept_steps(past.directory_);
  if (run.fork > 0) {
    expect<DataError>(std::binary_search(kept.begin(), kept.end(), run.fork),
                      "{}: it has not kept the state after step {}; --rewind {} --log-dir {} "
                      "computes it again and keeps it",
                      past.directory_, run.fork, run.fork, past.directory_);
    past.checkpoint_ = kept_checkpoint(past.directory_, run.fork);
    return past;
  }
  const auto after = std::lower_bound(kept.begin(), kept.end(), run.rewind);
  if (after != kept.begin()) past.checkpoint_ = kept_checkpoint(past.directory_, *(after - 1));
  const bool is_fork = past.text("fork") != "0";
  expect<DataError>(!is_fork || !past.checkpoint_.empty(),
                    "{}: it is of a fork, which has kept no state before step {}; fork again with "
                    "--keep-every",
                    past.directory_, run.rewind);
  return past;
}

std::string PastRun::text(const std::string& name) const {
  const auto found = configuration_.find(name);
  return found == configuration_.end() ? "null" : found->second;
}

std::vector<std::string> PastRun::differences(
    const Flags& flags, const std::map<std::string, std::string>& digests) const {
  std::vector<std::string> found;
  for (const auto& [flag, words] : flags.changes()) found.push_back(words);
  const auto compare = [&](const std::string& what, const std::string& now, const char* key) {
    const std::string before = text(key);
    if (Json(now).dump() != before)
      found.push_back(fmt::format("{} {} instead of {}", what, now, beginning(before)));
  };
  for (const auto& [name, digest] : digests) compare(name, digest, digest_key(name).c_str());
  compare("version", TAPEGRAD_VERSION, version_key);
  compare("instruction set", instruction_set(), instructions_key);
  return found;
}

Replay::Replay(const std::string& directory, Index begin, Index end)
    : rows_(logged_rows(directory)), last_step_(begin), end_(end), is_empty_(rows_.empty()) {
  std::erase_if(rows_, [&](const Metrics& row) {
    const Index step = std::get<Index>(row.at("step"));
    return step <= begin || step > end;
  });
}

void Replay::compare(const Metrics& row) {
  const Index step = std::get<Index>(row.at("step"));
  was_due_ = was_due_ || step <= end_;
  const auto index = static_cast<std::size_t>(equal_);
  if (!difference_.empty() || index == rows_.size()) return;  // or the log ends
  const Json logged = rows_[index], computed = row;
  for (const auto& [name, value] : computed.items()) {
    // They are compared as text, since nan differs from itself.
    const std::string now = value.dump(), before = logged.value(name, Json()).dump();
    if (name == "seconds" || now == before) continue;
    difference_ = fmt::format("after step {}, by step {}: {} is {} here, {} in the log", last_step_,
                              step, name, now, before);
    return;
  }
  ++equal_;
  last_step_ = step;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
