#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tapegrad::bench {

/// A workload: `prepare` makes its data and network and returns one step of it.
struct BenchRow {
  std::string name;
  std::function<std::function<void()>()> prepare;
  int operations = 0;  ///< of a step that is a chain of operations: their number
};

/// A chain of operations on eight numbers, where next to nothing is computed.
BenchRow overhead();
/// All rows, through the public interface that the README shows.
std::vector<BenchRow> rows();

}  // namespace tapegrad::bench
