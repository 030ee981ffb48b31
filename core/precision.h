#pragma once

#include "tapegrad/core/scoped.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How matrix products see their operands: as they are, or rounded to bfloat16, which has the range
/// of a float and 8 significant bits. Sums are not rounded further. Operands too small for a normal
/// float, 1.2e-38, count as 0, and on processors with AVX512_BF16 or AMX so do products and sums.
/// Example: `const PrecisionScope faster(Precision::bfloat16); matmul(x, y, {.b = true})`
enum class Precision { full, bfloat16 };

/// While in scope, `matmul`, `linear` and attention on this thread, and what is composed of them,
/// multiply in this precision. So do their derivatives of every order, wherever these are computed:
/// the derivative of rounding counts as 1. Convolutions and recurrent layers multiply in full
/// precision. Fused attention rounds its weights before it divides them by their sum. Results do
/// not depend on the number of threads. They are the same on all processors, apart from products
/// and sums too small for a normal float, except those with AMX, which adds in another order.
/// Without AVX512_BF16 or AMX, products are no faster.
/// Example: `const PrecisionScope scope(Precision::bfloat16); linear(x, transpose(y), zeros({4}))`
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  static Precision active();

 private:
  Scoped<Precision> precision_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
