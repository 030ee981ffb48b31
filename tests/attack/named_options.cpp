// Names with options, of normalizations and of optimizers: what is accepted can be used.

#include "attack.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/train/optimizer_flags.h"

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

void use(const OptimizerFlags& flags) {
  const Parameter weight(ones({3, 2}));
  const std::unique_ptr<Optimizer> optimizer = flags.make_optimizer({weight});
  optimizer->step({ones({3, 2})});
  expect_property(optimizer->steps() == 1, "an optimizer counts its steps");
}

}  // namespace

void attack(std::string_view input) {
  refuses([&] { use(NormSpec(input), {3, 4}, Channels::features); });
  refuses([&] { use(NormSpec(input), {2, 4, 2, 3}, Channels::second); });
  refuses([&] { use(OptimizerFlags{.optimizer = std::string(input)}); });
}

}  // namespace tapegrad::attack
