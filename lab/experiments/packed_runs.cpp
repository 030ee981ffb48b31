#include "experiments/packed_runs.h"

#include <fmt/format.h>
#include <zlib.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

constexpr std::string_view before_record = R"(,"record":)";
constexpr std::uint64_t most_repeats = 1'000'000;
constexpr std::size_t longest_lines = std::size_t{256} << 20;

std::string digest_of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.to_string();
}

std::string line_of(const RunKey& key, std::uint64_t repeat, const std::string& record) {
  const Json head{
      {"run", key.run}, {"seed", key.seed}, {"repeat", repeat}, {"digest", digest_of(record)}};
  std::string line = head.dump();
  line.pop_back();
  return line.append(before_record).append(record).append("}\n");
}

/// The parts of a line.
struct Line {
  Json head;
  std::string_view record;
};

// Nothing for a line that is no run. In JSON no text has the characters before a record, since its
// quotation marks are escaped.
std::optional<Line> parsed_line(std::string_view line) {
  const std::size_t at = line.find(before_record);
  if (at == std::string_view::npos || line.back() != '}') return {};
  const std::optional<Json> head = parse_json(std::string(line.substr(0, at)) + "}", 1);
  if (!head || head->size() != 4) return {};
  for (const char* text : {"run", "digest"})
    if (!head->contains(text) || !head->at(text).is_string()) return {};
  for (const char* number : {"seed", "repeat"})
    if (!head->contains(number) || !head->at(number).is_number_unsigned()) return {};
  if (head->at("repeat") < 1 || head->at("repeat") > most_repeats) return {};
  const std::size_t begin = at + before_record.size();
  return Line{*head, line.substr(begin, line.size() - begin - 1)};
}

FileLock locked(const std::string& name) {
  make_directory(std::filesystem::path(name).parent_path());
  FileLock lock(name);
  expect<DataError>(lock.error() == 0,
                    "{}: it cannot be locked: {}; choose --runs on another file system", name,
                    std::strerror(lock.error()));
  return lock;
}

// With neither a name nor a time, and for an unknown system, so that its bytes depend on the text
// alone.
std::string gzipped(std::string_view text) {
  constexpr int gzip = 16, usual_memory = 8, unknown_system = 255;
  z_stream stream{};
  expect<MemoryError>(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip + MAX_WBITS,
                                   usual_memory, Z_DEFAULT_STRATEGY) == Z_OK,
                      "ledger: out of memory while packing {} bytes", text.size());
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, deflateEnd);
  gz_header header{};
  header.os = unknown_system;
  deflateSetHeader(&stream, &header);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  return packed;
}

}  // namespace

PackedRuns::PackedRuns(std::string_view lines, const std::string& file) {
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::string_view text = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(text.size() + 1, lines.size()));
    const std::optional<Line> line = parsed_line(text);
    expect<DataError>(line.has_value(),
                      "{}: line {}: it is not a run of the laboratory; remove the line", file,
                      number);
    const auto run = line->head["run"].get<std::string>();
    const auto seed = line->head["seed"].get<std::uint64_t>();
    const auto repeat = line->head["repeat"].get<std::uint64_t>();
    const std::string source =
        fmt::format("{}: line {}: {} seed {}", file, number, beginning(run), seed);
    const std::string digest = digest_of(line->record);
    expect<DataError>(line->head["digest"] == digest,
                      "{}: its record is damaged: its digest is {}, not {}; remove the line",
                      source, digest, beginning(line->head["digest"].get<std::string>()));
    const auto [place, added] =
        repeats_[{run, seed}].emplace(repeat, PackedRun{std::string(line->record), source});
    expect<DataError>(added, "{}: repeat {} has another line: {}; remove one of them", source,
                      repeat, place->second.source);
  }
}

std::string PackedRuns::lines() const {
  std::string lines;
  for (const auto& [key, repeats] : repeats_)
    for (const auto& [repeat, run] : repeats) lines += line_of(key, repeat, run.record);
  return lines;
}

const PackedRun* PackedRuns::latest(const RunKey& key) const {
  const auto found = repeats_.find(key);
  return found == repeats_.end() ? nullptr : &found->second.rbegin()->second;
}

bool PackedRuns::add(const RunKey& key, const std::string& record) {
  const PackedRun* before = latest(key);
  if (before != nullptr && before->record == record) return false;
  auto& repeats = repeats_[key];
  const std::uint64_t repeat = repeats.empty() ? 1 : repeats.rbegin()->first + 1;
  expect<DataError>(repeat <= most_repeats,
                    "ledger: {} seed {} has {} repeats; remove some of them", beginning(key.run),
                    key.seed, repeat - 1);
  repeats.emplace(repeat, PackedRun{record});
  return true;
}

const PackedRuns& RunFile::runs() {
  std::error_code unknown;  // reading reports why
  const State state{std::filesystem::last_write_time(path_, unknown),
                    std::filesystem::file_size(path_, unknown)};
  if (read_ == state) return runs_;
  runs_ = is_there(path_) ? PackedRuns(read_file(path_, longest_lines).text(), path_.string())
                          : PackedRuns();
  read_ = state;
  return runs_;
}

void RunFile::add(const RunKey& key, const std::string& record) {
  std::optional<FileLock> lock;
  while (lock.emplace(locked(path_.string() + ".lock")), !lock->is_held())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  PackedRuns all = runs();
  if (!all.add(key, record)) return;
  const std::string lines = all.lines();
  expect<DataError>(lines.size() <= longest_lines,
                    "{}: its runs have more than {} bytes; choose another --runs", path_.string(),
                    longest_lines);
  const std::string packed = gzipped(lines);
  write_file(path_, std::as_bytes(std::span(packed)));
}

FileLock RunFile::claim(const RunKey& key) const {
  const std::string digest = digest_of(fmt::format("{} seed {}", key.run, key.seed));
  return locked(fmt::format("{}.{}.lock", path_.string(), digest));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
