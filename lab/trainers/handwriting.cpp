// Trains a net to write by hand, as in Ba et al. 2016, section 6.5 (Graves 2013, sections 4 and 5),
// and writes with it.

#include "problems/handwriting.h"
#include "data/handwriting_picture.h"
#include "support/data_files.h"
#include "support/placement_flag.h"
#include "support/saved_net.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct HandwritingFlags : TrainingFlags {
  std::string task = "text", data, norm = "none", placement = "paper", svg, text = "31415";
  bool only_svg = false;
  Index moves = 300;
  double bias = 1;
  HandwritingSynthesisOptions model{.advance = 0.057};  // as lines of digits do, about

  HandwritingFlags()
      : TrainingFlags("handwriting", "Trains a net to write by hand, and writes with it.",
                      {.epochs = 20, .batch_size = 8, .optimizer = {.clip_norm = 10}}) {
    training("--task", task,
             "Task: drawn digits of a given text, drawn digits, or drawings of --data")
        .check(one_of({"text", "digits", "omniglot", "kanji"}));
    input("--data", data, data_help("the drawings", "stroke3/"));
    output("--svg", svg, "Write to this file after the run, as an image", {.begins = "<svg"});
    in_place_of_training(
        setting("--only-svg", only_svg, "Do not train, but write to --svg with the net of --resume")
            .needs({"--svg"}));
    setting("--text", text, "Digits to write, with --task text");
    setting("--bias", bias, "How neatly to write, beside lines without a bias")
        .check(between(0.0, 100.0));
    add_norm_flag(*this, norm, "Normalization of the LSTMs");
    add_placement_flag(*this, placement);
    training("--layers", model.net.layers, "LSTMs").check(between(1, 100));
    training("--hidden", model.net.hidden, "Units of each").check(between(1, 1 << 16));
    training("--components", model.net.components, "Normal distributions in a mixture")
        .check(between(1, 1000));
    training("--bumps", model.bumps, "Bumps of the window, with --task text")
        .check(between(1, 1000));
    training("--moves", moves, "Moves in a line of drawings").check(between(1, 1 << 16));
  }

  bool with_text() const { return task == "text"; }
  bool reads() const { return task == "omniglot" || task == "kanji"; }

  /// Throws FlagError for flags that conflict.
  void check() const {
    if (reads() && data.empty() && !only_svg)
      throw FlagError("--data", fmt::format("--task {} needs its directory", task));
    if (!reads() && !data.empty())
      throw FlagError("--data", fmt::format("--task {} draws its lines itself", task));
    if (text.empty() || text.size() > 100 ||
        text.find_first_not_of("0123456789") != std::string::npos)
      throw FlagError("--text", "must have 1 to 100 characters, all of them digits");
  }

  HandwritingSets make_sets() const {
    return reads() ? read_handwriting_sets(task, data, moves) : write_handwriting_sets(seed);
  }
  HandwritingSynthesisOptions options() const {
    HandwritingSynthesisOptions options = model;
    options.net.recurrent = recurrent_options(norm, placement);
    return options;
  }
};

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
                                   const Lines& test) {
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

void write_picture(const HandwritingFlags& flags, const HandwritingNet& net, const Lines& test) {
  const std::string image = handwriting_picture(written_lines(flags, net, test));
  write_file(flags.svg, std::as_bytes(std::span(image)));
}

/// Tests the net; returns what it has found.
Metrics test(const HandwritingFlags& flags, const HandwritingSets& sets, const HandwritingNet& net,
             const Lines& lines, Cluster& cluster) {
  const double found = mean_cost(net, lines, cluster);
  Random order = Random(flags.seed).stream(1);
  const auto [one, by_pen] = handwriting_baselines(sets.train(order), lines);
  write_result(
      fmt::format("test: {:.3f} nats per move, {:.1f} per line; a normal distribution: {:.3f} per "
                  "move, one for "
                  "each state of the pen: {:.3f}\n",
                  found, found * moves_a_line(lines), one, by_pen));
  return {{"test_loss", found}, {"baseline_one", one}, {"baseline_by_pen", by_pen}};
}

int run_training(const HandwritingFlags& flags, Trainer& trainer) {
  flags.check();
  if (!flags.svg.empty()) expect_writable(flags.svg);
  const HandwritingSets sets = flags.make_sets();
  trainer.uses_data(sets.source, sets.digest);
  Random random(flags.seed);
  HandwritingTrainee learner(sets, flags.with_text(), flags.options(), flags.batch_size, flags.seed,
                             random);
  const HandwritingNet& net = learner.writer();
  if (learner.per_epoch() == 0)
    throw FlagError("--batch-size", fmt::format("there are fewer than {} lines to train "
                                                "on",
                                                flags.batch_size));
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description =
           fmt::format("data: {}; {} lines for validation, {} for the test\n"
                       "model: {} LSTMs, {} parameters; {} steps of {} lines\n",
                       sets.source, sets.validation.size(), sets.test.size(),
                       flags.model.net.layers, parameter_count(net), steps.total, flags.batch_size),
       .validate =
           [&] {
             return Metrics{{"validation_loss",
                             mean_cost(net, learner.validation_lines(), trainer.cluster())}};
           },
       .test =
           [&] {
             const Metrics found = test(flags, sets, net, learner.test_lines(), trainer.cluster());
             if (!flags.svg.empty() && trainer.cluster().is_first())
               write_picture(flags, net, learner.test_lines());
             return found;
           }});
}

/// Writes with a net that has been trained.
int run_writing(const HandwritingFlags& flags) {
  flags.check();
  expect_writable(flags.svg);
  Random random(flags.seed);
  const HandwritingNet net(flags.with_text(), random, flags.options());
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  const bool has_lines = !flags.reads() || !flags.data.empty();
  write_picture(flags, net, has_lines ? flags.make_sets().test : Lines());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  HandwritingFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return flags.only_svg ? run_writing(flags) : run_training(flags, trainer);
  });
}
