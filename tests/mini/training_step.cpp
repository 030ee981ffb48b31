// Prints, exactly, the gradients of small nets and their parameters after steps of the optimizers:
// what compare.py compares between two engines.
#include <cstdio>
#include <string>
#include <vector>

#include "tapegrad_mini.h"

using namespace tapegrad;

struct Numbers {
  std::uint64_t state = 1;
  Tensor tensor(const Shape& shape) {
    std::vector<real> values(static_cast<std::size_t>(shape.size()));
    for (real& value : values) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = static_cast<real>(static_cast<double>(state >> 11) / 4503599627370496.0 - 1);
    }
    return Tensor(shape, values);
  }
};

void print(const std::string& name, const Tensor& x) {
  std::printf("%s", name.c_str());
  for (const real value : x.values()) std::printf(" %a", static_cast<double>(value));
  std::printf("\n");
}

// Two steps: the first update of Adam hardly depends on the size of the gradient.
template <class Optimizer, class Loss>
void train(const std::string& name, Optimizer optimizer, const Loss& loss) {
  for (int step = 1; step <= 2; ++step) {
    const Tape tape;
    const std::vector<Tensor> gradients = grad(loss(), optimizer.parameters());
    optimizer.step(gradients);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string at = name + "/" + std::to_string(step) + "/" + std::to_string(i);
      print(at + "/gradient", gradients[i]);
      print(at + "/parameter", optimizer.parameters()[i].value());
    }
  }
}

int main() {
  Numbers numbers;
  const Indices ids({2, 4}, {0, 3, 1, 4, 2, 2, 0, 1}), labels({2, 4}, {3, 1, 4, 2, 2, 0, 1, 3});
  const Parameter table(numbers.tensor({5, 6})), up(numbers.tensor({6, 6})),
      bias(numbers.tensor({6})), q(numbers.tensor({6, 6})), k(numbers.tensor({6, 6})),
      v(numbers.tensor({6, 6})), out(numbers.tensor({6, 5}));
  const auto transformer = [&] {
    const Tensor x = embedding(table, ids), n = rms_norm(x);
    const Tensor seen =
        attention(matmul(n, q), matmul(n, k), matmul(n, v), {.heads = 2, .causal = true});
    return cross_entropy(matmul(layer_norm(x + gelu_tanh(linear(seen, up, bias))), out), labels);
  };
  train("transformer", Adam({table, up, bias, q, k, v, out}, {.learning_rate = 0.01}), transformer);

  const Parameter wx(numbers.tensor({6, 12})), b(numbers.tensor({12})), wh(numbers.tensor({3, 12})),
      last(numbers.tensor({3, 5}));
  const Tensor none = zeros({4, 3}), inputs = numbers.tensor({2, 4, 6});
  const auto lstm = [&] {
    const Tensor h = recurrent(Cell::lstm, linear(inputs, wx, b), wh, {none, none}).outputs;
    return cross_entropy(matmul(h, last), labels);
  };
  train("lstm", Sgd({wx, b, wh, last}, {.learning_rate = 0.1, .momentum = 0.9}), lstm);

  const Parameter w(numbers.tensor({6, 5})), gain(numbers.tensor({5}));
  const Tensor x = numbers.tensor({8, 6}), target = numbers.tensor({8, 5});
  const auto regression = [&] { return mse(relu(layer_norm(matmul(x, w)) * gain), target); };
  train("regression", Adam({w, gain}, {.learning_rate = 0.01}), regression);
}
