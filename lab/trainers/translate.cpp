// Trains a Transformer to translate, as in Xu et al. 2019, section 2.2, and translates with it.

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "problems/translation.h"
#include "support/data_files.h"
#include "support/saved_net.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

/// The defaults are a small Transformer of the depth of Xu et al. 2019, section 2.2.
struct TranslateFlags : TrainerFlags {
  std::string data, from = "de", to = "en", norm = "layer", placement = "pre";
  Index vocabulary = 4000, layers = 6, heads = 4, channels = 64, hidden = 128;
  Index batch_tokens = 2048, epochs = 5, beam = 5;
  double dropout = 0.1, attention_dropout = 0.1, activation_dropout = 0.1, label_smoothing = 0.1;
  std::uint64_t seed = 1;
  std::string translate, attention;

  TranslateFlags()
      : TrainerFlags("translate",
                     "Trains a Transformer to translate sentences, and translates with it.") {
    optimizer = {.optimizer = "adamw",
                 .schedule = "warmup",
                 .learning_rate = 2e-3,
                 .warmup = 300,
                 .beta2 = 0.98,
                 .weight_decay = 1e-4};
    run_flags.keep_best = true;
    input("--data", data,
          data_help("train, val and test*, each .de and .en", "multi30k/") +
              "; without it, draws a pair of languages");
    training("--from", from, "Ending of the files of the source language");
    training("--to", to, "Ending of the files of the target language");
    training("--vocabulary", vocabulary, "Subwords of both languages together, at most")
        .check(between(8, 1 << 20));
    add_norm_flag(*this, norm, "Normalization");
    training("--norm-placement", placement, "Norms before sub-layers, or after residuals")
        .check(one_of({"pre", "post"}));
    training("--layers", layers, "Layers of the encoder, and of the decoder")
        .check(between(1, 1000));
    training("--heads", heads, "Attention heads").check(between(1, 1 << 10));
    training("--channels", channels, "Channels of the residual stream").check(between(4, 1 << 16));
    training("--hidden", hidden, "Channels within the feed-forward sub-layers")
        .check(between(1, 1 << 16));
    const Check share = between(0.0, 0.99);
    training("--dropout", dropout, "Share of values to drop in training").check(share);
    training("--attention-dropout", attention_dropout,
             "Share of attention weights to drop in training")
        .check(share);
    training("--activation-dropout", activation_dropout,
             "Share of values after activations to drop in training")
        .check(share);
    training("--batch-tokens", batch_tokens,
             "Subwords per step in each language, including padding")
        .check(between(1, 1 << 24));
    length("--epochs", epochs, "Passes over the training pairs").check(between(1, 1 << 20));
    training("--label-smoothing", label_smoothing,
             "Share of each target to spread over all subwords")
        .check(share);
    training("--seed", seed, "Seed of weights, order, dropout and drawn languages");
    optimizer.add_to(*this);
    run_flags.add_to(*this);
    setting("--beam", beam, "Width of the beam of translations, except of those after an epoch")
        .check(between(1, 1000));
    input("--translate", translate,
          "Translate the lines of this file, or - for those that you type, by the net of "
          "--resume, without training")
        .needs({"--resume"})
        .excludes({"--data", "--save", "--log-dir", "--dry-run"});
    output("--attention", attention,
           "SVG picture of where the net looks in the first sentences that it translates",
           {.begins = "<svg"});
  }

  /// Throws FlagError for flags that conflict.
  void check() const {
    if (data.empty() && (given("--from") || given("--to")))
      throw FlagError("--from", "and --to name files of --data; leave them out");
    if (channels % heads != 0 || channels % 2 != 0)
      throw FlagError("--heads",
                      fmt::format("{} do not divide {} channels, or the number of channels is odd",
                                  heads, channels));
  }

  TransformerModelOptions model() const {
    return {.stack = {.layers = layers,
                      .heads = heads,
                      .channels = channels,
                      .feed_forward = hidden,
                      .activation = Activation::relu,
                      .norm = NormSpec(norm),
                      .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
                      .dropout = dropout,
                      .attention_dropout = attention_dropout,
                      .activation_dropout = activation_dropout},
            .positions = Positions::sinusoidal};
  }
};

/// A picture of where a net looks in the first sentences that it translates.
class AttentionPicture {
 public:
  static constexpr std::size_t most = 4;  ///< sentences

  /// Takes a sentence with its translation, unless there are enough, or it has no words.
  void add(const std::string& line, const std::string& translation) {
    if (sentences_.size() < most && !words_of(line).empty())
      sentences_.emplace_back(line, translation);
  }
  /// Throws DataError if it cannot be written.
  void write(const std::string& file, const Translator& net, const Subwords& subwords) const {
    std::vector<HeatMap> maps;
    for (const auto& [line, translation] : sentences_)
      maps.push_back(attention_map(net, subwords, line, translation));
    const std::string picture = svg(maps);
    write_file(file, std::as_bytes(std::span(picture)));
  }

 private:
  std::vector<std::pair<std::string, std::string>> sentences_;
};

std::optional<Subwords> parse_subwords(const Json& note) {
  const auto pieces = saved_texts(note);
  if (!pieces) return {};
  try {
    return Subwords(*pieces);
  } catch (const DataError&) {
    return {};
  }
}

/// The subwords of the checkpoint of --resume. Throws DataError, naming it, if they are damaged.
Subwords saved_subwords(const Trainer& trainer) {
  return trainer.resumed_note("subwords", parse_subwords);
}

// ---- Training ----

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
Metrics test(const TranslateFlags& flags, const TranslationData& data, const Translator& net,
             Cluster& cluster) {
  Metrics results;
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

int train(const TranslateFlags& flags, const TranslationData& data, Trainer& trainer) {
  Random random(flags.seed);
  TranslationTrainee learner(data, flags.model(), {flags.label_smoothing, flags.beam}, flags.seed,
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
       .validate =
           [&] {
             return Metrics{
                 {"validation_loss",
                  translation_loss(net, data.validation, flags.label_smoothing, cluster)},
                 {"validation_bleu",
                  translation_bleu(net, data.subwords, data.sets.validation, 1, cluster)}};
           },
       .test = [&] { return test(flags, data, net, cluster); },
       .notes =
           [&] {
             return std::map<std::string, std::string>{
                 {"subwords", Json(data.subwords.pieces()).dump()}};
           }});
}

int run_training(const TranslateFlags& flags, Trainer& trainer) {
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

// ---- Translating ----

constexpr Index longest_line = 1000;  // in subwords: time grows with its square

/// Translates lines one by one or many at a time by the net of --resume, and remembers the first
/// for the picture.
class LineTranslator {
 public:
  LineTranslator(const TranslateFlags& flags, const Trainer& trainer, Random random)
      : flags_(flags),
        subwords_(saved_subwords(trainer)),
        net_(subwords_.count(), random, flags.model()) {
    load_saved_net(flags.run_flags, flags.optimizer, fields(net_));
  }

  void write(std::span<const std::string> lines, const std::string& file) {
    for (const std::string& line : lines) {
      ++number_;
      const auto length = std::ssize(subwords_.encode(line));
      expect<DataError>(length <= longest_line,
                        "{}: line {} has {} subwords; at most {} can be translated", file, number_,
                        length, longest_line);
    }
    const auto translations = translate(net_, subwords_, lines, flags_.beam);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      write_result(translations[i] + "\n");
      picture_.add(lines[i], translations[i]);
    }
  }
  void draw() const {
    if (!flags_.attention.empty()) picture_.write(flags_.attention, net_, subwords_);
  }

 private:
  const TranslateFlags& flags_;
  Subwords subwords_;
  Translator net_;
  AttentionPicture picture_;
  Index number_ = 0;  // of the last line
};

/// Writes a translation of each line to standard output. Throws DataError for a checkpoint that
/// does not fit, and for a line that is too long.
int run_translating(const TranslateFlags& flags, const Trainer& trainer) {
  LineTranslator translator(flags, trainer, Random(flags.seed));
  if (flags.translate != "-") {
    translator.write(read_lines(flags.translate), flags.translate);
  } else {
    if (isatty(STDIN_FILENO) != 0)
      write_diagnostic("type a sentence and press Enter; Ctrl-D ends\n");
    for (std::string line; results_are_written() && std::getline(std::cin, line);)
      translator.write({&line, 1}, "standard input");
  }
  translator.draw();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  TranslateFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    flags.check();
    if (!flags.attention.empty()) expect_writable(flags.attention);
    return flags.translate.empty() ? run_training(flags, trainer) : run_translating(flags, trainer);
  });
}
