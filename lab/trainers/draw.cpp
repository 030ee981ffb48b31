// Trains DRAW (Gregor et al. 2015) to draw handwritten digits glimpse by glimpse, as in Ba et al.
// 2016, section 6.4, and draws digits with it.

#include "problems/draw.h"
#include "data/glimpse_picture.h"
#include "support/data_files.h"
#include "support/placement_flag.h"
#include "support/saved_net.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct DrawFlags : TrainingFlags {
  std::string data, norm = "none", svg;
  std::string placement = "cell";  // as Ba et al. do here
  bool only_svg = false;
  DrawOptions model;

  DrawFlags()
      : TrainingFlags("draw", "Trains a net to draw digits glimpse by glimpse, and draws with it.",
                      {.epochs = 10,
                       .batch_size = 128,
                       .optimizer = {.learning_rate = 3e-3, .clip_norm = 10}}) {
    input("--data", data,
          data_help("binarized MNIST", "mnist-binarized/") + "; without it, draws digits");
    output("--svg", svg, "Draw digits glimpse by glimpse to this file after the run",
           {.begins = "<svg"});
    in_place_of_training(
        setting("--only-svg", only_svg, "Do not train, but draw to --svg with the net of --resume")
            .needs({"--svg"}));
    add_norm_flag(*this, norm, "Normalization of both LSTMs");
    add_placement_flag(*this, placement);
    training("--glimpses", model.glimpses, "Steps of an image").check(between(1, 1000));
    training("--hidden", model.hidden, "Units of each LSTM").check(between(1, 1 << 16));
    training("--latent", model.latent, "Variables drawn in a step").check(between(1, 1 << 16));
    training("--read", model.read, "Filters along each side of a window that reads")
        .check(between(2, 1000));
    training("--write", model.write, "The same for one that writes").check(between(2, 1000));
  }

  ImageSets make_sets() const { return binary_digits({data, seed}); }
  DrawOptions options() const {
    DrawOptions options = model;
    options.recurrent = recurrent_options(norm, placement);
    return options;
  }
};

/// Test images drawn again, and new ones.
void write_picture(const std::string& file, const Draw& net, const ImageSets& sets,
                   const Random& noise) {
  constexpr Index shown = 5;
  std::vector<Index> chosen;  // from the whole set, which may be sorted
  for (Index i = 0; i < shown; ++i) chosen.push_back(i * sets.test.count() / shown);
  const Tensor originals = plain_images(sets.test.images(chosen));
  Random again = noise.stream(1), samples = noise.stream(2);
  const std::string svg = glimpse_picture({{"Images of the test set, drawn again: it reads within "
                                            "the red frames, writes within the blue",
                                            net(originals, again).glimpses, originals},
                                           {"New images", net.sample(shown, samples)}},
                                          net.options);
  write_file(file, std::as_bytes(std::span(svg)));
}

int run_training(const DrawFlags& flags, Trainer& trainer) {
  if (!flags.svg.empty()) expect_writable(flags.svg);
  const ImageSets sets = flags.make_sets();
  trainer.uses_data(sets.source, sets.digest());
  Random random(flags.seed);
  const Random noise = random.stream(1);
  DrawTrainee drawing(sets, flags.options(), flags.batch_size, flags.seed, random, noise);
  const Draw& net = drawing.draw();
  const auto steps = RunSteps::epochs(flags.epochs, drawing.per_epoch());
  const auto measure = [&](const std::string& name, const ImageSet& set, std::uint64_t stream) {
    const Bound found = mean_bound(net, set, noise.stream(stream), trainer.cluster());
    return Metrics{{name + "_bound", found.total}, {name + "_divergence", found.divergence}};
  };
  return trainer.train(
      {.net = fields(net),
       .steps = steps,
       .loss = drawing.batch_loss(),
       .seed = flags.seed,
       .description =
           fmt::format("data: {}; {} images to train on, {} for validation, {} for the test\n"
                       "model: {} glimpses, {} parameters; {} steps of {} images\n",
                       sets.source, sets.train.count(), sets.validation.count(), sets.test.count(),
                       flags.model.glimpses, parameter_count(net), steps.total, flags.batch_size),
       .validate = [&] { return measure("validation", sets.validation, 1); },
       .metric = {.name = "validation_bound"},
       .test =
           [&] {
             const Metrics found = measure("test", sets.test, 2);
             write_result(fmt::format(
                 "test: at most {:.2f} nats per image, {:.2f} of them for the latent variables\n",
                 found.number("test_bound"), found.number("test_divergence")));
             if (!flags.svg.empty() && trainer.cluster().is_first())
               write_picture(flags.svg, net, sets, noise);
             return found;
           }});
}

/// Draws with a net that has been trained.
int run_drawing(const DrawFlags& flags) {
  expect_writable(flags.svg);
  const ImageSets sets = flags.make_sets();
  Random random(flags.seed);
  const Draw net(sets.train.height, sets.train.width, random, flags.options());
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  write_picture(flags.svg, net, sets, Random(flags.seed).stream(1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  DrawFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return flags.only_svg ? run_drawing(flags) : run_training(flags, trainer);
  });
}
