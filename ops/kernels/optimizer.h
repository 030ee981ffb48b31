#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Updates w, m and v in place; g is the gradient. The constants apply to one step.
struct Adam {
  double beta1, beta2, epsilon;
  double step_size;        ///< rate / (1 - beta1^t)
  double root_correction;  ///< 1 / sqrt(1 - beta2^t)
  double decay;            ///< times w, added to the gradient
  double shrink;           ///< first multiplies w
};
struct RmsProp {
  double rate, alpha, epsilon, momentum, decay;
};
struct Sgd {
  double rate, momentum, decay;
  bool nesterov, first_step;
};
struct Adagrad {
  double rate, epsilon, decay;
};
struct Adadelta {
  double rate, rho, epsilon, decay;
};
struct Lion {
  double rate, beta1, beta2;
  double shrink;  ///< first multiplies w
};
struct Optimizers {
  void (*adam)(const Adam& o, Index count, real* w, const real* g, real* m, real* v);
  /// v: the mean square; m: the velocity
  void (*rms_prop)(const RmsProp& o, Index count, real* w, const real* g, real* v, real* m);
  /// m: the velocity
  void (*sgd)(const Sgd& o, Index count, real* w, const real* g, real* m);
  /// s: the sum of squares
  void (*adagrad)(const Adagrad& o, Index count, real* w, const real* g, real* s);
  /// v: the mean square of gradients; u: the mean square of changes
  void (*adadelta)(const Adadelta& o, Index count, real* w, const real* g, real* v, real* u);
  /// m: the mean
  void (*lion)(const Lion& o, Index count, real* w, const real* g, real* m);
};
const Optimizers& optimizers();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
