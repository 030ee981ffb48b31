#include <tapegrad/tapegrad.h>

using namespace tapegrad;

bool errors_are_caught_by_type() {
  try {
    sum(Tensor({2}, {1, 2}) + Tensor({3}, {1, 2, 3}));
  } catch (const ShapeError&) {
    return true;
  }
  return false;
}

int main() {
  Random random(1);
  const Mlp net({4, 8, 2}, random, {.norm = "layer"});
  const Tape tape;
  const Tensor loss = cross_entropy(net(random.normal({3, 4})), Indices({3}, {0, 1, 1}));
  const bool scalar_is_right = sizeof(real) == (loss.values().size_bytes());
  return grad(loss, parameters(net)).size() == 6 && scalar_is_right && errors_are_caught_by_type()
             ? 0
             : 1;
}
