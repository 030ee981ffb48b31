#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {

/// A row of the benchmark whose batch can be divided: its net, and the mean loss over rows
/// [begin, end) of its batch.
struct Workload {
  std::string name;
  Fields net;
  Index rows;
  std::function<Tensor(Index begin, Index end)> loss;
};

/// The rows `mlp`, `lstm` and `transformer_m`.
std::vector<std::string> workload_names();
Workload workload(const std::string& name);

}  // namespace tapegrad::bench
