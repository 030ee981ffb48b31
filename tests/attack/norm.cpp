// Names of normalizations: what is accepted can be used on features or on images.

#include "tapegrad/nn/layers/norm.h"

#include "attack.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::attack {
namespace {

void use(const NormSpec& spec, const Shape& shape, Channels where) {
  const Norm norm(spec, 4, where);
  Random random(1);
  const Tape tape;
  const Tensor x = watch(random.normal(shape));
  const Tensor y = norm(x, training(random));
  expect_property(y.shape() == shape, "a normalization keeps the shape");
  expect_property(grad(sum(y * y), x).shape() == shape, "a normalization has a gradient");
}

}  // namespace

void attack(std::string_view input) {
  const NormSpec spec(input);
  refuses([&] { use(spec, {3, 4}, Channels::features); });
  refuses([&] { use(spec, {2, 4, 2, 3}, Channels::second); });
}

}  // namespace tapegrad::attack
