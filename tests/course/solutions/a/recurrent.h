#pragma once

// Steps as compositions; a rule of its own only for columns.

#include <cmath>
#include <random>

#include "cross_entropy.h"
#include "matmul.h"
#include "optimizers.h"

inline Variable sigmoid(const Variable& x) {
  const Variable half = x.tape->variable(filled({}, 0.5));
  return half * tanh(half * x) + half;  // exp(-x) would overflow
}

inline Variable columns(const Variable& x, int begin, int end);

// Zeros with x in the columns from `begin`: what a gradient of these columns is for all.
inline Variable among_zeros(const Variable& x, int begin, int width) {
  const Tensor part = value(x);
  const int rows = part.shape[0], count = part.shape[1];
  Tensor all = filled({rows, width}, 0);
  for (int n = 0; n < rows; ++n)
    for (int j = 0; j < count; ++j) all.values[n * width + begin + j] = part.values[n * count + j];
  return x.tape->record(all,
                        {{x, [=](const Variable& g) { return columns(g, begin, begin + count); }}});
}

inline Variable columns(const Variable& x, int begin, int end) {
  const Tensor all = value(x);
  if (all.shape.size() != 2 || begin < 0 || begin >= end || end > all.shape[1])
    throw std::invalid_argument("columns: there are no such columns");
  const int rows = all.shape[0], width = all.shape[1], count = end - begin;
  Tensor part = filled({rows, count}, 0);
  for (int n = 0; n < rows; ++n)
    for (int j = 0; j < count; ++j) part.values[n * count + j] = all.values[n * width + begin + j];
  return x.tape->record(part,
                        {{x, [=](const Variable& g) { return among_zeros(g, begin, width); }}});
}

inline Variable rnn_step(const Variable& x, const Variable& h, const Variable& wx,
                         const Variable& wh, const Variable& b) {
  return tanh(matmul(x, wx) + matmul(h, wh) + b);
}

struct LstmState {
  Variable h, c;
};

inline LstmState lstm_step(const Variable& x, const LstmState& state, const Variable& wx,
                           const Variable& wh, const Variable& b) {
  const Variable sums = matmul(x, wx) + matmul(state.h, wh) + b;
  const int hidden = value(sums).shape[1] / 4;
  const auto block = [&](int k) { return columns(sums, k * hidden, (k + 1) * hidden); };
  const Variable i = sigmoid(block(0)), f = sigmoid(block(1)), g = tanh(block(2)),
                 o = sigmoid(block(3));
  const Variable c = f * state.c + i * g;
  return {o * tanh(c), c};
}

class CharLstm {
 public:
  CharLstm(int characters, int hidden, unsigned seed) : characters_(characters), hidden_(hidden) {
    std::mt19937 random(seed);
    for (const Shape& shape :
         {Shape{characters, 4 * hidden}, Shape{hidden, 4 * hidden}, Shape{1, 4 * hidden},
          Shape{hidden, characters}, Shape{1, characters}}) {
      std::uniform_real_distribution<double> draw(-1 / std::sqrt(hidden), 1 / std::sqrt(hidden));
      Tensor weights = filled(shape, 0);
      for (double& each : weights.values) each = draw(random);
      parameters.push_back(weights);
    }
  }

  Variable loss(Tape& tape, const std::vector<Variable>& parameters,
                const std::vector<int>& text) const {
    if (text.size() < 2) throw std::invalid_argument("loss: needs two characters or more");
    for (const int character : text)
      if (character < 0 || character >= characters_)
        throw std::invalid_argument("loss: there is no such character");
    const Variable zero = tape.variable(filled({1, hidden_}, 0));
    LstmState state{zero, zero};
    Variable total = tape.variable(filled({}, 0));
    for (std::size_t t = 0; t + 1 < text.size(); ++t) {
      Tensor one_hot = filled({1, characters_}, 0);
      one_hot.values[text[t]] = 1;
      state = lstm_step(tape.variable(one_hot), state, parameters[0], parameters[1], parameters[2]);
      const Variable logits = matmul(state.h, parameters[3]) + parameters[4];
      total = total + cross_entropy(logits, {text[t + 1]});
    }
    return total / tape.variable(filled({}, static_cast<double>(text.size() - 1)));
  }

  std::vector<Tensor> parameters;

 private:
  int characters_, hidden_;
};
