#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"

namespace tapegrad::bench {

/// A workload: `prepare` makes its data and network and returns one step of it.
struct BenchRow {
  std::string name;
  std::function<std::function<void()>()> prepare;
  int operations = 0;  ///< of a step that is a chain of operations: their number
  double bytes = 0;    ///< that a step reads from a file
};

/// Numbers below `vocabulary`.
Indices random_tokens(Index vocabulary, const Shape& shape, Random& random);

/// A chain of operations on eight numbers, where next to nothing is computed.
BenchRow overhead();
/// Trained nets at work, without a tape: they generate, translate and classify.
std::vector<BenchRow> inference();
/// What reads files of 100 MB, which the system keeps in memory.
std::vector<BenchRow> files();
/// All rows, through the public interface that the README shows.
std::vector<BenchRow> rows();

}  // namespace tapegrad::bench
