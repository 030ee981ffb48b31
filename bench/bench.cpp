// Measures the reference rows: the median time of a step, its spread and the peak of memory.

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "rows.h"
#include "tapegrad/tapegrad.h"

namespace {

using namespace tapegrad;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Timing {
  double median, low, high;  // milliseconds; low and high: the 10th and 90th percentile
};

// Warm for 0.3 s (the second worker wakes late), then steps for 1 s, at least 10 and at most 1000.
Timing measure(const std::function<void()>& step) {
  for (const auto begin = Clock::now(); milliseconds_since(begin) < 300;) step();
  std::vector<double> times;
  for (const auto begin = Clock::now();
       times.size() < 10 || (milliseconds_since(begin) < 1000 && times.size() < 1000);) {
    const auto step_begin = Clock::now();
    step();
    times.push_back(milliseconds_since(step_begin));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10]};
}

// A profiler can be told to look at this function only.
[[gnu::noinline]] void run_steps(const std::function<void()>& step, int count) {
  for (int i = 0; i < count; ++i) step();
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures a training step of each reference workload."};
  std::vector<std::string> chosen;
  std::string json_file;
  int thread_count = std::min(2, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::string> names;
  for (const auto& row : bench::rows()) names.push_back(row.name);
  app.add_option("rows", chosen, "rows to measure (all)")->check(CLI::IsMember(names));
  app.add_option("--threads", thread_count, "threads, by default the machine's, at most 2")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json_file, "also write an object a line to this file");
  int steps = 0;
  app.add_option("--steps", steps, "only run so many steps of each row and name its operations")
      ->check(CLI::PositiveNumber);
  bool list = false;
  app.add_flag("--list", list, "only list the rows");
  app.set_version_flag("--version", TAPEGRAD_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (list) {
    for (const std::string& name : names) fmt::print("{}\n", name);
    return 0;
  }
  set_threads(thread_count);
  std::ofstream json;
  if (!json_file.empty()) {
    json.open(json_file);
    if (!json) {
      fmt::print(stderr, "bench: cannot write {}\n", json_file);
      return 1;
    }
  }

  if (steps == 0)
    fmt::print("{:<28} {:>10} {:>10} {:>10} {:>12}\n", "row", "ms", "p10", "p90", "peak MB");
  for (const auto& row : bench::rows()) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), row.name) == chosen.end())
      continue;
    if (steps > 0) {
      run_steps(row.prepare(), steps);
      fmt::print("{} {}\n", row.name, row.operations);
      continue;
    }
    const Timing timing = measure(row.prepare());
    fmt::print("{:<28} {:>10.3f} {:>10.3f} {:>10.3f} {:>12.0f}\n", row.name, timing.median,
               timing.low, timing.high, peak_megabytes());
    nlohmann::ordered_json line{{"row", row.name},
                                {"implementation", "tapegrad"},
                                {"version", TAPEGRAD_VERSION},
                                {"threads", thread_count},
                                {"ms", timing.median},
                                {"peak_rss_mb", peak_megabytes()}};
    if (row.operations > 0) {
      line["us_per_op"] = timing.median * 1000 / row.operations;
      fmt::print("{:<28} {:>10.3f} us an operation\n", "", timing.median * 1000 / row.operations);
    }
    if (json.is_open()) json << line.dump() << '\n';
    std::fflush(stdout);
  }
  return 0;
}
