// Trains a small network on exclusive or, which no single linear layer can compute. Prints the
// falling loss, and the probability of "true" for each of the four inputs.
#include <tapegrad/tapegrad.h>

using namespace tapegrad;

struct Net {
  Linear hidden, output;
  explicit Net(Random& random) : hidden(2, 8, random), output(8, 2, random) {}
  Tensor operator()(const Tensor& x) const { return output(tanh(hidden(x))); }
  void visit(Fields& field) const {  // where optimizers and checkpoints find the parameters
    field("hidden", hidden);
    field("output", output);
  }
};

int main() {
  const Tensor inputs({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const Indices labels({4}, {0, 1, 1, 0});

  Random random(1);  // the seed of all random numbers: every run is the same
  const Net net(random);
  Adam adam(parameters(net), {.learning_rate = 0.02});
  for (int step = 0; step <= 300; ++step) {
    Tape tape;  // for this step only
    const Tensor loss = cross_entropy(net(inputs), labels);
    adam.step(grad(loss, adam.parameters()));
    if (step % 100 == 0) fmt::print("step {:3}: loss {:.4f}\n", step, loss.item());
  }

  // Without a tape, nothing is recorded.
  const Tensor probabilities = softmax(net(inputs));
  for (Index i = 0; i < 4; ++i)
    fmt::print("{} xor {}: true with probability {:.3f}\n", inputs.data()[2 * i],
               inputs.data()[2 * i + 1], probabilities.data()[2 * i + 1]);
}
