#pragma once

#include <type_traits>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Chooses the routine of BLAS or LAPACK for `real`.
template <class Single, class Double>
constexpr auto for_real(Single* single, Double* twice) {
  if constexpr (std::is_same_v<real, float>)
    return single;
  else
    return twice;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
