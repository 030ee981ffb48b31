#include "trainers/char_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/grammar.h"
#include "tapegrad/core/beginning.h"
#include "tapegrad/core/files/file.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "trainers/char_sample.h"
#include "trainers/char_training.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index default_sentences = 8000;
constexpr Index reports = 10;  // evaluations in a run

struct Text {
  std::string source, all;

  explicit Text(const CharFlags& flags) {
    if (flags.data.empty()) {
      Random random = Random(flags.seed).stream(7);
      source = "a text drawn from a small grammar by this program";
      all = grammar_text(default_sentences, random);
      return;
    }
    source = flags.data;
    all = read_text(flags.data);
  }
  std::string digest() const {
    Digest digest;
    digest.add(all);
    return fmt::format("{} bytes, {}", all.size(), digest.to_string());
  }
};

Json scores(double loss) {
  return {{"validation_loss", loss}, {"validation_bpc", loss / std::log(2.0)}};
}

// Warns if a sample is longer than the model can remember.
void tell_of_context(const CharFlags& flags, const CharModel& model) {
  const Index length = static_cast<Index>(flags.prompt.size()) + flags.sample - 1;
  if (model.context > 0 && length > model.context)
    write_diagnostic(
        fmt::format("sample: longer than --seq-len {0}, the length of training: each next "
                    "character follows from the last {0} at most\n",
                    model.context));
}

// Stops at a signal, and if the output cannot be written. Returns the text so far.
std::string write_sample(const CharFlags& flags, const CharModel& model,
                         const Characters& characters, const Run& run) {
  std::string held;  // the beginning of a character that is not whole yet
  std::string text = sample(flags, model, characters, [&](const std::string& piece) {
    held += piece;
    const std::size_t whole = whole_characters(held);
    write_result(std::string_view(held).substr(0, whole));
    held.erase(0, whole);
    return results_are_written() && !run.interrupted();
  });
  write_result(held + "\n");
  if (flags.data.empty())  // of the grammar
    write_result(fmt::format("grammar: {}\n", support::to_string(score_grammar(text))));
  return text;
}

}  // namespace

int run_char_model(CharFlags& flags, Flags& all, const std::string& name,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model) {
  Trainer trainer(all, flags.run, flags.optimizer);
  const Text text(flags);
  trainer.uses_data(text.source, text.digest());
  expect<DataError>(!text.all.empty(), "{}: it is empty", text.source);
  const Characters characters(text.all);
  if (flags.sample > 0) check_prompt(flags, characters);  // fails before the training

  Random random(flags.seed);
  const CharModel model = make_model(characters.count(), random);
  CharTraining training(flags, model, characters.encode(text.all), trainer.cluster());
  const auto finish = [&](const Run& run) {
    const double tokens = run.steps_per_second() * static_cast<double>(flags.batch_size) *
                          static_cast<double>(flags.seq_len);
    const double loss = training.evaluate();
    write_result(fmt::format("validation loss {:.4f} nats per character, {:.4f} bits\n", loss,
                             loss / std::log(2.0)));
    Json results = scores(loss);
    results["tokens_per_second"] = tokens;
    if (flags.sample > 0) {
      if (!flags.run.quiet && trainer.cluster().is_first()) tell_of_context(flags, model);
      results["sample"] = write_sample(flags, model, characters, run);
    }
    return results;
  };
  return trainer.train(
      {.net = model.fields,
       .steps = {.total = flags.steps,
                 .per_epoch = std::max<Index>(1, flags.steps / reports),
                 .in_epochs = false},
       .loss = {[&](Index) { return flags.batch_size; },
                [&](Index step, const Shard& shard, Random& masks) {
                  return training.loss(step, shard, masks);
                }},
       .seed = flags.seed,
       .description = fmt::format(
           "data: {}; {} characters of {} kinds to train on, {} for validation\n"
           "model: {} with {} parameters; {} steps of {} x {} characters\n",
           text.source, training.training_size(), characters.count(), training.validation_size(),
           name, parameter_count(model.fields), flags.steps, flags.batch_size, flags.seq_len),
       .evaluate = [&] { return scores(training.evaluate()); },
       .finish = finish,
       .random = {{"order", &training.order()}},
       .carried = [&](Fields& field) { field("carried", training); },
       .gather = [&] { training.gather(); },
       .prepare = [&](Index steps) { training.prepare(steps); }});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
