// Trains a transition-based dependency parser, as in Xu et al. 2019, section 2.2 (the parser of
// Chen and Manning 2014), and parses sentences with it.

#include <optional>

#include "data/tree_drawing.h"
#include "problems/parsing.h"
#include "support/data_files.h"
#include "support/saved_net.h"
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

struct ParseFlags : TrainingFlags {
  std::string data, norm = "layer", parse, svg;
  Index embedding = 50;
  Index hidden = 256;
  double dropout = 0.2;

  ParseFlags()
      : TrainingFlags("parse", "Trains a parser of dependencies, and parses sentences with it.",
                      {.epochs = 6, .batch_size = 1024, .keep_best = true}) {
    input("--data", data,
          data_help("a treebank of Universal Dependencies", "ud-english-ewt/") +
              "; without it, draws sentences");
    in_place_of_training(input("--parse", parse,
                               "Parse these sentences with the parser of --resume: CoNLL-U with "
                               "XPOS, - for standard input"))
        .excludes({"--data"});
    output("--svg", svg, "Draw the trees of --parse to this file, too", {.begins = "<svg"})
        .needs({"--parse"});
    add_norm_flag(*this, norm, "Normalization before the activations");
    training("--embedding", embedding, "Channels of the embeddings").check(between(1, 1 << 12));
    training("--hidden", hidden, "Size of both hidden layers").check(between(1, 1 << 16));
    training("--dropout", dropout, "Share of hidden units to drop in training")
        .check(between(0.0, 0.99));
  }

  ParserOptions model() const {
    return {.embedding = embedding, .hidden = hidden, .norm = NormSpec(norm), .dropout = dropout};
  }
};

// ---- Training ----

/// The lists of a vocabulary, by the names of their notes in checkpoints.
std::map<std::string, std::vector<std::string>> lists_of(const ParserVocabulary& vocabulary) {
  return {{"words", vocabulary.words()},
          {"tags", vocabulary.tags()},
          {"relations", vocabulary.relations()}};
}

std::map<std::string, std::string> notes_of(const ParserVocabulary& vocabulary) {
  std::map<std::string, std::string> notes;
  for (const auto& [name, list] : lists_of(vocabulary)) notes[name] = Json(list).dump();
  return notes;
}

/// Throws DataError unless the checkpoint to resume has this vocabulary.
void expect_same(const ParserVocabulary& vocabulary, const Trainer& trainer) {
  for (const auto& [name, list] : lists_of(vocabulary))
    trainer.resumed_note(name, [&, wanted = Json(list)](const Json& note) {
      return note == wanted ? std::optional(true) : std::nullopt;
    });
}

Metrics test(const TransitionParser& net, const ParserData& data, Cluster& cluster) {
  const auto [all, words] = score(cluster, net, data.vocabulary, data.test);
  write_result(
      fmt::format("test UAS {:.4f}, LAS {:.4f} without punctuation, {:.4f} and {:.4f} with it\n",
                  words.uas(), words.las(), all.uas(), all.las()));
  return {{"test_uas", words.uas()},
          {"test_las", words.las()},
          {"test_uas_with_punctuation", all.uas()},
          {"test_las_with_punctuation", all.las()}};
}

int run_training(const ParseFlags& flags, Trainer& trainer) {
  const ParserData data(treebank({flags.data, flags.seed}));
  trainer.uses_data(data.bank.source, data.bank.digest());
  if (trainer.resumes()) expect_same(data.vocabulary, trainer);
  Random random(flags.seed);
  ParserTrainee learner(data, flags.model(), flags.batch_size, flags.seed, random);
  const TransitionParser& net = learner.parser();
  Cluster& cluster = trainer.cluster();
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description = fmt::format(
           "data: {}; {} sentences to train on, with {} transitions, {} for validation, {} for "
           "the test\n"
           "model: {} words, {} tags and {} relations, {} parameters; {} steps of {} transitions\n",
           data.bank.source, data.bank.train.size(), data.train.count(), data.validation.size(),
           data.test.size(), data.vocabulary.words().size(), data.vocabulary.tags().size(),
           data.vocabulary.relations().size(), parameter_count(net), steps.total, flags.batch_size),
       .validate =
           [&] {
             const AttachmentScore found =
                 score(cluster, net, data.vocabulary, data.validation).without_punctuation;
             return Metrics{{"validation_loss", mean_loss(cluster, net, data.validation_steps)},
                            {"validation_uas", found.uas()},
                            {"validation_las", found.las()}};
           },
       .metric = {.name = "validation_las", .higher_is_better = true},
       .test = [&] { return test(net, data, cluster); },
       .notes = [&] { return notes_of(data.vocabulary); }});
}

// ---- Parsing ----

ParserVocabulary saved_vocabulary(const std::string& resume, const Trainer& trainer) {
  const auto list = [&](const char* name) { return trainer.resumed_note(name, saved_texts); };
  try {
    return {list("words"), list("tags"), list("relations")};
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", resume, error.what()));
  }
}

std::vector<DependencyTree> read_short(const std::string& file) {
  std::vector<DependencyTree> trees =
      read_tagged(file == "-" ? "/dev/stdin" : file, {.trees = false});
  for (const DependencyTree& tree : trees)
    expect<DataError>(tree.size() <= most_drawn_words,
                      "{}: line {}: the sentence has {} words; its tree can be drawn up to {}",
                      file, tree.front().line, tree.size(), most_drawn_words);
  return trees;
}

int run_parser(const ParseFlags& flags, const Trainer& trainer) {
  const ParserVocabulary vocabulary = saved_vocabulary(flags.run_flags.resume, trainer);
  Random random(flags.seed);
  const TransitionParser net(vocabulary.ids(), feature_count, vocabulary.classes().count(), random,
                             flags.model());
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  std::vector<DependencyTree> trees = read_short(flags.parse);
  if (!flags.svg.empty()) expect_writable(flags.svg);
  const auto arcs = parse(net, vocabulary, numbered(vocabulary, trees));
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (std::size_t word = 0; word < trees[i].size(); ++word) {
      trees[i][word].head = arcs[i][word].head;
      trees[i][word].relation = vocabulary.relation(arcs[i][word].label);
    }
    write_result((i == 0 ? "" : "\n") + drawn_as_text(trees[i]));
  }
  if (flags.svg.empty()) return 0;
  const std::string image = drawn_as_svg(trees);
  write_file(flags.svg, std::as_bytes(std::span(image)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ParseFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return flags.parse.empty() ? run_training(flags, trainer) : run_parser(flags, trainer);
  });
}
