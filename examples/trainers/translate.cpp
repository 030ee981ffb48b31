// Trains a Transformer to translate, as in Xu et al. 2019, section 2.2, and translates with it.

#include <algorithm>

#include "support/shuffled_epochs.h"
#include "support/translation.h"
#include "support/translation_sets.h"
#include "tapegrad/core/files/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "trainers/translate_flags.h"
#include "trainers/translate_lines.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

/// A net in training.
class Translation {
 public:
  Translation(const TranslateFlags& flags, const TranslationSets& sets, const Subwords& subwords,
              Cluster& cluster)
      : flags_(flags),
        sets_(sets),
        subwords_(subwords),
        cluster_(cluster),
        train_(sets.train, subwords),
        validation_(pair_batches({sets.validation, subwords}, flags.batch_tokens)),
        net_(make_translator(flags, subwords)),
        batches_(flags.seed, [this](Random& order) {
          return pair_batches(train_, flags_.batch_tokens, &order);
        }) {
    for (std::size_t i = 0; i < train_.source.size(); ++i) {
      const std::size_t longest = 1 + std::max(train_.source[i].size(), train_.target[i].size());
      expect<DataError>(static_cast<Index>(longest) <= flags.batch_tokens,
                        "{}: line {} to train on has {} subwords, but --batch-tokens allows {}; "
                        "shorten it, or allow more",
                        sets.source, i + 1, longest, flags.batch_tokens);
    }
  }

  int train(const Trainer& trainer) {
    const auto steps = RunSteps::epochs(flags_.epochs, batches_.per_epoch());
    const auto notes = [&] {
      return std::map<std::string, std::string>{{"subwords", Json(subwords_.pieces()).dump()}};
    };
    return trainer.train(
        {.net = fields(net_),
         .steps = steps,
         .loss = {[&](Index step) { return batches_.at(step).rows(); },
                  [&](Index step, const Shard& shard, Random& masks) {
                    return loss(step, shard, masks);
                  }},
         .seed = flags_.seed,
         .description = fmt::format(
             "model: {} subwords, {} parameters; {} steps of up to {} subwords, seed {}\n",
             subwords_.count(), parameter_count(net_), steps.total, flags_.batch_tokens,
             flags_.seed),
         .evaluate = [&] { return evaluate(); },
         .finish = [&](const Run&) { return finish(); },
         .notes = notes});
  }

 private:
  /// The mean over the subwords of a shard, weighted so that the mean over the pairs of all shards
  /// is that over the subwords of the batch.
  Tensor loss(Index step, const Shard& shard, Random& masks) {
    const PairBatch& all = batches_.at(step);
    const PairBatch own = all.part(shard.begin, shard.end);
    const double weight = static_cast<double>(own.tokens()) / static_cast<double>(all.tokens()) *
                          (static_cast<double>(all.rows()) / static_cast<double>(own.rows()));
    return translation_loss(net_, own, flags_.label_smoothing, training(masks)) * weight;
  }

  Json evaluate() {
    const double loss = translation_loss(net_, validation_, flags_.label_smoothing, cluster_);
    const double bleu = translation_bleu(net_, subwords_, sets_.validation, 1, cluster_);
    return {{"validation_loss", loss}, {"validation_bleu", bleu}};
  }

  Json finish() {
    Json results;
    write_result(fmt::format("by a beam of {}:\n", flags_.beam));
    for (const auto& [name, lines] : sets_.tests) {
      const double bleu = translation_bleu(net_, subwords_, lines, flags_.beam, cluster_);
      write_result(fmt::format("{}: {:.2f} BLEU on {} sentences\n", name, bleu, lines.count()));
      results["bleu_" + name] = bleu;
    }
    if (!flags_.attention.empty() && cluster_.is_first()) {
      AttentionPicture picture;
      const std::span<const std::string> first(sets_.tests.front().lines.source);
      for (const std::string& line : first.first(std::min(first.size(), AttentionPicture::most)))
        picture.add(line, translate(net_, subwords_, {&line, 1}, flags_.beam).front());
      picture.write(flags_.attention, net_, subwords_);
    }
    return results;
  }

  const TranslateFlags& flags_;
  const TranslationSets& sets_;
  const Subwords& subwords_;
  Cluster& cluster_;
  EncodedPairs train_;
  std::vector<PairBatch> validation_;
  Translator net_;
  ShuffledEpochs<PairBatch> batches_;
};

Subwords learn_subwords(const ParallelLines& pairs, Index vocabulary) {
  std::vector<std::string> lines = pairs.source;
  lines.insert(lines.end(), pairs.target.begin(), pairs.target.end());
  return Subwords::learn(lines, vocabulary);
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
  return Translation(flags, sets, subwords, trainer.cluster()).train(trainer);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("translate", "Trains a Transformer to translate sentences, and translates with it.");
  TranslateFlags translate;
  translate.add_to(flags);
  return flags.run(argc, argv, [&] { return run_translate(translate, flags); });
}
