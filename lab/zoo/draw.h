#pragma once

#include <vector>

#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/zoo/glimpse.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct DrawOptions {
  Index glimpses = 10;              ///< steps, T
  Index hidden = 128;               ///< units of each LSTM
  Index latent = 20;                ///< variables drawn in a step
  Index read = 3;                   ///< filters along each side of a window, N
  Index write = 5;                  ///< the same for writing
  RecurrentOptions recurrent = {};  ///< of both LSTMs: norm and placement
};

/// DRAW, a variational autoencoder that reads and writes images one glimpse after the other (Gregor
/// et al. 2015, eq. 3-8 and section 3.2). With c_0 = 0 and x in [0, 1], in each of T steps:
///
///     e_t = x - sigmoid(c_{t-1})                      what is missing
///     r_t = [read(x), read(e_t)]                      both through one window, chosen by h^d_{t-1}
///     h^e_t = LSTM_e([r_t, h^d_{t-1}])
///     z_t = m_t + exp(l_t) u_t                        m_t, l_t linear in h^e_t;  u_t ~ N(0, 1)
///     h^d_t = LSTM_d(z_t)
///     c_t = c_{t-1} + write(h^d_t)                    a patch and its window, linear in h^d_t
///
/// c_T are the logits of Bernoulli pixels. With the placement `CellNormPlacement::cell` the LSTMs
/// follow Ba et al. 2016, eq. 29-31.
/// Example: `Draw(8, 8, random, {.glimpses = 2, .hidden = 6})(random.uniform({2, 8, 8}), random)`
struct Draw {
  Index height, width;
  DrawOptions options;
  Linear read_window;
  RecurrentLayer encoder;
  Linear latent_mean, latent_log_deviation;
  RecurrentLayer decoder;
  Linear patch, write_window;

  /// Throws ArgumentError for sizes below 1, and below 2 for windows.
  Draw(Index height, Index width, Random& random, const DrawOptions& options = {});

  /// What a step sees and leaves.
  struct Glimpse {
    GlimpseWindow read;   ///< without values if nothing is read
    GlimpseWindow write;  ///< where the patch goes
    Tensor canvas;        ///< c_t, (B, height, width)
  };
  struct Result {
    std::vector<Glimpse> glimpses;
    Tensor reconstruction;  ///< -log p(x | z) in nats, (B)
    Tensor divergence;      ///< of the posterior of all z from N(0, 1), in nats, (B)

    /// An upper bound of -log p(x), in nats, (B): in the mean over u (Gregor et al. 2015,
    /// eq. 9-12).
    Tensor bound() const;
  };
  /// Reads images and draws them again.
  ///   images: (B, height, width), in [0, 1]   noise: draws u
  /// Throws ShapeError for other shapes.
  Result operator()(const Tensor& images, Random& noise, Mode mode = {}) const;

  /// Draws images from latent variables.   latents: for each step (B, latent)
  /// Throws ArgumentError without steps, ShapeError for other shapes.
  std::vector<Glimpse> draw(const std::vector<Tensor>& latents) const;
  /// Draws so many images from N(0, 1), in `options.glimpses` steps.
  std::vector<Glimpse> sample(Index count, Random& noise) const;

  void visit(Fields& field) const;

 private:
  struct State {
    Tensor canvas;
    RecurrentState encoder, decoder;
  };
  State first(Index batch) const;
  GlimpseWindow window(const Linear& layer, const Tensor& h, Index filters) const;
  /// The second half of a step: draws from z. Returns where.
  GlimpseWindow write(State& state, const Tensor& z, Mode mode) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
