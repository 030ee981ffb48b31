#include "timing.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace tapegrad::bench {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

Timing measure(const std::function<void()>& step) {
  for (const auto begin = Clock::now(); milliseconds_since(begin) < 300;) step();
  std::vector<double> times;
  const std::clock_t processor_begin = std::clock();
  for (const auto begin = Clock::now();
       times.size() < 10 || (milliseconds_since(begin) < 1000 && times.size() < 1000);) {
    const auto step_begin = Clock::now();
    step();
    times.push_back(milliseconds_since(step_begin));
  }
  const double processor = 1e3 * static_cast<double>(std::clock() - processor_begin) /
                           CLOCKS_PER_SEC / static_cast<double>(times.size());
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10],
          processor};
}

double peak_megabytes() {
  // The peak of getrusage would begin with the memory of the program that has started this one.
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kilobytes = 0;
      status >> kilobytes;
      return kilobytes / 1024;
    }
  return 0;
}

}  // namespace tapegrad::bench
