#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The exponent from which on a weight e^-x counts as 0. Products of smaller weights would be
/// subnormal numbers, which cost the processor some hundred cycles each.
constexpr double farthest_weight = 40;
/// The least number that the weights of a filter are divided by.
constexpr double least_filter_sum = 1e-8;

/// For each of `count` windows a bank of `filters` Gaussians along an axis of `extent` pixels; see
/// `gaussian_filterbank`. center, stride, deviation: (count)
struct Filterbanks {
  Index count, filters, extent;
  const real *center, *stride, *deviation;
};

/// weights (count, filters, extent). A task takes as many windows as make it worthwhile.
void filterbanks(const Filterbanks& banks, real* weights);

/// The gradients of the numbers of windows, (count) each.
struct FilterbankGradients {
  real *center, *stride, *deviation;
};
/// Given the gradient g of the weights, which it computes again. Tasks as above.
void filterbanks_back(const Filterbanks& banks, const real* g, FilterbankGradients d);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
