#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/machine/profile.h"

namespace tapegrad::bench {

/// What the machine can do at most, with some number of threads.
struct Limits {
  double flops;           ///< multiply-adds of registers, in operations per second
  double bfloat16_flops;  ///< the same of numbers in bfloat16
  struct Level {
    std::string name;
    double capacity;   ///< bytes that fit
    double bandwidth;  ///< bytes per second: read from caches, a triad on main memory
  };
  std::vector<Level> levels;  ///< the fastest first
};

/// Measures them, within two seconds, in a process of its own, whose memory does not count for this
/// one. Must be called before `set_threads` has started threads, which the other process lacks.
Limits measure_limits(int threads);

/// The least time for these kernels, in seconds: for each, its operations at the greatest rate, or
/// its bytes at the bandwidth of the first level that holds them, whichever takes longer.
double least_seconds(const Limits& limits, const std::vector<Profile::Kernel>& kernels);

/// A product of a shape that occurs in the rows, and the rate that `matmul` reaches.
struct ProductRate {
  Index m, n, k;
  double flops;  ///< operations per second
};
std::vector<ProductRate> measure_products();

}  // namespace tapegrad::bench
