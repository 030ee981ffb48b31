#include "lab/retrieval_task.h"

#include <memory>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "support/caption_task.h"
#include "support/shuffled_epochs.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

// What all trainings on these captions share.
struct RetrievalData {
  CaptionData captions;
  RetrievalTaskOptions options;
};

OrderEmbedding make_order(const RetrievalData& data, const std::string& system, Random& random) {
  return OrderEmbedding(data.captions.vocabulary.count(), data.captions.features.count(), random,
                        {.words = data.options.words,
                         .hidden = data.options.hidden,
                         .norm = NormSpec(system == "layer" ? "layer" : "none"),
                         .symmetric = system == "symmetric",
                         .bag_of_words = system == "bag_of_words"});
}

Tensor costs_of(const OrderEmbedding& net, const CaptionData& data,
                const std::vector<DescribedImage>& images) {
  const Index captions = static_cast<Index>(images.size()) * data.sets.captions_of_each();
  return all_costs(net, data, images, 0, captions);
}

Validation validate_order(const Retrieval& found) {
  return {100 * found.mean_recall(),
          100 - 100 * found.mean_recall(),
          {{"recall_1", 100 * found.recall_1},
           {"recall_5", 100 * found.recall_5},
           {"recall_10", 100 * found.recall_10}}};
}

// For each image the share of its captions whose rank is at most k, in percent.
std::vector<double> recall_items(const Outcome& training, Index images, Index k) {
  const Trace& ranks = trace_of(training, "ranks");
  const auto count = static_cast<std::size_t>(images);
  expect_part(
      count > 0 && ranks.size() % count == 0, training,
      fmt::format("its {} ranks are not those of the captions of {} images", ranks.size(), images));
  const std::size_t of_each = ranks.size() / count;
  std::vector<double> items(static_cast<std::size_t>(images), 0);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].second <= static_cast<double>(k))
      items[i / of_each] += 100 / static_cast<double>(of_each);
  return items;
}

void enter_search(Outcome& outcome, const std::string& what, const Retrieval& found) {
  outcome.values[fmt::format("test_{}_recall_1", what)] = 100 * found.recall_1;
  outcome.values[fmt::format("test_{}_recall_5", what)] = 100 * found.recall_5;
  outcome.values[fmt::format("test_{}_recall_10", what)] = 100 * found.recall_10;
  outcome.values[fmt::format("test_{}_mean_rank", what)] = found.mean;
}

// What these costs of all captions with all images say.
void enter_searches(Outcome& outcome, const Tensor& costs) {
  const BothRetrievals found(costs);
  enter_search(outcome, "image", found.image);
  enter_search(outcome, "caption", found.caption);
  const Indices ranks = image_ranks(costs);
  for (Index i = 0; i < ranks.size(); ++i)
    outcome.traces["ranks"].emplace_back(i, static_cast<double>(ranks.data()[i]));
  outcome.items = recall_items(outcome, costs.shape()[1], 10);
  outcome.values["test"] = mean_of_items(outcome);
}

Outcome train_order(const RetrievalData& data, const TaskTrial& trial) {
  const RetrievalTaskOptions& o = data.options;
  const CaptionSets& sets = data.captions.sets;
  const double margin = trial.setting.norm == "symmetric" ? 0.2 : 0.05;
  Random random = trial.trial.weights();
  const OrderEmbedding net = make_order(data, trial.setting.norm, random);
  ShuffledEpochs<std::vector<CaptionPair>> batches(
      trial.trial.seed, [&](Random& order) { return caption_pairs(sets, o.batch_size, order); });
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate, .clip_each = 2},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss =
           [&](Index step) {
             return contrastive_sum(pair_costs(net, data.captions, batches.at(step)), margin);
           },
       .validate =
           [&] {
             return validate_order(
                 BothRetrievals(costs_of(net, data.captions, sets.validation)).image);
           },
       .test =
           [&](Outcome& outcome) {
             enter_searches(outcome, costs_of(net, data.captions, sets.test));
           }},
      ba2016().task("retrieval").validation(), trial.tested, trial.seen);
}

Outcome search_by_shared_words(const CaptionData& data) {
  Outcome outcome;
  enter_searches(outcome, costs_by_shared_words(data.features, data.sets.test));
  return outcome;
}

}  // namespace

MatrixTask retrieval_task(const CaptionSets& sets, const RetrievalTaskOptions& o) {
  const auto data = std::make_shared<const RetrievalData>(RetrievalData{CaptionData(sets), o});
  return {
      .name = "retrieval",
      .source = sets.source,
      .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
      .configuration = {{"optimizer", "Adam\nconstant rate\neach gradient clipped to 2"},
                        {"initial values", "words U(+-0.1)\nGlorot"},
                        {"words", o.words},
                        {"hidden", o.hidden},
                        {"batch_size", o.batch_size},
                        {"steps", o.steps},
                        {"stretch", o.stretch}},
      .rate = o.rate,
      .steps = o.steps,
      .seconds = o.seconds,
      .train = [data](const TaskTrial& trial) { return train_order(*data, trial); },
      .baselines = {{"shared_words", [data] { return search_by_shared_words(data->captions); }}},
      .systems = ba2016().task("retrieval").systems};
}

Metric image_recall(Index k) {
  return {.value = fmt::format("test_image_recall_{}", k),
          .higher_is_better = true,
          .worst = 0,
          .of_items = true};
}

Results with_recall_items(const Results& results, Index k) {
  Results changed = results;
  for (Outcome& training : changed.trainings)
    training.items = recall_items(training, std::ssize(training.items), k);
  return changed;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
