#pragma once

// Columns by a product with ones and zeros; all predictions in one matrix of logits.

#include <cmath>
#include <random>

#include "cross_entropy.h"
#include "matmul.h"
#include "optimizers.h"

inline Variable sigmoid(const Variable& x) {
  const auto stable = [](double v) {
    return v < 0 ? std::exp(v) / (1 + std::exp(v)) : 1 / (1 + std::exp(-v));
  };
  const auto rule = [x](const Variable& g) {
    const Variable y = sigmoid(x), one = g.tape->variable({{}, {1}});
    return g * y * (one - y);
  };
  return x.tape->record(map(value(x), stable), {{x, rule}});
}

inline Variable columns(const Variable& x, int begin, int end) {
  const Shape shape = value(x).shape;
  if (shape.size() != 2) throw std::invalid_argument("columns: not a matrix");
  if (begin < 0 || end <= begin || shape[1] < end)
    throw std::invalid_argument("columns: out of range");
  Tensor chosen = filled({shape[1], end - begin}, 0);
  for (int j = begin; j < end; ++j) chosen.values[j * (end - begin) + j - begin] = 1;
  return matmul(x, x.tape->variable(chosen));
}

inline Variable rnn_step(const Variable& x, const Variable& h, const Variable& wx,
                         const Variable& wh, const Variable& b) {
  const Variable from_input = matmul(x, wx), from_state = matmul(h, wh);
  return tanh(b + from_input + from_state);
}

struct LstmState {
  Variable h, c;
};

inline LstmState lstm_step(const Variable& x, const LstmState& state, const Variable& wx,
                           const Variable& wh, const Variable& b) {
  const int H = value(state.h).shape[1];
  // Each gate has weights of its own.
  const auto gate = [&](int first) {
    const int last = first + H;
    return matmul(x, columns(wx, first, last)) + matmul(state.h, columns(wh, first, last)) +
           columns(b, first, last);
  };
  const Variable kept = sigmoid(gate(H)) * state.c, written = sigmoid(gate(0)) * tanh(gate(2 * H)),
                 c = kept + written;
  return LstmState{sigmoid(gate(3 * H)) * tanh(c), c};
}

class CharLstm {
  int C, H;

 public:
  std::vector<Tensor> parameters;  // output, its bias, input, state, bias

  CharLstm(int characters, int hidden, unsigned seed) : C(characters), H(hidden) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0, 0.5 / std::sqrt(double(hidden)));
    auto random = [&](int rows, int columns) {
      Tensor w = filled({rows, columns}, 0);
      for (double& v : w.values) v = normal(engine);
      return w;
    };
    parameters = {random(H, C), filled({1, C}, 0), random(C, 4 * H), random(H, 4 * H),
                  filled({1, 4 * H}, 0)};
  }

  Variable loss(Tape& tape, const std::vector<Variable>& w, const std::vector<int>& text) const {
    const int predictions = int(text.size()) - 1;
    if (predictions < 1) throw std::invalid_argument("loss: nothing to predict");
    LstmState state{tape.variable(filled({1, H}, 0)), tape.variable(filled({1, H}, 0))};
    Variable logits = tape.variable(filled({predictions, C}, 0));
    for (int t = 0; t < predictions; ++t) {
      state = lstm_step(unit(tape, {1, C}, text[t]), state, w[2], w[3], w[4]);
      const Variable row = matmul(state.h, w[0]) + w[1];
      logits = logits + matmul(unit(tape, {predictions, 1}, t), row);
    }
    return cross_entropy(logits, {text.begin() + 1, text.end()});
  }

 private:
  static Variable unit(Tape& tape, const Shape& shape, int at) {
    if (at < 0 || at >= size(shape)) throw std::invalid_argument("loss: no such character");
    Tensor e = filled(shape, 0);
    e.values[at] = 1;
    return tape.variable(e);
  }
};
