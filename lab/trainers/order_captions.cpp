#include "trainers/order_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "problems/captions.h"
#include "support/saved_net.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/train/output.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using namespace problems;

std::string to_string(const BothRetrievals& found) {
  const auto line = [](const char* what, const Retrieval& r) {
    return fmt::format("{}: R@1 {:.1f}, R@5 {:.1f}, R@10 {:.1f} %, median rank {:g}, mean {:.1f}\n",
                       what, 100 * r.recall_1, 100 * r.recall_5, 100 * r.recall_10, r.median,
                       r.mean);
  };
  return line("  images by captions", found.image) + line("  captions by images", found.caption);
}

Metrics to_metrics(const BothRetrievals& found, const std::string& prefix) {
  Metrics results;
  const auto add = [&](const std::string& what, const Retrieval& r) {
    results[prefix + what + "_R@1"] = r.recall_1;
    results[prefix + what + "_R@5"] = r.recall_5;
    results[prefix + what + "_R@10"] = r.recall_10;
    results[prefix + what + "_median_rank"] = r.median;
    results[prefix + what + "_mean_recall"] = r.mean_recall();
    results[prefix + what + "_mean_rank"] = r.mean;
  };
  add("image", found.image);
  add("caption", found.caption);
  return results;
}

int train_order(const OrderFlags& flags, const CaptionData& data, Trainer& trainer) {
  Random random(flags.seed);
  OrderTrainee learner(data, flags.model(), flags.margin, flags.batch_size, flags.seed, random);
  const auto search = [&](const std::vector<DescribedImage>& images) {
    return BothRetrievals(all_costs(learner.order(), data, images, trainer.cluster()));
  };
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description =
           fmt::format("model: {} words, {} features, {} parameters; {} steps of {} pairs\n",
                       data.vocabulary.count(), data.features.count(),
                       parameter_count(learner.order()), steps.total, flags.batch_size),
       .validate = [&] { return to_metrics(search(data.sets.validation), "validation_"); },
       .metric = {.name = "validation_image_mean_recall", .higher_is_better = true},
       .test =
           [&] {
             const BothRetrievals found = search(data.sets.test);
             write_result(fmt::format("test set:\n{}", to_string(found)));
             return to_metrics(found, "test_");
           }});
}

int answer(const OrderFlags& flags, const CaptionData& data) {
  Random random(flags.seed);
  const OrderEmbedding net(data.vocabulary.count(), data.features.count(), random, flags.model());
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  std::vector<std::vector<DescriptionFeatures::Feature>> images;
  for (const DescribedImage& image : data.sets.test) images.push_back(data.features.of(image));
  const SentenceBatch query = caption_batch(data.vocabulary, {&flags.query, 1});
  const Tensor costs = net.costs(net.caption(query.words, query.lengths),
                                 net.image(feature_rows(images, data.features.count())));
  const Indices order = argsort(costs);
  for (Index i = 0; i < std::min<Index>(5, order.size()); ++i) {
    const Index image = order.data()[i];
    const auto& [descriptions, captions] = data.sets.test[image];
    write_result(fmt::format("{}. image {}, cost {:.4f}: {}\n", i + 1, image + 1,
                             costs.data()[image], printable(descriptions.front())));
    for (const std::string& caption : captions)
      write_result(fmt::format("     {}\n", printable(caption)));
  }
  return 0;
}

}  // namespace

int run_captions(const OrderFlags& flags, Trainer& trainer) {
  const CaptionData data(described_images({flags.data, flags.seed}));
  trainer.uses_data(data.sets.source, data.sets.digest());
  if (!flags.query.empty()) return answer(flags, data);
  const auto& [source, train, validation, test] = data.sets;
  write_result(fmt::format(
      "data: {}; {} images to train on, {} for validation, {} for the test, with {} captions "
      "each\ntest set by the words that both languages share, without learning:\n{}",
      source, train.size(), validation.size(), test.size(), data.sets.captions_of_each(),
      to_string(BothRetrievals(costs_by_shared_words(data.features, test)))));
  return train_order(flags, data, trainer);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
