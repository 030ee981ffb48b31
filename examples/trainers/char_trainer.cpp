#include "trainers/char_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "support/grammar.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/training.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index default_sentences = 8000;
constexpr Index reports = 10;  // evaluations in a run
constexpr Index evaluation_rows = 64;

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
    return fmt::format("{} bytes, {}", all.size(), digest.text());
  }
};

// The memory of a training as fields of a checkpoint.
struct CarriedMemory {
  std::vector<Buffer> tensors;
  explicit CarriedMemory(const Memory& memory) {
    for (const Tensor& each : memory) tensors.emplace_back(detach(each));
  }
  void visit(Fields& field) const { field("tensors", tensors); }
};

class Trainer {
 public:
  Trainer(const CharFlags& flags, const CharModel& model, const Characters& characters,
          const std::string& text, Random& random)
      : flags_(flags),
        model_(model),
        characters_(characters),
        random_(random),
        order_(Random(flags.seed).stream(0)),
        updates_(flags.optimizer, flags.run, model.fields, flags.steps) {
    const Indices ids = characters.encode(text);
    const Index split = ids.size() * 9 / 10;
    train_ = part(ids, 0, split);
    rest_ = part(ids, split, ids.size());
    expect<DataError>(rest_.size() >= 2, "text: {} characters are too few", ids.size());
    if (model.carried) streams_.emplace(train_, flags.batch_size, flags.seq_len);
    expect<DataError>(train_.size() > flags.seq_len,
                      "text: {} characters to train on are too few for --seq-len {}", train_.size(),
                      flags.seq_len);
  }

  Training& updates() { return updates_; }
  Index training_size() const { return train_.size(); }
  Index rest_size() const { return rest_.size(); }

  /// One step on the next batch, or on the first again and again; returns its loss.
  double step() { return step(next_batch()); }
  double step_on_first() {
    if (!first_) first_ = next_batch();
    memory_.clear();
    return step(*first_);
  }

  double step(const TextBatch& batch) {
    return updates_.step([&] {
      const Tensor logits = model_.logits(batch.inputs, streams_ ? &memory_ : nullptr, {&random_});
      for (Tensor& each : memory_) each = detach(each);
      return cross_entropy(logits, batch.targets);
    });
  }

  /// The mean loss over the rest of the text, in nats a character.
  double evaluate() const {
    double total = 0;
    for (const auto& group : text_blocks(rest_, evaluation_rows, flags_.seq_len)) {
      Memory memory;
      for (const TextBatch& batch : group) {
        const Tensor logits = model_.logits(batch.inputs, streams_ ? &memory : nullptr, {});
        total +=
            cross_entropy(logits, batch.targets).item() * static_cast<double>(batch.targets.size());
      }
    }
    return total / static_cast<double>(rest_.size() - 1);
  }

  /// Calls `write` with each new piece of a text that continues the prompt.
  std::string sample(const std::function<void(const std::string&)>& write) const {
    Random random = Random(flags_.seed).stream(9);
    Memory memory;
    std::string text = flags_.prompt;
    Indices next = characters_.encode(text);
    write(text);
    for (Index i = 0; i < flags_.sample; ++i) {
      if (model_.context > 0 && held(memory) + next.size() > model_.context) {
        memory.clear();  // read the last half again
        const Index half = std::min<Index>(static_cast<Index>(text.size()),
                                           std::max<Index>(1, model_.context / 2));
        next = characters_.encode(
            std::string_view(text).substr(text.size() - static_cast<std::size_t>(half)));
      }
      const Tensor logits = model_.logits(next.reshape({1, next.size()}), &memory, {});
      const Tensor last = select(select(logits, 0), next.size() - 1);
      next = Indices({1}, {choose(last, random)});
      text += characters_.decode(next);
      write(characters_.decode(next));
    }
    return text;
  }

  /// Everything that a checkpoint keeps, as it is now.
  Checkpoint checkpoint(const std::map<std::string, std::string>& notes) {
    Checkpoint saved{
        model_.fields, &updates_.optimizer(), {{"training", &random_}, {"order", &order_}}, notes};
    saved.net("carried", CarriedMemory(memory_));
    return saved;
  }
  /// Restores what `checkpoint` gave after `steps` steps.
  void restore(const std::string& path, Index steps) {
    const Index block = streams_ ? steps % streams_->blocks() : 0;
    // A pass ends with its memory still there; the next block drops it.
    const Index held_blocks = streams_ && steps > 0 && block == 0 ? streams_->blocks() : block;
    CarriedMemory carried(model_.carried && steps > 0 ? model_.carried(held_blocks) : Memory());
    Checkpoint into{
        model_.fields, &updates_.optimizer(), {{"training", &random_}, {"order", &order_}}, {}};
    into.net("carried", carried);
    load_checkpoint(path, into);
    memory_.clear();
    for (const Buffer& each : carried.tensors) memory_.push_back(each.value());
  }

 private:
  TextBatch next_batch() {
    if (!streams_) return random_rows(train_, flags_.batch_size, flags_.seq_len, order_);
    const Index block = updates_.optimizer().steps() % streams_->blocks();
    if (block == 0) memory_.clear();
    return streams_->block(block);
  }

  static Index held(const Memory& memory) { return memory.empty() ? 0 : memory[0].shape()[1]; }

  Index choose(const Tensor& logits, Random& random) const {
    std::vector<std::pair<double, Index>> candidates;
    for (Index i = 0; i < logits.size(); ++i)
      candidates.emplace_back(logits.data()[i] / flags_.temperature, i);
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    if (flags_.top_k > 0 && flags_.top_k < logits.size())
      candidates.resize(static_cast<std::size_t>(flags_.top_k));
    double total = 0;
    const double greatest = candidates.front().first;
    for (auto& [weight, id] : candidates) total += weight = std::exp(weight - greatest);
    double left = random.uniform() * total;
    for (const auto& [weight, id] : candidates)
      if ((left -= weight) < 0) return id;
    return candidates.back().second;
  }

  const CharFlags& flags_;
  const CharModel& model_;
  const Characters& characters_;
  Random& random_;  // weights, then dropout
  Random order_;    // of random pieces
  Training updates_;
  Indices train_, rest_;
  std::optional<TextStreams> streams_;
  std::optional<TextBatch> first_;
  Memory memory_;
};

Json scores(double loss) {
  return {{"validation_loss", loss}, {"validation_bpc", loss / std::log(2.0)}};
}

void train(Trainer& trainer, Run& run) {
  while (!run.over()) {
    do {
      const double loss = trainer.step();
      run.step(loss, trainer.updates().optimizer().rate());
    } while (!run.over() && run.step_of_epoch() != 0);
    if (!run.interrupted()) run.report(scores(trainer.evaluate()));
  }
}

void write_sample(const Trainer& trainer, bool of_grammar) {
  const std::string text = trainer.sample(write_result);
  write_result("\n");
  if (of_grammar) write_result(fmt::format("grammar: {}\n", support::text(score_grammar(text))));
}

}  // namespace

void CharFlags::add_to(Flags& flags) {
  add_norm_flag(flags, norm, "Normalization");
  flags.training("--layers", layers, "Layers")->check(between(1, 1000));
  flags.training("--seq-len", seq_len, "Characters in a row of a batch")
      ->check(between(1, 1 << 16));
  flags.training("--batch-size", batch_size, "Rows of a batch")->check(between(1, 1 << 16));
  flags.training("--steps", steps, "Optimizer steps")->check(between(1, 1 << 30));
  flags.training("--dropout", dropout, "Share of values to drop in training")
      ->check(between(0.0, 0.99));
  flags.setting("--data", data, "Text file, plain or gzipped; without it, draws sentences");
  flags.training("--seed", seed, "Seed of weights, order, dropout, drawn text and samples");
  optimizer.add_to(flags);
  run.add_to(flags);
  flags.setting("--sample", sample, "Characters to write when the training is over")
      ->check(not_negative());
  flags.setting("--prompt", prompt, "What the sample begins with");
  flags.setting("--temperature", temperature, "Of the sample: lower is safer")
      ->check(between(1e-3, 1e3));
  flags.setting("--top-k", top_k, "Sample from that many likeliest characters only; 0: from all")
      ->check(not_negative());
}

int run_char_model(CharFlags& flags, Flags& all, const std::string& name,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model) {
  const std::string& resume = flags.run.resume;
  const auto saved = notes_to_resume(resume, all);
  set_threads(flags.run.threads);
  const Text text(flags);
  expect_same_data(saved, resume, text.source, text.digest());
  expect<DataError>(!text.all.empty(), "{}: it is empty", text.source);
  const Characters characters(text.all);
  if (flags.sample > 0) {  // known before the training
    expect<DataError>(!flags.prompt.empty(),
                      "--prompt: it is empty: --sample {} continues at least one character",
                      flags.sample);
    characters.encode(flags.prompt);
  }

  Random random(flags.seed);
  const CharModel model = make_model(characters.count(), random);
  Trainer trainer(flags, model, characters, text.all, random);
  std::map<std::string, std::string> notes = all.training_values();
  notes["data"] = text.digest();
  const RunSteps steps{.total = flags.steps,
                       .per_epoch = std::max<Index>(1, flags.steps / reports),
                       .in_epochs = false};
  const RunState state = resumed_state(saved, resume, steps);
  if (!resume.empty()) {
    trainer.restore(resume, state.steps);
    trainer.updates().resume(resume, state.steps);
  }

  write_result(fmt::format("data: {}; {} characters of {} kinds to train on, {} for validation\n",
                           text.source, trainer.training_size(), characters.count(),
                           trainer.rest_size()));
  write_result(fmt::format("model: {} with {} parameters; {} steps of {} x {} characters\n", name,
                           model.parameter_count, flags.steps, flags.batch_size, flags.seq_len));
  if (flags.run.dry_run) {
    dry_run(all, model.fields, [&] { return trainer.step_on_first(); });
    return 0;
  }

  Run run(flags.run, all.values(), steps, state);
  run.saves([&] { trainer.updates().write_probe(); });
  run.saves_checkpoint([&] { return trainer.checkpoint(notes); });
  const double begin = run.seconds();
  if (flags.run.overfit_batch)
    overfit(run, trainer.updates().optimizer(), [&] { return trainer.step_on_first(); });
  else
    train(trainer, run);
  trainer.updates().print_profile();
  if (run.interrupted()) {
    run.stop();
    return exit_interrupted;
  }
  const double training_seconds = run.seconds() - begin;
  const double loss = trainer.evaluate();
  write_result(fmt::format("validation loss {:.4f} nats a character, {:.4f} bits\n", loss,
                           loss / std::log(2.0)));
  if (flags.sample > 0) write_sample(trainer, flags.data.empty());
  Json results{{"parameters", model.parameter_count}};
  results.update(scores(loss));
  const double tokens =
      static_cast<double>((run.steps_done() - state.steps) * flags.batch_size * flags.seq_len);
  results["tokens_per_second"] = training_seconds > 0 ? tokens / training_seconds : 0;
  run.finish(results);
  return 0;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
