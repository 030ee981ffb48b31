#include "lab/reader_task.h"

#include <algorithm>
#include <memory>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "support/shuffled_epochs.h"
#include "support/story_task.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;

// What all trainings on these stories share.
struct ReaderData {
  StorySets sets;
  StoryVocabulary vocabulary;
  std::vector<StoryBatch> validation, test;
  ReaderTaskOptions options;

  ReaderData(const StorySets& stories, const ReaderTaskOptions& o)
      : sets(stories),
        vocabulary(sets.train, o.entities),
        validation(fixed_batches(sets.validation, o)),
        test(fixed_batches(sets.test, o)),
        options(o) {}

  // With the same numbers of entities at every time.
  std::vector<StoryBatch> fixed_batches(const std::vector<Story>& stories,
                                        const ReaderTaskOptions& o) const {
    Random numbers(1);
    return story_batches(stories, vocabulary, o.batch_size, numbers, false);
  }
  Index longest_passage() const {
    std::size_t longest = 0;
    for (const std::vector<Story>* part : {&sets.train, &sets.validation, &sets.test})
      for (const Story& story : *part) longest = std::max(longest, story.passage.size());
    return static_cast<Index>(longest);
  }
};

AttentiveReader make_attentive_reader(const ReaderData& data, const std::string& system,
                                      Random& random) {
  AttentiveReaderOptions options{.hidden = data.options.hidden, .dropout = data.options.dropout};
  if (system == "layer_small_gain")
    options.norm = NormSpec("layer:gain=0.1");
  else if (system.starts_with("layer"))
    options.norm = NormSpec("layer");
  else if (system.starts_with("batch"))
    options.norm = NormSpec(fmt::format("batch:steps={},gain=0.1", data.longest_passage()));
  if (system == "layer_everywhere") options.product_norm = NormSpec("layer");
  if (system == "batch_everywhere") options.product_norm = NormSpec("batch:gain=0.1");
  return AttentiveReader(data.vocabulary.count(), data.vocabulary.entities(), random, options);
}

// A baseline: of each passage it sees the last mark of punctuation only.
constexpr const char* question_only = "question_only";

StoryBatch seen_by(const std::string& system, StoryBatch batch) {
  if (system != question_only) return batch;
  const Index length = batch.passages.shape()[1];
  Indices last = Indices::uninitialized({batch.rows(), 1});
  for (Index row = 0; row < batch.rows(); ++row)
    last.mutable_data()[row] = batch.passages.data()[(row + 1) * length - 1];
  batch.passages = last;
  return batch;
}

std::vector<StoryBatch> all_seen_by(const std::string& system, std::vector<StoryBatch> batches) {
  for (StoryBatch& batch : batches) batch = seen_by(system, batch);
  return batches;
}

Outcome wrong_in_percent(const AttentiveReader& net, const std::vector<StoryBatch>& batches) {
  Outcome outcome{.items = wrong_answers(net, batches)};
  for (double& each : outcome.items) each *= 100;
  return outcome;
}

Outcome train_attentive_reader(const ReaderData& data, const TaskTrial& trial) {
  const ReaderTaskOptions& o = data.options;
  Random random = trial.trial.weights();
  const std::string& system = trial.setting.norm;
  const AttentiveReader net = make_attentive_reader(data, system, random);
  const std::vector<StoryBatch> validation = all_seen_by(system, data.validation);
  ShuffledEpochs<StoryBatch> batches(trial.trial.seed, [&](Random& order) {
    return story_batches(data.sets.train, data.vocabulary, o.batch_size, order, true);
  });
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate, .clip_norm = 10},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss =
           [&](Index step) {
             const StoryBatch batch = seen_by(system, batches.at(step));
             return cross_entropy(support::read(net, batch, training(random)).logits,
                                  batch.answers);
           },
       .validate =
           [&] {
             const double error = mean_of_items(wrong_in_percent(net, validation));
             return Validation{error, error};
           },
       .test =
           [&](Outcome& outcome) {
             outcome.items = wrong_in_percent(net, all_seen_by(system, data.test)).items;
             outcome.values["test"] = mean_of_items(outcome);
           }},
      ba2016().task("reader").validation(), trial.tested, trial.seen);
}

Outcome error_without_net(const ReaderData& data, double StoryBaselines::*accuracy) {
  return {.values = {{"test", 100 - 100 * (StoryBaselines(data.sets.test).*accuracy)}}};
}

}  // namespace

MatrixTask reader_task(const StorySets& sets, const ReaderTaskOptions& o) {
  const auto data = std::make_shared<const ReaderData>(sets, o);
  const auto rule = [data](double StoryBaselines::*accuracy) {
    return [data, accuracy] { return error_without_net(*data, accuracy); };
  };
  return {.name = "reader",
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate\nclipped to 10"},
                            {"initial values", "U(+-1/sqrt(inputs))\nembeddings N(0, 1)"},
                            {"hidden", o.hidden},
                            {"entities", o.entities},
                            {"dropout", o.dropout},
                            {"batch_size", o.batch_size},
                            {"steps", o.steps},
                            {"stretch", o.stretch}},
          .rate = o.rate,
          .steps = o.steps,
          .seconds = o.seconds,
          .train = [data](const TaskTrial& trial) { return train_attentive_reader(*data, trial); },
          .baselines = {{"any_entity", rule(&StoryBaselines::uniform)},
                        {"last_entity", rule(&StoryBaselines::last)},
                        {"most_frequent_entity", rule(&StoryBaselines::most_frequent)},
                        {question_only,
                         [data] {
                           const TaskTrial once{{question_only, data->options.rate}, {1}, true};
                           return train_attentive_reader(*data, once);
                         }}},
          .systems = ba2016().task("reader").systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
