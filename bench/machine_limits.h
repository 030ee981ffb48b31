#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/profile.h"

namespace tapegrad::bench {

/// What the machine can do at most, with the threads that are set.
struct Limits {
  double flops;  ///< multiply-adds of registers, in operations a second
  struct Level {
    std::string name;
    double capacity;   ///< bytes that fit
    double bandwidth;  ///< bytes a second: read from caches, a triad on main memory
  };
  std::vector<Level> levels;  ///< the fastest first
};

/// Measures them, within a second, in a process of its own: memory that it uses does not count for
/// this one. To be called before anything has run on threads.
Limits measure_limits();

/// The least seconds for these kernels: each takes its operations at the greatest rate, or its
/// bytes at the bandwidth of the first level that holds them, whichever is longer.
double least_seconds(const Limits& limits, const std::vector<Profile::Kernel>& kernels);

/// A product as the rows have it, and what `matmul` reaches.
struct ProductRate {
  Index m, n, k;
  double flops;  ///< operations a second
};
std::vector<ProductRate> measure_products();

}  // namespace tapegrad::bench
