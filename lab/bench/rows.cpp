// Workloads of the benchmark on networks of single papers.

#include "rows.h"

#include <memory>

#include "peak.h"
#include "tapegrad/zoo.h"

namespace tapegrad::bench {
namespace {

// A training step of a net that writes texts of 10 digits by hand, in lines of 300 moves.
BenchRow handwriting() {
  return {"handwriting", []() -> std::function<void()> {
            constexpr Index steps = 300, batch = 8, characters = 10;
            Random random(1);
            const HandwritingSynthesis net(characters, random);
            auto adam = std::make_shared<Adam>(parameters(net));
            const Tensor moves = concat(
                {random.normal({steps, batch, 2}), random.bernoulli({steps, batch, 1}, 0.1)}, -1);
            Indices digits = Indices::uninitialized({batch, 10});
            for (Index i = 0; i < digits.size(); ++i)
              digits.mutable_data()[i] = random.below(characters);
            const Tensor text = one_hot(digits, characters);
            return [=] {
              const Tape tape;
              const Tensor loss = mixture_nll(net(moves_before(moves), text).numbers, moves);
              std::vector<Tensor> gradients = grad(loss, adam->parameters());
              clip_by_global_norm(gradients, 10);
              adam->step(gradients);
            };
          }};
}

// A training step of DRAW on noise, with gradients clipped at 10.
BenchRow draw() {
  return {
      "draw", []() -> std::function<void()> {
        Random random(1);
        const auto drawn = std::make_shared<Random>(2);
        const Draw net(28, 28, random);
        auto adam = std::make_shared<Adam>(parameters(net));
        const Tensor images = less(random.uniform({128, 28, 28}), 0.13);  // MNIST's share of ink
        return [=] {
          const Tape tape;
          const Tensor loss = mean(net(images, *drawn).bound());
          std::vector<Tensor> gradients = grad(loss, adam->parameters());
          clip_by_global_norm(gradients, 10);
          adam->step(gradients);
        };
      }};
}

}  // namespace

std::vector<BenchRow> rows() { return {handwriting(), draw()}; }

// No row computes in bfloat16.
double bfloat16_multiply_adds(Index) { return 0; }

}  // namespace tapegrad::bench
