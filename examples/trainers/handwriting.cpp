// Trains a net to write by hand, as in Ba et al. 2016, section 6.5 (Graves 2013, sections 4 and 5),
// and writes with it.

#include "support/data_files.h"
#include "support/handwriting_net.h"
#include "support/handwriting_picture.h"
#include "support/handwriting_sets.h"
#include "support/shuffled_epochs.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"
#include "trainers/saved_net.h"
#include "trainers/wiring_flag.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct HandwritingFlags : TrainingFlags {
  std::string task = "text", data, norm = "none", wiring = "paper", svg, text = "31415";
  bool only_svg = false;
  Index moves = 300;
  double bias = 1;
  HandwritingSynthesisOptions model{.advance = 0.057};  // as lines of digits do, about

  HandwritingFlags()
      : TrainingFlags("handwriting", "Trains a net to write by hand, and writes with it.",
                      {.epochs = 20, .batch_size = 8, .optimizer = {.clip_norm = 10}}) {
    training("--task", task,
             "Task: drawn digits of a given text, drawn digits, or drawings of --data")
        ->check(CLI::IsMember({"text", "digits", "omniglot", "kanji"}));
    input("--data", data, data_help("the drawings", "stroke3/"));
    output("--svg", svg, "Write to this file after the training, as an image", {.begins = "<svg"});
    setting("--only-svg", only_svg, "Do not train, but write to --svg with the net of --resume")
        ->needs("--svg")
        ->needs("--resume")
        ->excludes("--save", "--log-dir", "--dry-run", "--profile", "--check-nan");
    setting("--text", text, "Digits to write, with --task text");
    setting("--bias", bias, "How neatly to write, beside lines without a bias")
        ->check(between(0.0, 100.0));
    add_norm_flag(*this, norm, "Normalization of the LSTMs");
    add_wiring_flag(*this, "--wiring", wiring);
    training("--layers", model.net.layers, "LSTMs")->check(between(1, 100));
    training("--hidden", model.net.hidden, "Units of each")->check(between(1, 1 << 16));
    training("--components", model.net.components, "Normal distributions in a mixture")
        ->check(between(1, 1000));
    training("--bumps", model.bumps, "Bumps of the window, with --task text")
        ->check(between(1, 1000));
    training("--moves", moves, "Moves in a line of drawings")->check(between(1, 1 << 16));
  }

  bool with_text() const { return task == "text"; }
  bool reads() const { return task == "omniglot" || task == "kanji"; }

  /// Throws CLI::ValidationError for flags that conflict.
  void check() const {
    if (reads() && data.empty() && !only_svg)
      throw CLI::ValidationError("--data", fmt::format("--task {} needs its directory", task));
    if (!reads() && !data.empty())
      throw CLI::ValidationError("--data", fmt::format("--task {} draws its lines itself", task));
    if (text.empty() || text.size() > 100 ||
        text.find_first_not_of("0123456789") != std::string::npos)
      throw CLI::ValidationError("--text", "must have 1 to 100 characters, all of them digits");
  }

  HandwritingSets make_sets() const {
    return reads() ? read_handwriting_sets(task, data, moves) : write_handwriting_sets(seed);
  }
  HandwritingNet make_net() const {
    HandwritingSynthesisOptions options = model;
    options.net.recurrent = recurrent_options(norm, wiring);
    Random random(seed);
    return HandwritingNet(with_text(), random, options);
  }
};

// ---- Training ----

/// The lines of a set without their texts, unless the net is to write them.
std::vector<WrittenLine> lines_for(const HandwritingFlags& flags,
                                   const std::vector<WrittenLine>& lines) {
  return flags.with_text() ? lines : without_text(lines);
}

/// A net in training.
struct HandwritingTraining {
  const HandwritingFlags& flags;
  const HandwritingSets& sets;
  Cluster& cluster;
  HandwritingNet net;
  std::vector<WrittenLine> validation, test;
  ShuffledEpochs<std::vector<WrittenLine>> batches;

  HandwritingTraining(const HandwritingFlags& f, const HandwritingSets& s, Cluster& c)
      : flags(f),
        sets(s),
        cluster(c),
        net(flags.make_net()),
        validation(lines_for(flags, sets.validation)),
        test(lines_for(flags, sets.test)),
        batches(flags.seed, [this](Random& order) { return epoch(order); }) {}

  /// The batches of an epoch, of equal size; lines that fill none are left out.
  std::vector<std::vector<WrittenLine>> epoch(Random& order) const {
    const std::vector<WrittenLine> lines = lines_for(flags, sets.train(order));
    if (static_cast<Index>(lines.size()) < flags.batch_size)
      throw CLI::ValidationError("--batch-size",
                                 fmt::format("there are only {} lines to train on", lines.size()));
    return line_batches(lines, flags.batch_size);
  }

  /// The mean over the moves of a shard, weighted so that the mean over the lines of all shards is
  /// that over the moves of the batch.
  Tensor loss(Index step, const Shard& shard, Random& masks) {
    const std::span all(batches.at(step));
    const auto own = all.subspan(static_cast<std::size_t>(shard.begin),
                                 static_cast<std::size_t>(shard.end - shard.begin));
    const double weight = moves_a_line(own) / moves_a_line(all);
    return net.nll(handwriting_batch(own), training(masks)) * weight;
  }

  static double moves_a_line(std::span<const WrittenLine> lines) {
    return moves_of(lines) / static_cast<double>(lines.size());
  }

  /// In nats per move.
  double mean_loss(const std::vector<WrittenLine>& lines) {
    constexpr Index most = 16;  // lines at a time
    const auto count = static_cast<Index>(lines.size());
    const auto sums = cluster.sums((count + most - 1) / most, 2, [&](const Shard& groups) {
      const Index begin = groups.begin * most, end = std::min(groups.end * most, count);
      const auto own = std::span(lines).subspan(static_cast<std::size_t>(begin),
                                                static_cast<std::size_t>(end - begin));
      return std::vector{net.cost(own), moves_of(own)};
    });
    return sums[0] / sums[1];
  }

  Json evaluate() { return {{"validation_loss", mean_loss(validation)}}; }

  Json finish() {
    const double found = mean_loss(test);
    Random order = Random(flags.seed).stream(1);
    const auto [one, by_pen] = handwriting_baselines(sets.train(order), test);
    write_result(
        fmt::format("test: {:.3f} nats per move, {:.1f} per line; a normal distribution: {:.3f} "
                    "per move, one for each state of the pen: {:.3f}\n",
                    found, found * moves_a_line(test), one, by_pen));
    return {{"test_loss", found}, {"baseline_one", one}, {"baseline_by_pen", by_pen}};
  }
};

// ---- Writing ----

/// A line that the net writes, of the text if it writes texts.
PenLine write_line(const HandwritingFlags& flags, const HandwritingNet& net, double bias,
                   Random& random) {
  constexpr Index most = 1000;  // moves of a text
  if (const auto* predictor = std::get_if<HandwritingPredictor>(&net.net))
    return {fmt::format("bias {:g}", bias),
            select(predictor->sample(flags.moves, 1, random, bias), 0, 1), ""};
  const auto& synthesis = std::get<HandwritingSynthesis>(net.net);
  const auto written = synthesis.write(text_of(digits_of(flags.text)), most, random, bias);
  return {fmt::format("{}, bias {:g}", flags.text, bias), select(written.moves, 0, 1), flags.text,
          select(written.weights, 0, 1)};
}

/// Lines without a bias, as many with it, and the first of the test set, if there is one. One of
/// each says a text, two show more of what the net draws.
std::vector<PenLine> written_lines(const HandwritingFlags& flags, const HandwritingNet& net,
                                   const std::vector<WrittenLine>& test) {
  std::vector<PenLine> lines;
  for (const double bias : {0.0, flags.bias}) {
    Random random = Random(flags.seed).stream(2);
    for (int i = 0; i < (flags.with_text() ? 1 : 2); ++i)
      lines.push_back(write_line(flags, net, bias, random));
  }
  if (test.empty()) return lines;
  const std::vector<Strokes> real{test.front().moves};
  lines.push_back({"a line of the test set", select(stroke_batch(real).moves, 0, 1), ""});
  return lines;
}

void write_picture(const HandwritingFlags& flags, const HandwritingNet& net,
                   const std::vector<WrittenLine>& test) {
  const std::string image = handwriting_picture(written_lines(flags, net, test));
  write_file(flags.svg, std::as_bytes(std::span(image)));
}

int run_training(HandwritingFlags& flags) {
  Trainer trainer(flags);
  flags.check();
  if (!flags.svg.empty()) expect_writable(flags.svg);
  const HandwritingSets sets = flags.make_sets();
  trainer.uses_data(sets.source, sets.digest);
  HandwritingTraining training(flags, sets, trainer.cluster());
  const auto steps = RunSteps::epochs(flags.epochs, training.batches.per_epoch());
  return trainer.train(
      {.net = fields(training.net),
       .steps = steps,
       .loss = {[&](Index) { return flags.batch_size; },
                [&](Index step, const Shard& shard, Random& masks) {
                  return training.loss(step, shard, masks);
                }},
       .seed = flags.seed,
       .description = fmt::format("data: {}; {} lines for validation, {} for the test\n"
                                  "model: {} LSTMs, {} parameters; {} steps of {} lines\n",
                                  sets.source, sets.validation.size(), sets.test.size(),
                                  flags.model.net.layers, parameter_count(training.net),
                                  steps.total, flags.batch_size),
       .evaluate = [&] { return training.evaluate(); },
       .finish =
           [&](const Run&) {
             const Json found = training.finish();
             if (!flags.svg.empty() && trainer.cluster().is_first())
               write_picture(flags, training.net, training.test);
             return found;
           }});
}

/// Writes with a net that has been trained.
int run_writing(HandwritingFlags& flags) {
  notes_to_resume(flags.run_flags.resume, flags);
  flags.check();
  set_threads(flags.run_flags.threads);
  expect_writable(flags.svg);
  const HandwritingNet net = flags.make_net();
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  const bool has_lines = !flags.reads() || !flags.data.empty();
  write_picture(flags, net, has_lines ? flags.make_sets().test : std::vector<WrittenLine>());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  HandwritingFlags flags;
  return flags.run(argc, argv,
                   [&] { return flags.only_svg ? run_writing(flags) : run_training(flags); });
}
