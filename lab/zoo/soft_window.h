#pragma once

#include "tapegrad/nn/layers/linear.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A text that windows look at: its characters one-hot, and 0 behind its end.
///   characters: (B, U), in [0, count)   lengths: (B), in [0, U]   returns (B, U, count)
/// Throws ShapeError for shapes, characters and lengths that do not fit.
/// Example: `window_text(Indices({2, 2}, {2, 0, 1, 0}), Indices({2}, {2, 1}), 3)`
Tensor window_text(const Indices& characters, const Indices& lengths, Index count,
                   Place = Place::here());

/// A window that K bumps slide along a text, always forwards (Graves 2013, eq. 46-51). In each step
/// it is chosen by what a net knows, h:
///
///     (a', b', k') = linear(h)      a = exp(a')   b = exp(b')
///     k_t = k_{t-1} + exp(k')                                         k_0 = 0
///     phi(u) = sum_k a_k exp(-b_k (k_k - u)^2)                        u = 1 .. U
///     w = sum_u phi(u) c_u                                            with the characters c_u
///
/// At first it moves on by `advance` characters per step, roughly.
/// Example: `SoftWindow(6, random).first(2)`
struct SoftWindow {
  Linear numbers;

  /// in: size of h   Throws ArgumentError for sizes below 1 and an advance that is not positive.
  SoftWindow(Index in, Random& random, Index bumps = 10, double advance = 1);
  Index bumps() const { return numbers.bias.shape()[0] / 3; }
  /// k_0: (batch, K)
  Tensor first(Index batch) const { return zeros({batch, bumps()}); }

  struct Result {
    Tensor window;  ///< w, (B, C)
    Tensor weight;  ///< phi, (B, U), also behind the end of a text
    Tensor place;   ///< k_t, (B, K)
  };
  /// h: (B, in)   place: k_{t-1}, (B, K)   text: one-hot characters, (B, U, C)
  /// Throws ShapeError for shapes that do not fit.
  Result operator()(const Tensor& h, const Tensor& place, const Tensor& text,
                    Place = Place::here()) const;
  void visit(Fields& field) const { field("numbers", numbers); }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
