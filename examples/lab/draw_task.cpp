#include "lab/draw_task.h"

#include <cmath>
#include <memory>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "support/image_bounds.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

// What all trainings on these images share.
struct DrawData {
  ImageSet train, validation, test;
  DrawTaskOptions options;
};

Draw make_draw(const ImageSet& images, const std::string& system, DrawOptions options,
               Random& random) {
  if (system != "none") options.recurrent.norm = NormSpec("layer");
  if (system == "layer") options.recurrent.wiring = NormWiring::cell;
  if (system == "layer_everywhere") options.recurrent.wiring = NormWiring::paper;
  return Draw(images.height, images.width, random, options);
}

std::vector<ImageBound> all_bounds(const Draw& net, const ImageSet& set, const Random& noise) {
  return image_bounds(net, set, noise, 0, bound_groups(set));
}

double mean_total(const std::vector<ImageBound>& bounds) {
  RunningMean mean;
  for (const ImageBound& each : bounds) mean.add(each.total);
  return mean.value();
}

// Three decimals keep the ledger small.
void enter_bounds(Outcome& outcome, const std::vector<ImageBound>& bounds) {
  RunningMean divergence, reconstruction;
  for (const ImageBound& each : bounds) {
    outcome.items.push_back(std::round(1000 * each.total) / 1000);
    divergence.add(each.divergence);
    reconstruction.add(each.total - each.divergence);
  }
  outcome.values["test"] = mean_of_items(outcome);
  outcome.values["test_divergence"] = divergence.value();
  outcome.values["test_reconstruction"] = reconstruction.value();
}

Outcome train_draw(const DrawData& data, const TaskTrial& trial) {
  const DrawTaskOptions& o = data.options;
  Random random = trial.trial.weights();
  const Draw net = make_draw(data.train, trial.setting.norm, o.model, random);
  EpochBatches batches(data.train, o.batch_size, trial.trial.seed);
  const Random noise = trial.trial.weights().stream(1);
  std::uint64_t evaluations = 0;
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate, .clip_norm = 10},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss =
           [&](Index step) {
             return mean(
                 net(plain_images(batches.at(step).images), random, training(random)).bound());
           },
       .validate =
           [&] {
             const Random own = noise.stream(++evaluations).stream(1);
             const double bound = mean_total(all_bounds(net, data.validation, own));
             return Validation{bound, bound};
           },
       .test =
           [&](Outcome& outcome) {
             enter_bounds(outcome, all_bounds(net, data.test, noise.stream(0)));
           }},
      ba2016().task("draw").validation(), trial.tested, trial.seen);
}

// The cost of the test images by the share of white pixels in each place, of which there is one
// more of each kind than in the images to train on.
Outcome cost_of_pixels(const DrawData& data) {
  const auto for_each_row = [](const ImageSet& set, const auto& f) {
    for (const auto& [images, labels] : Batches(set, 500)) {
      const Index pixels = images.size() / images.shape()[0];
      for (Index i = 0; i < images.shape()[0]; ++i) f(images.data() + i * pixels);
    }
  };
  std::vector<double> white(static_cast<std::size_t>(data.train.height * data.train.width), 1);
  for_each_row(data.train, [&](const real* row) {
    for (std::size_t i = 0; i < white.size(); ++i) white[i] += row[i];
  });
  const double all = static_cast<double>(data.train.count()) + 2;
  RunningMean cost;
  for_each_row(data.test, [&](const real* row) {
    double nats = 0;
    for (std::size_t i = 0; i < white.size(); ++i)
      nats -= std::log((row[i] > 0.5 ? white[i] : all - white[i]) / all);
    cost.add(nats);
  });
  return {.values = {{"test", cost.value()}}};
}

}  // namespace

MatrixTask draw_task(const ImageSets& sets, const DrawTaskOptions& o) {
  const auto data = std::make_shared<const DrawData>(
      DrawData{sets.train, first_images(sets.validation, o.watched), sets.test, o});
  return {.name = "draw",
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate\nclipped to 10"},
                            {"initial values", "U(+-1/sqrt(inputs))"},
                            {"glimpses", o.model.glimpses},
                            {"hidden", o.model.hidden},
                            {"latent", o.model.latent},
                            {"read", o.model.read},
                            {"write", o.model.write},
                            {"batch_size", o.batch_size},
                            {"steps", o.steps},
                            {"stretch", o.stretch},
                            {"watched", o.watched}},
          .rate = o.rate,
          .steps = o.steps,
          .seconds = o.seconds,
          .train = [data](const TaskTrial& trial) { return train_draw(*data, trial); },
          .baselines = {{"pixels_apart", [data] { return cost_of_pixels(*data); }}},
          .systems = ba2016().task("draw").systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
