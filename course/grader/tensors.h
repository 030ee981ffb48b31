#pragma once

// What graders need of the student's tensors. For the stages from 1 on, after the student's file.

#include "grader/grader.h"

namespace grader {

/// A tensor as a student would write it; of a large one, only the shape.
inline std::string text(const Tensor& x) {
  if (x.values.size() > 12) return "a tensor of shape " + text(x.shape);
  return text(x.shape) + " " + text(x.values);
}

/// Throws a Failure unless shape and values are right.   what: "the sum of (2) {1, 2}"
inline void expect_equal(const std::string& what, const Tensor& found, const Tensor& right,
                         double tolerance = 1e-9) {
  expect(found.shape == right.shape,
         what + " has shape " + text(found.shape) + ", must be " + text(right.shape));
  expect_equal(what, found.values, right.values, tolerance);
}

/// (rows, columns) with numbers that look random, from -spread to spread.
inline Tensor example(int rows, int columns, double spread = 1, unsigned seed = 1) {
  Tensor x{{rows, columns}, {}};
  unsigned state = 12345 * seed;
  for (int i = 0; i < rows * columns; ++i) {
    state = state * 1664525u + 1013904223u;
    x.values.push_back(spread * ((state >> 8) / 8388608.0 - 1));
  }
  return x;
}

}  // namespace grader
