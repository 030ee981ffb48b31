#pragma once

// One sigmoid for all four blocks: tanh(v) = 2 sigmoid(2 v) - 1.

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "cross_entropy.h"
#include "matmul.h"
#include "optimizers.h"

inline Variable scalar(const Variable& like, double number) {
  return like.tape->variable(Tensor{{}, {number}});
}

// Below -30 the sigmoid is 0 to 13 digits.
inline Variable sigmoid(const Variable& x) {
  const Variable one = scalar(x, 1), limit = scalar(x, 30);
  return one / (one + exp(limit - relu(x + limit)));
}

inline Variable columns(const Variable& x, int begin, int end) {
  const Tensor all = value(x);
  if (all.shape.size() != 2 || !(0 <= begin && begin < end && end <= all.shape[1]))
    throw std::invalid_argument("columns: from " + std::to_string(begin) + " to " +
                                std::to_string(end));
  const Tensor flipped = transpose(all);
  const int rows = all.shape[0];
  const Tensor part{{end - begin, rows},
                    {flipped.values.begin() + begin * rows, flipped.values.begin() + end * rows}};
  Tensor back = filled({end - begin, all.shape[1]}, 0);
  for (int j = begin; j < end; ++j) back.values[(j - begin) * all.shape[1] + j] = 1;
  return x.tape->record(
      transpose(part),
      {{x, [back](const Variable& g) { return matmul(g, g.tape->variable(back)); }}});
}

inline Variable rnn_step(const Variable& x, const Variable& h, const Variable& wx,
                         const Variable& wh, const Variable& b) {
  return tanh(matmul(h, wh) + (matmul(x, wx) + b));
}

struct LstmState {
  Variable h, c;
};

inline LstmState lstm_step(const Variable& x, const LstmState& state, const Variable& wx,
                           const Variable& wh, const Variable& b) {
  const int hidden = value(wh).shape[0];
  Tensor factors = filled({4 * hidden}, 1);
  std::fill_n(factors.values.begin() + 2 * hidden, hidden, 2.0);
  const Variable open =
      sigmoid(x.tape->variable(factors) * (matmul(x, wx) + matmul(state.h, wh) + b));
  std::vector<Variable> gates;
  for (int k = 0; k < 4; ++k) gates.push_back(columns(open, k * hidden, (k + 1) * hidden));
  const Variable two = scalar(x, 2), one = scalar(x, 1);
  LstmState next = state;
  next.c = gates[1] * state.c + gates[0] * (two * gates[2] - one);
  next.h = gates[3] * tanh(next.c);
  return next;
}

class CharLstm {
 public:
  CharLstm(int characters, int hidden, unsigned seed) : characters(characters), hidden(hidden) {
    std::mt19937 bits(seed);
    const auto between = [&](double low, double high, const Shape& shape) {
      return map(filled(shape, 0), [&](double) { return low + (high - low) * bits() / 0x1p32; });
    };
    const double bound = 1 / std::sqrt(hidden);
    Tensor bias = filled({4 * hidden}, 0);
    // Forget gates begin nearly open.
    std::fill_n(bias.values.begin() + hidden, hidden, 1.0);
    parameters = {between(-bound, bound, {characters, 4 * hidden}),
                  between(-bound, bound, {hidden, 4 * hidden}), bias,
                  between(-bound, bound, {hidden, characters})};
  }

  Variable loss(Tape& tape, const std::vector<Variable>& w, const std::vector<int>& text) const {
    const auto known = [this](int character) { return character >= 0 && character < characters; };
    if (text.size() < 2 || !std::all_of(text.begin(), text.end(), known))
      throw std::invalid_argument("loss: the text is too short, or has a strange character");
    LstmState state{tape.variable(filled({1, hidden}, 0)), tape.variable(filled({1, hidden}, 0))};
    std::vector<Variable> losses;
    for (auto at = text.begin(); at + 1 != text.end(); ++at) {
      Tensor input = filled({1, characters}, 0);
      input.values[*at] = 1;
      state = lstm_step(tape.variable(input), state, w[0], w[1], w[2]);
      losses.push_back(cross_entropy(matmul(state.h, w[3]), {at[1]}));
    }
    Variable all = losses[0];
    for (std::size_t t = 1; t < losses.size(); ++t) all = all + losses[t];
    return all * scalar(all, 1.0 / static_cast<double>(losses.size()));
  }

  std::vector<Tensor> parameters;

 private:
  int characters, hidden;
};
