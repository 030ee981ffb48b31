#include "tasks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <utility>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "timing.h"

namespace tapegrad::bench {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

// Microseconds that this thread has had a processor. By another clock, long tasks would seem longer
// where other programs use the processors, too.
double processor_time() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// What reading that clock adds to a time.
double least_time() {
  double least = 1;
  for (int i = 0; i < 1000; ++i) {
    const double begin = processor_time();
    least = std::min(least, processor_time() - begin);
  }
  return least;
}

class SectionRecord : public Profile::Observer {
 public:
  void section_began(Index tasks) override {
    left_.push_back(tasks);
    if (left_.size() > 1) return;  // within a task, whose time includes it
    sections_.push_back({{}, lap(), {}});
    sections_.back().tasks.reserve(static_cast<std::size_t>(tasks));
    lap();  // leaves out the time of recording
  }
  void task_ended() override {
    if (left_.size() == 1) sections_.back().tasks.push_back(lap());
    if (--left_.back() == 0) left_.pop_back();
  }
  void operation_ended(const std::string& name) override {
    sections_.push_back({{}, lap(), {}});
    for (; named_ < sections_.size(); ++named_) sections_[named_].operation = name;
    lap();
  }

  std::vector<Section> of(const std::function<void()>& step) {
    Profile profile(this);
    {
      const Profile::Scope measured(profile);
      lap();
      step();
    }
    return std::move(sections_);
  }

 private:
  // The time since it was called last.
  double lap() {
    const double now = processor_time();
    return std::max(0.0, now - std::exchange(last_, now) - least_);
  }

  const double least_ = least_time();
  double last_ = 0;
  std::vector<Index> left_;  // tasks of the calls of parallel_for that have begun
  std::size_t named_ = 0;
  std::vector<Section> sections_;
};

WakeUp wake_up_after(double alone) {
  for (const auto begin = Clock::now(); microseconds_between(begin, Clock::now()) < alone;) {
  }
  Clock::time_point began[2], ended[2];
  std::atomic<int> here = 0;
  const Clock::time_point called = Clock::now();
  parallel_for(2, [&](Index task) {
    began[task] = Clock::now();
    // Waits for the other thread, so that it must take the other task; 2 ms at most, since other
    // programs may keep it from running.
    ++here;
    while (here < 2 && microseconds_between(began[task], Clock::now()) < 2e3) {
    }
    ended[task] = Clock::now();
  });
  const Clock::time_point returned = Clock::now();
  return {alone, microseconds_between(called, std::min(began[0], began[1])),
          microseconds_between(called, std::max(began[0], began[1])),
          microseconds_between(std::max(ended[0], ended[1]), returned)};
}

// Medians of some calls.
WakeUp wake_ups_after(double alone) {
  constexpr int calls = 11;
  std::vector<double> first, second, join;
  for (int i = 0; i < calls; ++i) {
    const WakeUp each = wake_up_after(alone);
    first.push_back(each.first);
    second.push_back(each.second);
    join.push_back(each.join);
  }
  return {alone, median(first), median(second), median(join)};
}

// Calls `measure` many times and returns what is least by `less`: other programs on the same
// processors only add to a time.
template <class Measure, class Less>
auto least_of(const Measure& measure, const Less& less) {
  constexpr int rounds = 30;
  auto least = measure();
  for (int i = 1; i < rounds; ++i) least = std::min(least, measure(), less);
  return least;
}

}  // namespace

std::vector<Section> sections_of(const std::function<void()>& step) {
  return SectionRecord().of(step);
}

std::vector<WakeUp> measure_wake_ups() {
  std::vector<WakeUp> found;
  for (const double alone : {0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 5000.0})
    found.push_back(least_of([=] { return wake_ups_after(alone); },
                             [](const WakeUp& a, const WakeUp& b) { return a.second < b.second; }));
  return found;
}

double measure_empty_task() {
  constexpr Index tasks = 4096;
  const auto measure = [] {
    const Clock::time_point begin = Clock::now();
    parallel_for(tasks, [](Index) {});
    // Two threads share the tasks.
    return 2 * microseconds_between(begin, Clock::now()) / tasks;
  };
  return least_of(measure, std::less<>());
}

}  // namespace tapegrad::bench
