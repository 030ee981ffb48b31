// A few tests to begin with: g++ -std=c++20 recurrent_tests.cpp && ./a.out
#include <cmath>
#include <cstdio>

#include "recurrent.h"

int main() {
  Tape tape;
  const auto number = [&](double x) { return tape.variable({{1, 1}, {x}}); };
  const auto show = [](const Variable& x) { return value(x).values.at(0); };

  std::printf("sigmoid(0) = %g, must be 0.5\n", show(sigmoid(number(0))));
  const Variable h = rnn_step(number(1), number(2), number(0.5), number(-0.25), number(0.1));
  std::printf("rnn_step: h' = %.4f, must be 0.0997\n", show(h));

  // The gates are 3/4, 1/2 and 1/4, and tanh(g) is 0.6.
  const double log2 = std::log(2), log3 = std::log(3);
  const Variable zeros = tape.variable(filled({1, 4}, 0));
  const Variable b = tape.variable({{1, 4}, {log3, 0, log2, -log3}});
  const LstmState next = lstm_step(number(0), {number(0), number(2)}, zeros, zeros, b);
  std::printf("lstm_step: c' = %.4f, must be 1.4500\n", show(next.c));
  std::printf("lstm_step: h' = %.4f, must be 0.2239\n", show(next.h));

  // a, b, a, c, again and again: what follows an a depends on what stood before it.
  const std::vector<int> text{0, 1, 0, 2, 0, 1, 0, 2, 0};
  CharLstm net(3, 4, 1);
  Adam adam(0.1);
  for (int i = 0; i <= 80; ++i) {
    Tape steps;
    std::vector<Variable> w;
    for (const Tensor& each : net.parameters) w.push_back(steps.variable(each));
    const Variable loss = net.loss(steps, w, text);
    if (i % 20 == 0) std::printf("step %2d: loss %.3f\n", i, show(loss));
    std::vector<Tensor> g;
    for (const Variable& each : gradients(loss, w)) g.push_back(value(each));
    adam.step(net.parameters, g);
  }
  std::printf("without memory the loss stays above log(2) / 2 = %.3f\n", log2 / 2);
}
