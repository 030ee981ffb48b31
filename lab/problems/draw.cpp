#include "problems/draw.h"

#include <cmath>
#include <numeric>

#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

constexpr Index images_of_group = 500;

// With the norms that a system of the paper has.
DrawOptions normalized(DrawOptions options, const std::string& system) {
  if (system != "none") options.recurrent.norm = NormSpec("layer");
  if (system == "layer") options.recurrent.placement = CellNormPlacement::cell;
  if (system == "layer_everywhere") options.recurrent.placement = CellNormPlacement::paper;
  return options;
}

std::vector<Bound> all_bounds(const Draw& net, const ImageSet& set, const Random& noise) {
  return image_bounds(net, set, noise, 0, bound_groups(set));
}

// The cost of the test images by the share of white pixels in each place, of which there is one
// more of each kind than in the images to train on.
Outcome cost_of_pixels(const ImageSets& sets) {
  const auto for_each_row = [](const ImageSet& set, const auto& f) {
    for (const auto& [images, labels] : Batches(set, 500)) {
      const Index pixels = images.size() / images.shape()[0];
      for (Index i = 0; i < images.shape()[0]; ++i) f(images.data() + i * pixels);
    }
  };
  std::vector<double> white(sets.train.height * sets.train.width, 1);
  for_each_row(sets.train, [&](const real* row) {
    for (std::size_t i = 0; i < white.size(); ++i) white[i] += row[i];
  });
  const double all = sets.train.count() + 2.0;
  RunningMean cost;
  for_each_row(sets.test, [&](const real* row) {
    double nats = 0;
    for (std::size_t i = 0; i < white.size(); ++i)
      nats -= std::log((row[i] > 0.5 ? white[i] : all - white[i]) / all);
    cost.add(nats);
  });
  return {.values = {{"test", cost.value()}}};
}

}  // namespace

ImageSets binary_digits(const Origin& origin) {
  return origin.is_drawn() ? draw_binary_image_sets(origin.seed)
                           : read_binary_image_sets(origin.directory);
}

Index bound_groups(const ImageSet& set) {
  return (set.count() + images_of_group - 1) / images_of_group;
}

std::vector<Bound> image_bounds(const Draw& net, const ImageSet& set, const Random& noise,
                                Index begin, Index end) {
  std::vector<Bound> bounds;
  for (Index group = begin; group < end; ++group) {
    const Index first = group * images_of_group;
    std::vector<Index> chosen(std::min(images_of_group, set.count() - first));
    std::iota(chosen.begin(), chosen.end(), first);
    Random own = noise.stream(group);
    const Draw::Result result = net(plain_images(set.images(chosen)), own);
    const Tensor total = result.bound();
    for (Index i = 0; i < total.size(); ++i)
      bounds.push_back({total.data()[i], result.divergence.data()[i]});
  }
  return bounds;
}

Bound mean_bound(const Draw& net, const ImageSet& set, const Random& noise, Cluster& cluster) {
  const auto sums = cluster.sums(bound_groups(set), 2, [&](const Shard& groups) {
    std::vector<double> sum{0, 0};
    for (const auto& [total, divergence] :
         image_bounds(net, set, noise, groups.begin, groups.end)) {
      sum[0] += total;
      sum[1] += divergence;
    }
    return sum;
  });
  const double count = set.count();
  return {sums[0] / count, sums[1] / count};
}

Tensor plain_images(const Tensor& images) { return select(images, 0, 1); }

DrawTrainee::DrawTrainee(const ImageSets& sets, const DrawOptions& options, Index batch_size,
                         std::uint64_t seed, Random& random, const Random& noise)
    : sets_(sets),
      net_(sets.train.height, sets.train.width, random, options),
      batches_(sets.train, batch_size, seed),
      noise_(noise) {}

Tensor DrawTrainee::loss(Index step, const Shard& shard, Random& random) {
  const Tensor images = named(part(batches_.at(step).images, shard.begin, shard.end), "images");
  return mean(net_(plain_images(images), random, training(random)).bound());
}

Validation DrawTrainee::validate() {
  RunningMean mean;
  for (const Bound& each :
       all_bounds(net_, sets_.validation, noise_.stream(++validations_).stream(1)))
    mean.add(each.total);
  return {mean.value(), mean.value()};
}

void DrawTrainee::test(Outcome& outcome) {
  RunningMean divergence, reconstruction;
  for (const Bound& each : all_bounds(net_, sets_.test, noise_.stream(0))) {
    outcome.items.push_back(std::round(1000 * each.total) / 1000);
    divergence.add(each.divergence);
    reconstruction.add(each.total - each.divergence);
  }
  outcome.values["test"] = mean_of_items(outcome);
  outcome.values["test_divergence"] = divergence.value();
  outcome.values["test_reconstruction"] = reconstruction.value();
}

Problem draw_problem(ImageSets sets, const DrawSizes& o) {
  const std::string data = fmt::format("{}, test {}", sets.digest(), sets.test_digest());
  sets.validation = first_images(sets.validation, o.watched);
  const auto images = std::make_shared<const ImageSets>(std::move(sets));
  return {.source = images->source,
          .data = data,
          .initial_values = "U(+-1/sqrt(inputs))",
          .sizes = {{"glimpses", o.model.glimpses},
                    {"hidden", o.model.hidden},
                    {"latent", o.model.latent},
                    {"read", o.model.read},
                    {"write", o.model.write},
                    {"batch_size", o.batch_size},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval},
                    {"watched", o.watched}},
          .optimizer = {.schedule = "constant", .clip_norm = 10},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [images, o](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<DrawTrainee>(
                    *images, normalized(o.model, trial.setting.norm), o.batch_size,
                    trial.trial.seed, random, trial.trial.weights().stream(1));
              },
          .baselines = {{"pixels_apart", [images] { return cost_of_pixels(*images); }}}};
}

Problem draw_problem(const Origin& origin, Size size) {
  ImageSets sets = binary_digits(origin);
  if (size == Size::report) return draw_problem(std::move(sets));
  sets.test = first_images(sets.test, 40);
  return draw_problem(std::move(sets),
                      {.model = {.glimpses = 2, .hidden = 8, .latent = 4, .read = 2, .write = 3},
                       .batch_size = 16,
                       .steps = 12,
                       .eval_interval = 3,
                       .watched = 20,
                       .seconds = 0.1});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
