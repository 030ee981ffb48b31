// Trains a Transformer to translate, as in Xu et al. 2019, section 2.2, and translates with it.

#include <algorithm>

#include "tapegrad/core/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "trainers/translate_flags.h"
#include "trainers/translate_lines.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

/// Throws DataError for a line to train on that fits in no batch.
void expect_short(const TranslationData& data) {
  for (std::size_t i = 0; i < data.train.source.size(); ++i) {
    const std::size_t longest =
        1 + std::max(data.train.source[i].size(), data.train.target[i].size());
    expect<DataError>(static_cast<Index>(longest) <= data.batch_tokens,
                      "{}: line {} to train on has {} subwords, but --batch-tokens allows {}; "
                      "shorten it, or allow more",
                      data.sets.source, i + 1, longest, data.batch_tokens);
  }
}

/// Scores the net on all test sets; returns what it has found.
Json test(const TranslateFlags& flags, const TranslationData& data, const Translator& net,
          Cluster& cluster) {
  Json results;
  write_result(fmt::format("by a beam of {}:\n", flags.beam));
  for (const auto& [name, lines] : data.sets.tests) {
    const double bleu = translation_bleu(net, data.subwords, lines, flags.beam, cluster);
    write_result(fmt::format("{}: {:.2f} BLEU on {} sentences\n", name, bleu, lines.count()));
    results["bleu_" + name] = bleu;
  }
  if (!flags.attention.empty() && cluster.is_first()) {
    AttentionPicture picture;
    const std::span<const std::string> first(data.test().source);
    for (const std::string& line : first.first(std::min(first.size(), AttentionPicture::most)))
      picture.add(line, translate(net, data.subwords, {&line, 1}, flags.beam).front());
    picture.write(flags.attention, net, data.subwords);
  }
  return results;
}

int train(const TranslateFlags& flags, const TranslationData& data, const Trainer& trainer) {
  Random random(flags.seed);
  TranslationLearner learner(data, flags.model(), {flags.label_smoothing, flags.beam}, flags.seed,
                             random);
  const Translator& net = learner.translator();
  Cluster& cluster = trainer.cluster();
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description = fmt::format(
           "model: {} subwords, {} parameters; {} steps of up to {} subwords, seed {}\n",
           data.subwords.count(), parameter_count(net), steps.total, flags.batch_tokens,
           flags.seed),
       .evaluate =
           [&] {
             return Json{{"validation_loss",
                          translation_loss(net, data.validation, flags.label_smoothing, cluster)},
                         {"validation_bleu",
                          translation_bleu(net, data.subwords, data.sets.validation, 1, cluster)}};
           },
       .finish = [&](const Run&) { return test(flags, data, net, cluster); },
       .notes =
           [&] {
             return std::map<std::string, std::string>{
                 {"subwords", Json(data.subwords.pieces()).dump()}};
           }});
}

/// Runs the program with its flags; returns the exit code.
int run_translate(TranslateFlags& flags, Flags& all) {
  Trainer trainer(all, flags.run, flags.optimizer);
  flags.check(all);
  if (!flags.attention.empty()) expect_writable(flags.attention);
  if (!flags.translate.empty()) return translate_lines(flags, trainer);
  const TranslationSets sets = flags.data.empty()
                                   ? draw_translation_sets(flags.seed)
                                   : read_translation_sets(flags.data, flags.from, flags.to);
  trainer.uses_data(sets.source, sets.digest());
  const Subwords subwords =
      trainer.resumes() ? saved_subwords(trainer) : learn_subwords(sets.train, flags.vocabulary);
  std::vector<std::string> tests;
  for (const auto& test : sets.tests)
    tests.push_back(fmt::format("{} ({})", test.name, test.lines.count()));
  write_result(fmt::format("data: {}; {} pairs to train on, {} for validation; {}\n", sets.source,
                           sets.train.count(), sets.validation.count(), fmt::join(tests, ", ")));
  const TranslationData data(sets, subwords, flags.batch_tokens);
  expect_short(data);
  return train(flags, data, trainer);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("translate", "Trains a Transformer to translate sentences, and translates with it.");
  TranslateFlags translate;
  translate.add_to(flags);
  return flags.run(argc, argv, [&] { return run_translate(translate, flags); });
}
