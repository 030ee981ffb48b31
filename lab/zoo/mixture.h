#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/loss.h"

/// Moves of a pen, (dx, dy, p) with p = 1 where it is lifted and else 0, drawn from a mixture of M
/// normal distributions in two dimensions and a Bernoulli distribution (Graves 2013, eq. 15-26). A
/// net chooses it by 6 M + 1 numbers: M each of w', x, y, s', t' and r', and one e'.
///
///     w = softmax(w')    s, t = exp(clamp(s', t', -7, 7))    r = 0.999 tanh(r')    e = sigmoid(e')
///     p(dx, dy, p) = (sum_j w_j N(dx, dy; x_j, y_j, s_j, t_j, r_j)) (e if p else 1 - e)
///
/// with means x and y, deviations s and t, and correlations r.
namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `const MixtureNllOptions options{.counted = ones({5}), .reduction = Reduction::sum}`
struct MixtureNllOptions {
  Tensor counted = {};  ///< (...): 1 for moves that count, 0 for others; undefined: all count
  Reduction reduction = Reduction::mean;
};

/// The mean of -log p of moves, in nats: the density of (dx, dy), and the probability of p.
///   numbers: (..., 6 M + 1)   moves: (..., 3)   returns () or (...)
/// What does not count has loss 0 and no gradient, even where it is not finite; the mean is over
/// what counts. Finite for all finite numbers that single precision can square.
/// Throws ShapeError for shapes that do not fit.
/// Example: `mixture_nll(random.normal({5, 13}), random.bernoulli({5, 3}, 0.5))`
Tensor mixture_nll(const Tensor& numbers, const Tensor& moves,
                   const MixtureNllOptions& options = {}, Place = Place::here());

/// Draws a move from each distribution. A bias b >= 0 makes them neater: it divides the deviations
/// by e^b, and w becomes softmax((1 + b) w') (Graves 2013, section 5.4).
///   numbers: (..., 6 M + 1)   returns (..., 3), without a gradient
/// Throws ShapeError for another shape, ArgumentError for a negative bias.
/// Example: `sample_mixture(random.normal({5, 13}), random, 0.5)`
Tensor sample_mixture(const Tensor& numbers, Random& random, double bias = 0,
                      Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
