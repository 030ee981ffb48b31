#pragma once

// Stage 5: softmax and cross entropy without overflow. Fill in what throws; add what you need.

#include <stdexcept>
#include <vector>

#include "tape.h"

/// The logarithms of the softmax of each row.   x: (N, C)    returns: (N, C)
inline Variable log_softmax(const Variable& x) {
  (void)x;
  throw std::logic_error("log_softmax is not written yet");
}

/// exp(x) divided by its sum over the row, for each row.   x: (N, C)    returns: (N, C), rows of
/// sum 1
inline Variable softmax(const Variable& x) {
  (void)x;
  throw std::logic_error("softmax is not written yet");
}

/// The mean over the rows of -log(softmax of the row at its label).
///   logits: (N, C)    labels: N numbers from 0 to C - 1    returns: (1, 1)
/// Throws std::invalid_argument if a label is out of range, or if there is not one for each row.
inline Variable cross_entropy(const Variable& logits, const std::vector<int>& labels) {
  (void)logits, (void)labels;
  throw std::logic_error("cross_entropy is not written yet");
}
