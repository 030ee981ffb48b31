#pragma once

#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/zoo/soft_window.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `HandwritingPredictor(random, {.hidden = 16, .recurrent = {.norm = "layer"}})`
struct HandwritingOptions {
  Index layers = 3;
  Index hidden = 96;                ///< units of each LSTM
  Index components = 8;             ///< of the mixture, M
  RecurrentOptions recurrent = {};  ///< of each LSTM: norm and placement
};

/// The move before each, which a net reads to predict the next. The first is preceded by (0, 0, 1),
/// since zeros would leave a normalized LSTM nothing to divide by.
///   moves: (T, B, 3)   returns the same shape
/// Example: `moves_before(zeros({7, 2, 3}))`
Tensor moves_before(const Tensor& moves, Place = Place::here());

/// Predicts moves of a pen. Each LSTM reads the last move, and the output reads all LSTMs (Graves
/// 2013, section 4). For moves x_1 .. x_T with x_0 = (0, 0, 1), and L layers,
///
///     h1_t = LSTM_1(x_{t-1})      hi_t = LSTM_i([x_{t-1}, h(i-1)_t])      i = 2 .. L
///     y_t  = W [h1_t, .., hL_t] + b      are the 6 M + 1 numbers of p(x_t) in zoo/mixture.h
///
/// Example: `mixture_nll(HandwritingPredictor(random)(zeros({7, 2, 3})).numbers, ones({7, 2, 3}))`
struct HandwritingPredictor {
  std::vector<RecurrentLayer> layers;
  Linear output;

  /// Throws ArgumentError for sizes below 1, and as `RecurrentLayer` does.
  HandwritingPredictor(Random& random, const HandwritingOptions& options = {});

  struct Result {
    Tensor numbers;                    ///< y, (T, B, 6 M + 1)
    std::vector<RecurrentState> last;  ///< to continue from
  };
  /// before: x_0 .. x_{T-1}, (T, B, 3), such as from `moves_before`   states: one per layer, or
  /// none
  Result operator()(const Tensor& before, const std::vector<RecurrentState>& states = {},
                    Mode mode = {}) const;
  /// Draws so many lines of so many moves: (moves, batch, 3). Throws ArgumentError for counts below
  /// 1 and for a negative bias, see `sample_mixture`.
  Tensor sample(Index moves, Index batch, Random& random, double bias = 0) const;
  void visit(Fields& field) const {
    field("layers", layers);
    field("output", output);
  }
};

/// Example: `HandwritingSynthesis(3, random, {.net = {.hidden = 16}, .bumps = 3}).first(2)`
struct HandwritingSynthesisOptions {
  HandwritingOptions net = {};
  Index bumps = 5;         ///< of the window, K
  double advance = 0.035;  ///< of the window at first, in characters per move
};

/// Predicts moves of a pen that writes a given text. The first layer moves a soft window along the
/// text, and all layers read what it shows (Graves 2013, section 5; 5.1 has the window):
///
///     h1_t = LSTM_1([x_{t-1}, w_{t-1}])      w_t = window(h1_t, text)      w_0 = 0
///     hi_t = LSTM_i([x_{t-1}, w_t, h(i-1)_t])      i = 2 .. L
///     y_t  = W [h1_t, .., hL_t] + b
///
/// Example: `HandwritingSynthesis(3, random)(zeros({7, 2, 3}), ones({2, 4, 3})).numbers`
struct HandwritingSynthesis {
  std::vector<RecurrentLayer> layers;
  SoftWindow window;
  Linear output;

  /// Throws ArgumentError for sizes below 1, and as `RecurrentLayer` and `SoftWindow` do.
  HandwritingSynthesis(Index characters, Random& random,
                       const HandwritingSynthesisOptions& options = {});

  struct State {
    std::vector<RecurrentState> layers;
    Tensor place, window;
  };
  State first(Index batch) const;

  struct Result {
    Tensor numbers;  ///< y, (T, B, 6 M + 1)
    Tensor weights;  ///< of the characters in the window, (T, B, U)
    State last;      ///< to continue from
  };
  /// before: x_0 .. x_{T-1}, (T, B, 3)   text: (B, U, characters), such as from `window_text`
  Result operator()(const Tensor& before, const Tensor& text, const State& state,
                    Mode mode = {}) const;
  Result operator()(const Tensor& before, const Tensor& text, Mode mode = {}) const;

  /// What a pen has written.
  struct Written {
    Tensor moves;     ///< (T, B, 3)
    Indices lengths;  ///< (B), of each line
    Tensor weights;   ///< (T, B, U + 1), the last of them behind the text
  };
  /// Writes texts. A line ends when the window looks behind its text more than at any character, or
  /// after `most` moves.   text: one-hot in all rows, (B, U, characters)
  /// Throws ArgumentError for `most` below 1 and a negative bias, see `sample_mixture`.
  Written write(const Tensor& text, Index most, Random& random, double bias = 0) const;
  void visit(Fields& field) const {
    field("layers", layers);
    field("window", window);
    field("output", output);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
