// Measures the reference rows: the median time of a step, its spread, the least time that the
// machine needs for its work, the peak of memory, and what the tape keeps.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "machine_limits.h"
#include "rows.h"
#include "tapegrad/tapegrad.h"
#include "tasks.h"
#include "timing.h"

namespace {

using namespace tapegrad;

// A profiler can be told to look at this function only.
[[gnu::noinline]] void run_steps(const std::function<void()>& step, int count) {
  for (int i = 0; i < count; ++i) step();
}

// Profiles the second step: the first also allocates.
Profile profile_of(const std::function<void()>& step) {
  step();
  Profile profile;
  const Profile::Scope measured(profile);
  step();
  return profile;
}

// The most that the tape of a step keeps alive while rules are pulled, which pauses the tape.
class TapeSize : public Profile::Observer {
 public:
  void section_began(Index) override {}
  void task_ended() override {}
  void operation_ended(const std::string& name) override {
    if (Tape::active() != nullptr) tape_ = Tape::active();
    if (name.ends_with(" backward")) most_ = std::max(most_, tape_->bytes());
  }
  double megabytes() const { return 1e-6 * static_cast<double>(most_); }

 private:
  const Tape* tape_ = nullptr;
  std::size_t most_ = 0;
};

double tape_megabytes(const std::function<void()>& step) {
  TapeSize size;
  Profile profile(&size);
  const Profile::Scope measured(profile);
  step();
  return size.megabytes();
}

// How often a step starts an operation or the rules of one.
Index starts(const Profile& profile) {
  Index calls = -profile.scopes();  // their rests have an entry, too
  for (const Profile::Entry& entry : profile.entries()) calls += entry.calls;
  return calls;
}

// What a start costs where next to nothing is computed.
double milliseconds_of_start() {
  const std::function<void()> step = bench::overhead().prepare();
  return bench::measure(step).low / static_cast<double>(starts(profile_of(step)));
}

void print_limits(const bench::Limits& limits) {
  fmt::print("multiply-adds {:.0f} GFLOP/s, in bfloat16 {:.0f}", limits.flops * 1e-9,
             limits.bfloat16_flops * 1e-9);
  for (const auto& level : limits.levels)
    fmt::print(", {} {:.0f} GB/s", level.name, level.bandwidth * 1e-9);
  fmt::print("\n");
}

struct BenchFlags {
  std::vector<std::string> rows;
  std::string json_file, tasks_file;
  int threads = std::min(2, tapegrad::threads());
  int steps = 0;
  bool list = false, only_limits = false;

  void add_to(CLI::App& app) {
    std::vector<std::string> names;
    for (const auto& row : bench::rows()) names.push_back(row.name);
    app.add_option("rows", rows, "rows to measure (all)")->check(CLI::IsMember(names));
    app.add_option("--threads", threads, "threads (all, at most 2)")->check(CLI::Range(1, 1024));
    app.add_option("--json", json_file, "also write one JSON object per row to this file");
    app.add_option("--tasks", tasks_file,
                   "only write the tasks of each row's step to this file, and what threads cost");
    app.add_option("--steps", steps,
                   "only run this many steps of each row, and print its number of operations")
        ->check(CLI::Range(1, 1000000));
    app.add_flag("--list", list, "only list the rows");
    app.add_flag(
        "--limits", only_limits,
        "only measure the machine: multiply-adds, bandwidths, and products of many shapes");
    app.set_version_flag("--version", TAPEGRAD_VERSION);
  }

  std::vector<bench::BenchRow> chosen() const {
    std::vector<bench::BenchRow> all = bench::rows();
    std::erase_if(all, [&](const bench::BenchRow& row) {
      return !rows.empty() && std::find(rows.begin(), rows.end(), row.name) == rows.end();
    });
    return all;
  }
};

// Prints one line of the table; returns the same as an object.
nlohmann::ordered_json measure_row(const bench::BenchRow& row, const bench::Limits& limits,
                                   double start, int threads) {
  const std::function<void()> step = row.prepare();
  const Profile profile = profile_of(step);
  const double starting = start * static_cast<double>(starts(profile));
  const double limit = starting + 1e3 * bench::least_seconds(limits, profile.kernels()) +
                       1e3 * row.bytes / limits.levels.back().bandwidth;
  const bench::Timing timing = bench::measure(step);
  const double peak = bench::peak_megabytes(), tape = tape_megabytes(step);
  fmt::print("{:<28} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>6.0f}% {:>7.2f}x {:>8.0f} {:>8.1f}\n",
             row.name, timing.median, timing.low, timing.high, limit, 100 * starting / limit,
             timing.median / limit, peak, tape);
  nlohmann::ordered_json line{
      {"row", row.name},         {"implementation", "tapegrad"}, {"version", TAPEGRAD_VERSION},
      {"threads", threads},      {"ms", timing.median},          {"limit_ms", limit},
      {"starting_ms", starting}, {"peak_rss_mb", peak},          {"tape_mb", tape},
  };
  if (row.operations > 0) {
    line["us_per_op"] = timing.median * 1000 / row.operations;
    fmt::print("{:<28} {:>10.3f} us an operation\n", "", timing.median * 1000 / row.operations);
  }
  std::fflush(stdout);
  return line;
}

// Writes an object for the machine, then one for each row: by the number of threads, milliseconds
// of a step, and the sections of several steps, each a list of its operation, microseconds alone
// and microseconds of each task.
void write_tasks(const std::vector<bench::BenchRow>& rows, std::ofstream& file) {
  constexpr int recorded_steps = 9, most_threads = 64;
  const int processors = threads();
  set_threads(2);
  nlohmann::ordered_json machine{{"empty_task", bench::measure_empty_task()}};
  for (const auto& [alone, first, second, join] : bench::measure_wake_ups())
    machine["wake_ups"].push_back({alone, first, second, join});
  file << machine.dump() << '\n';
  for (const auto& row : rows) {
    const std::function<void()> step = row.prepare();
    nlohmann::ordered_json line{{"row", row.name}};
    for (int count = 1; count <= processors; count *= 2) {
      set_threads(count);
      line["ms"][fmt::format("{}", count)] = bench::measure(step).median;
    }
    for (int i = 0; i < recorded_steps; ++i)
      for (int count = 1; count <= most_threads; count *= 2) {
        set_threads(count);
        nlohmann::ordered_json sections = nlohmann::ordered_json::array();
        for (const auto& [operation, alone, tasks] : bench::sections_of(step))
          sections.push_back({operation, alone, tasks});
        line["steps"][fmt::format("{}", count)].push_back(std::move(sections));
      }
    file << line.dump() << '\n';
  }
}

void print_products() {
  for (const auto& [m, n, k, flops] : bench::measure_products())
    fmt::print("product {:>4} x {:>4} x {:>4}: {:>4.0f} GFLOP/s\n", m, n, k, flops * 1e-9);
}

void measure_rows(const BenchFlags& flags, const bench::Limits& limits, std::ofstream& json) {
  const double start = milliseconds_of_start();
  fmt::print("starting an operation or its rules: {:.3f} us\n", 1e3 * start);
  fmt::print("{:<28} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8} {:>8} {:>8}\n", "row", "ms", "p10", "p90",
             "limit ms", "starts", "of limit", "peak MB", "tape MB");
  for (const auto& row : flags.chosen()) {
    const nlohmann::ordered_json line = measure_row(row, limits, start, flags.threads);
    if (json.is_open()) json << line.dump() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures a step of each reference workload."};
  BenchFlags flags;
  flags.add_to(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (flags.list) {
    for (const auto& row : bench::rows()) fmt::print("{}\n", row.name);
    return 0;
  }
  std::ofstream json;
  if (const std::string& file = flags.tasks_file.empty() ? flags.json_file : flags.tasks_file;
      !file.empty()) {
    json.open(file);
    if (!json) {
      fmt::print(stderr, "bench: cannot write {}\n", file);
      return 1;
    }
  }
  if (!flags.tasks_file.empty()) {
    write_tasks(flags.chosen(), json);
    return 0;
  }
  if (flags.steps > 0) {
    set_threads(flags.threads);
    for (const auto& row : flags.chosen()) {
      run_steps(row.prepare(), flags.steps);
      fmt::print("{} {}\n", row.name, row.operations);
    }
    return 0;
  }
  const bench::Limits limits = bench::measure_limits(flags.threads);
  set_threads(flags.threads);
  print_limits(limits);
  if (flags.only_limits)
    print_products();
  else
    measure_rows(flags, limits, json);
  return 0;
}
