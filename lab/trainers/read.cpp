// Trains the attentive reader of Hermann et al. 2015, as in Ba et al. 2016, section 6.2, to answer
// questions about short stories, and shows where it looks.

#include <optional>

#include "problems/stories.h"
#include "support/data_files.h"
#include "support/saved_net.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct ReadFlags : TrainingFlags {
  std::string data, ask, svg, norm = "none";
  bool everywhere = false;
  Index story = 5, sentences = 4, hidden = 64;
  double dropout = 0.5;

  ReadFlags()
      : TrainingFlags("read", "Trains a net to answer questions about short stories.",
                      {.epochs = 11,
                       .batch_size = 64,
                       .optimizer = {.schedule = "constant", .clip_norm = 10},
                       .keep_best = true}) {
    input("--data", data, data_help("bAbI", "babi/") + "; without it, draws stories");
    training("--story", story, "Task of --data: 1, where persons are, or 5, who gives what to whom")
        .check(one_of({"1", "5"}));
    training("--sentences", sentences, "Last sentences to read before a question; 0: all")
        .check(between(0, 1000));
    in_place_of_training(input("--ask", ask,
                               "Answer the questions of this file, in the format of bAbI, by the "
                               "net of --resume, without training"))
        .excludes({"--data"});
    output("--svg", svg, "Draw where the net looks for the answers of --ask to this file, too",
           {.begins = "<svg"})
        .needs({"--ask"});
    add_norm_flag(*this, norm, "Normalization of both LSTMs");
    training("--everywhere", everywhere,
             "Normalize the products of the attention and of the last layer, too");
    training("--hidden", hidden, "Channels of the embeddings and of all states")
        .check(between(1, 1 << 16));
    training("--dropout", dropout, "Share of embeddings and last hidden units to drop in training")
        .check(between(0.0, 0.99));
  }

  /// How many persons, things and places a story may have: four sentences and a question have at
  /// most nine.
  Index entities() const {
    return sentences >= 1 && sentences <= 4 ? 10 : std::ssize(entity_names());
  }
  PassageLimits limits() const { return {.sentences = sentences, .entities = entities()}; }
  AttentiveReaderOptions model() const {
    return {.hidden = hidden,
            .norm = norm,
            .product_norm = everywhere ? norm : "none",
            .dropout = dropout};
  }
};

int run_training(const ReadFlags& flags, Trainer& trainer) {
  const StorySets sets = flags.data.empty()
                             ? draw_story_sets(flags.seed)
                             : read_story_sets(flags.data, flags.story, flags.limits());
  trainer.uses_data(sets.source, sets.digest());
  const StoryBaselines baselines(sets.test);
  write_result(
      fmt::format("data: {}; {} questions to train on, {} for validation, {} for the test\n"
                  "test errors without learning: {:.3f} for any entity of the passage, {:.3f} for "
                  "the last that "
                  "the question does not name, {:.3f} for the most frequent such one\n",
                  sets.source, sets.train.size(), sets.validation.size(), sets.test.size(),
                  1 - baselines.uniform, 1 - baselines.last, 1 - baselines.most_frequent));
  const StoryVocabulary vocabulary(sets.train, flags.entities());
  if (trainer.resumes())
    trainer.resumed_note("words", [&](const Json& note) {
      return note == Json(vocabulary.words()) ? std::optional(true) : std::nullopt;
    });
  Random random(flags.seed);
  ReaderTrainee learner(sets, vocabulary, flags.model(), flags.batch_size, flags.seed, random);
  const auto error = [&](const std::vector<StoryBatch>& batches) {
    return error_rate(learner.reader(), batches, trainer.cluster());
  };
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description = fmt::format(
           "model: {} words, {} entities, {} parameters; {} steps of up to {} stories\n",
           vocabulary.words().size(), vocabulary.entities(), parameter_count(learner.reader()),
           steps.total, flags.batch_size),
       .validate =
           [&] {
             return Metrics{{"validation_error", error(learner.validation_batches())}};
           },
       .metric = {.name = "validation_error"},
       .test =
           [&] {
             const double found = error(learner.test_batches());
             write_result(fmt::format("test error {:.4f}\n", found));
             return Metrics{{"test_error", found}};
           },
       .notes =
           [&] {
             return std::map<std::string, std::string>{{"words", Json(vocabulary.words()).dump()}};
           }});
}

StoryVocabulary saved_vocabulary(const ReadFlags& flags, const Trainer& trainer) {
  return {trainer.resumed_note("words", saved_words), flags.entities()};
}

int answer(const ReadFlags& flags, const Trainer& trainer) {
  const StoryVocabulary vocabulary = saved_vocabulary(flags, trainer);
  Random random(flags.seed);
  const AttentiveReader net(vocabulary.count(), vocabulary.entities(), random, flags.model());
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  if (!flags.svg.empty()) expect_writable(flags.svg);
  std::vector<ReadStory> answered;
  for (const Story& story : read_stories(flags.ask, flags.limits())) {
    answered.emplace_back(net, vocabulary, story);
    write_result(as_text(answered.back()));
  }
  if (flags.svg.empty()) return 0;
  const std::string image = as_svg(answered);
  write_file(flags.svg, std::as_bytes(std::span(image)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ReadFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return flags.ask.empty() ? run_training(flags, trainer) : answer(flags, trainer);
  });
}
