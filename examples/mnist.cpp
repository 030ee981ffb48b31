// Teaches a network to read handwritten digits: MNIST, any data set in its format, or digits that
// the program draws itself.

#include <fmt/format.h>

#include "support/classification.h"
#include "support/image_sets.h"
#include "support/optimizer_flags.h"
#include "support/run.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct MnistFlags {
  RunFlags run;
  OptimizerFlags optimizer;
  std::string model = "mlp", norm = "none", data;
  std::vector<Index> hidden{1000, 1000};
  Index epochs = 5, batch_size = 128;
  double dropout = 0;
  std::uint64_t seed = 1;

  void add_to(Flags& flags) {
    flags.training("--model", model, "Network")->check(CLI::IsMember({"mlp", "cnn"}));
    flags.training("--hidden", hidden, "Sizes of the hidden layers of --model mlp")
        ->check(CLI::PositiveNumber);
    flags.training("--norm", norm, "Normalization before each activation")
        ->check(CLI::IsMember({"none", "layer"}));
    flags.training("--dropout", dropout, "Share of hidden units dropped in training")
        ->check(CLI::Range(0.0, 0.99));
    flags.setting("--data", data, "Directory of four IDX files; without, draws digits")
        ->envname("TAPEGRAD_MNIST");
    flags.training("--epochs", epochs, "Passes over the training set")
        ->check(CLI::PositiveNumber);
    flags.training("--batch-size", batch_size, "Images in an optimizer step")
        ->check(CLI::PositiveNumber);
    optimizer.add_to(flags);
    flags.training("--seed", seed, "Seed of weights, order, dropout and drawn digits");
    run.add_to(flags);
  }
};

}  // namespace

