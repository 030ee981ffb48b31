#include "tapegrad/train/training_flags.h"

#include "tapegrad/train/trainer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

int TrainerFlags::run(int argc, char** argv, const std::function<int(Trainer& trainer)>& body) {
  return Flags::run(argc, argv, [&] {
    Trainer trainer(*this);
    return body(trainer);
  });
}

TrainingFlags::TrainingFlags(const std::string& program, const std::string& description,
                             const TrainingDefaults& defaults)
    : TrainerFlags(program, description), epochs(defaults.epochs), batch_size(defaults.batch_size) {
  length("--epochs", epochs, "Passes over the training set").check(between(1, 1 << 20));
  training("--batch-size", batch_size, "Examples per step").check(between(1, 1 << 20));
  training("--seed", seed, "Seed of weights, order and all other random numbers");
  optimizer = defaults.optimizer;
  optimizer.add_to(*this);
  run_flags.keep_best = defaults.keep_best;
  run_flags.add_to(*this);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
