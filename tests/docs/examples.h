#pragma once

#include <vector>

/// An example in a comment of a public header.
struct Example {
  const char* place;  ///< header and line
  void (*run)();
};

extern const std::vector<Example> examples;
