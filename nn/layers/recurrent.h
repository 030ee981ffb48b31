#pragma once

#include <string>

#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Where a recurrent layer normalizes.
///   paper      RNN: the sum x W_x + h W_h (Ba et al. 2016, eq. 4); LSTM: x W_x, h W_h, and c
///              before it enters h (eq. 20-22); GRU: the gates' and the candidate's parts of both
///              products (eq. 26-28). All blocks of a product are normalized jointly.
///   cell       LSTM: only c before it enters h (eq. 29-31, DRAW)
///   sum        LSTM: the sum of both products, and c
///   per_gate   LSTM: each gate's block of the sum separately, and c
/// Example: `RecurrentOptions{.norm = "rms", .placement = CellNormPlacement::sum}`
enum class CellNormPlacement { paper, cell, sum, per_gate };

struct RecurrentOptions {
  Index layers = 1;
  bool bidirectional = false;
  double dropout = 0;        ///< of the outputs of each layer but the last
  bool variational = false;  ///< one mask for all steps of a sequence (Gal and Ghahramani 2016)
  NormSpec norm = {};
  CellNormPlacement placement = CellNormPlacement::paper;
  bool learned_state = false;  ///< the initial state is a parameter rather than 0
};

/// Norms of consecutive parts of the channels.
/// Example: `PartNorms{.parts = {Norm("layer", 4), Norm("layer", 2)}, .sizes = {4, 2}}(x, 0, {})`
struct PartNorms {
  std::vector<Norm> parts;
  std::vector<Index> sizes;

  Tensor operator()(const Tensor& x, Index step, Mode mode) const;
  void visit(Fields& field) const { field("parts", parts); }
};

/// One layer in one direction: `input` computes x W_x + b, `weight` is W_h.
///   input.weight: (in, G hidden)   weight: (hidden, G hidden)   with G blocks as in `Cell`
/// Initially, the blocks of W_h are orthogonal (Saxe et al. 2014), W_x is uniform within
/// +-1/sqrt(hidden), and biases are 0.
/// Example: `RecurrentLayer(Cell::lstm, 6, 8, random).first(2).h`
struct RecurrentLayer {
  Cell cell;
  RecurrentOptions options;
  Linear input;
  Parameter weight, weight_gain;
  Parameter candidate_bias;  ///< of the product's gated blocks: a GRU's h U_n
  PartNorms input_norm, product_norm;
  std::optional<Norm> cell_norm;
  Parameter first_h, first_c;

  /// Throws ArgumentError for sizes below 1, for options that only a `Recurrent` of several layers
  /// uses, for a placement without a normalization, and, naming the pair, for a placement or
  /// normalization that the cell does not support.
  RecurrentLayer(const Cell& cell, Index in, Index hidden, Random& random,
                 const RecurrentOptions& options = {});
  Index hidden() const { return weight.shape()[0]; }
  /// Zeros, or the learned initial state, for a batch.
  RecurrentState first(Index batch) const;
  /// x: (T, B, in)   state: `first(B)` if its h is undefined   lengths: (B) or undefined
  /// Batch statistics at a step are over the sequences that have not ended.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& state = {},
                             const Indices& lengths = {}, Mode mode = {},
                             Place = Place::here()) const;
  /// One step. x: (B, in)
  RecurrentState step(const Tensor& x, const RecurrentState& state, Mode mode = {},
                      Place = Place::here()) const;
  void visit(Fields& field) const;
  /// nn.LSTMCell and so on, whose names end in `suffix` within an nn.LSTM. `input.bias` is bias_ih.
  /// Loading adds bias_hh to it, except for a GRU's candidate, whose part of bias_hh is
  /// `candidate_bias`. Not for normalized layers, learned initial states and gru_reset_first.
  void pytorch(PyTorchState& state, const std::string& suffix = "") const;

 private:
  bool fused() const;
  Tensor projected(const Tensor& x, const Indices& lengths, Mode mode) const;
  RecurrentNorms norms() const;
  StepFunctions functions(const Indices& lengths, Mode mode) const;
  Tensor recurrent_weight() const;
};

/// Stacked recurrent layers, in one or both directions.
/// Example: `auto [outputs, last] = Recurrent(Cell::gru, 6, 8, random, {.norm = "rms"})(steps)`
struct Recurrent {
  RecurrentOptions options;
  std::vector<RecurrentLayer> layers;  ///< layer by layer, forward before backward direction

  /// Throws ArgumentError as `RecurrentLayer` does, for `variational` without dropout, and for
  /// dropout in a single layer.
  Recurrent(const Cell& cell, Index in, Index hidden, Random& random,
            const RecurrentOptions& options = {});

  struct Result {
    Tensor outputs;                    ///< (T, B, hidden), or (T, B, 2 hidden) in both directions
    std::vector<RecurrentState> last;  ///< for each of `layers`
  };
  ///   x: (T, B, in)   states: one for each of `layers`, or empty for the initial ones
  ///   lengths: (B), in [0, T]; undefined: all T
  /// Outputs after the end of a sequence are 0.
  /// Throws ShapeError for shapes that do not fit.
  Result operator()(const Tensor& x, const std::vector<RecurrentState>& states = {},
                    const Indices& lengths = {}, Mode mode = {}, Place = Place::here()) const;
  void visit(Fields& field) const { field("layers", layers); }
  /// nn.RNN, nn.LSTM or nn.GRU, within the limits of `RecurrentLayer::pytorch`.
  void pytorch(PyTorchState& state) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
