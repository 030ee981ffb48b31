#pragma once

// Stage 9: recurrent nets. Fill in what throws; add what you need. The grader trains the net with
// the Adam of optimizers.h.

#include <stdexcept>
#include <vector>

#include "cross_entropy.h"
#include "matmul.h"
#include "optimizers.h"

/// 1 / (1 + e^-x) for each element, with a right derivative however large or small x is.
///   x: any shape    returns: same shape
inline Variable sigmoid(const Variable& x) {
  (void)x;
  throw std::logic_error("sigmoid is not written yet");
}

/// The columns begin, begin + 1, ..., end - 1 of a matrix. Can be differentiated twice.
///   x: (N, M)    returns: (N, end - begin)
/// Throws std::invalid_argument for what is not a matrix, and unless 0 <= begin < end <= M.
inline Variable columns(const Variable& x, int begin, int end) {
  (void)x, (void)begin, (void)end;
  throw std::logic_error("columns is not written yet");
}

/// A step of a simple recurrent net, for N sequences at once: tanh(x wx + h wh + b).
///   x: (N, D)    h: (N, H)    wx: (D, H)    wh: (H, H)    b: (1, H)    returns: (N, H)
inline Variable rnn_step(const Variable& x, const Variable& h, const Variable& wx,
                         const Variable& wh, const Variable& b) {
  (void)x, (void)h, (void)wx, (void)wh, (void)b;
  throw std::logic_error("rnn_step is not written yet");
}

/// The state that an LSTM passes from step to step.
struct LstmState {
  Variable h, c;  ///< both (N, H)
};

/// A step of an LSTM. In the columns of x wx + h wh + b stand four blocks of H: i, f, g, o.
///   c' = sigmoid(f) c + sigmoid(i) tanh(g)      h' = sigmoid(o) tanh(c')
///   x: (N, D)    wx: (D, 4 H)    wh: (H, 4 H)    b: (1, 4 H)
inline LstmState lstm_step(const Variable& x, const LstmState& state, const Variable& wx,
                           const Variable& wh, const Variable& b) {
  (void)x, (void)state, (void)wx, (void)wh, (void)b;
  throw std::logic_error("lstm_step is not written yet");
}

/// An LSTM that reads characters, numbered from 0, and predicts the next one at each step: the
/// logits are a linear function of h, which begins at 0 as c does.
class CharLstm {
 public:
  /// Draws the parameters, weights between -1 / sqrt(hidden) and 1 / sqrt(hidden); a seed always
  /// gives the same ones.
  CharLstm(int characters, int hidden, unsigned seed) {
    (void)characters, (void)hidden, (void)seed;
    throw std::logic_error("CharLstm is not written yet");
  }

  /// The mean cross entropy of text[1], text[2], ..., each predicted from all that stands before
  /// it.
  ///   parameters: variables on this tape, in the order of the member of this name; the loss is
  ///               computed from them, and not from the member
  ///   returns: one element
  /// Throws std::invalid_argument for a text of fewer than two characters, and for a character that
  /// is not there.
  Variable loss(Tape& tape, const std::vector<Variable>& parameters,
                const std::vector<int>& text) const {
    (void)tape, (void)parameters, (void)text;
    throw std::logic_error("CharLstm::loss is not written yet");
  }

  /// In an order of your choice. An optimizer moves them in place.
  std::vector<Tensor> parameters;
};
