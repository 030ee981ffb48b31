#include <tapegrad/zoo.h>

using namespace tapegrad;

int main() {
  Random random(1);
  const Draw net(8, 8, random, {.glimpses = 2, .hidden = 6});
  const Tape tape;
  const Tensor bound = mean(net(random.uniform({2, 8, 8}), random).bound());
  const std::vector<Tensor> gradients = grad(bound, parameters(net));
  return bound.item() > 0 && gradients.size() == parameters(net).size() ? 0 : 1;
}
