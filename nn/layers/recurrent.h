#pragma once

#include <string>

#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Where a recurrent layer normalizes.
///   paper      RNN: the sum x W_x + h W_h (Ba et al. 2016, eq. 4); LSTM: x W_x, h W_h, and c on
///              its way to h (eq. 20-22); GRU: the gates' and the candidate's parts of both
///              products (eq. 26-28). All blocks of a product are normalized jointly.
///   cell       LSTM: only c on its way to h (eq. 29-31, DRAW)
///   sum        LSTM: the sum of both products, and c
///   per_gate   LSTM: each gate's block of the sum on its own, and c
enum class NormWiring { paper, cell, sum, per_gate };

struct RecurrentOptions {
  Index layers = 1;
  bool bidirectional = false;
  double dropout = 0;        ///< of the outputs of every layer but the last
  bool variational = false;  ///< one mask for all steps of a sequence (Gal and Ghahramani 2016)
  NormSpec norm = {};
  NormWiring wiring = NormWiring::paper;
  bool learned_state = false;  ///< the first state is a parameter rather than 0
};

/// Normalizations of consecutive parts of the channels.
struct PartNorms {
  std::vector<Norm> parts;
  std::vector<Index> sizes;

  Tensor operator()(const Tensor& x, Index step, Mode mode) const;
  void visit(Fields& field) const { field("parts", parts); }
};

/// One layer in one direction: x W_x + b by `input`, h W_h by `weight`.
///   input.weight: (in, G hidden)   weight: (hidden, G hidden)   with G blocks as in `Cell`
/// W_h starts with orthogonal blocks (Saxe et al. 2014), W_x within 1/sqrt(hidden), biases at 0.
struct RecurrentLayer {
  Cell cell;
  RecurrentOptions options;
  Linear input;
  Parameter weight, weight_gain;
  Parameter candidate_bias;  ///< of the blocks of the product that a gate multiplies: a GRU's h U_n
  PartNorms input_norm, product_norm;
  std::optional<Norm> cell_norm;
  Parameter first_h, first_c;

  /// Throws ArgumentError for sizes below 1, for options that only a `Recurrent` of several layers
  /// has a use for, for a wiring without a normalization, and, naming the pair, for a wiring or
  /// normalization that the cell does not take.
  RecurrentLayer(const Cell& cell, Index in, Index hidden, Random& random,
                 const RecurrentOptions& options = {});
  Index hidden() const { return weight.shape()[0]; }
  /// Zeros, or the learned first state, for a batch.
  RecurrentState first(Index batch) const;
  /// x: (T, B, in)   state: as `first` gives it if its h is undefined   lengths: (B) or undefined.
  /// Statistics of a batch are over the sequences that still run at a step.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& state = {},
                             const Indices& lengths = {}, Mode mode = {}) const;
  /// One step. x: (B, in)
  RecurrentState step(const Tensor& x, const RecurrentState& state, Mode mode = {}) const;
  void visit(Fields& field) const;
  /// nn.LSTMCell and so on, whose names end in `suffix` in the layers of an nn.LSTM. Our one bias
  /// is its bias_ih; both of PyTorch's are added. Not of normalized layers, learned first states
  /// and gru_reset_first.
  void pytorch(PyTorchState& state, const std::string& suffix = "") const;

 private:
  bool fused() const;
  Tensor projected(const Tensor& x, const Indices& lengths, Mode mode) const;
  RecurrentNorms norms() const;
  StepFunctions functions(const Indices& lengths, Mode mode) const;
  Tensor recurrent_weight() const;
};

/// Layers of recurrent cells, in one or both directions.
struct Recurrent {
  RecurrentOptions options;
  std::vector<RecurrentLayer> layers;  ///< layer by layer, forward before backward

  /// Throws ArgumentError as `RecurrentLayer` does, for `variational` without dropout, and for
  /// dropout in a single layer.
  Recurrent(const Cell& cell, Index in, Index hidden, Random& random,
            const RecurrentOptions& options = {});

  struct Result {
    Tensor outputs;                    ///< (T, B, hidden), or (T, B, 2 hidden) in both directions
    std::vector<RecurrentState> last;  ///< for each of `layers`
  };
  /// x: (T, B, in)   states: for each of `layers`; empty: the first states
  /// lengths: (B), in [0, T]; undefined: all T. Outputs behind the end of a sequence are 0.
  /// Throws ShapeError for shapes that do not fit.
  Result operator()(const Tensor& x, const std::vector<RecurrentState>& states = {},
                    const Indices& lengths = {}, Mode mode = {}) const;
  void visit(Fields& field) const { field("layers", layers); }
  /// nn.RNN, nn.LSTM or nn.GRU, within the limits of `RecurrentLayer::pytorch`.
  void pytorch(PyTorchState& state) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
