#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::bench {

/// A part of an operation on one thread: first what the calling thread does alone, then the tasks
/// of a call of parallel_for, which more threads would share. Times are microseconds.
struct Section {
  std::string operation;  ///< as the profile names it
  double alone = 0;
  std::vector<double> tasks;  ///< none after the last call of an operation
};

/// The sections of one step in their order, divided for as many threads as there are, but run on
/// one. Times are of the processor.
std::vector<Section> sections_of(const std::function<void()>& step);

/// How a call of parallel_for spends its time on two threads, after the calling thread has worked
/// alone for a while: microseconds from the call until the calling thread and the other one begin
/// a task, and from the end of the tasks until the call returns.
struct WakeUp {
  double alone, first, second, join;
};
/// For times alone of 0 to 5 ms, medians of 11 calls in the quietest of 30 rounds. Call it with two
/// threads.
std::vector<WakeUp> measure_wake_ups();
/// Microseconds of a task that does nothing, on one of two threads. Call it with two threads.
double measure_empty_task();

}  // namespace tapegrad::bench
