#include "trainers/char_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/grammar.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/text.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"

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

Metrics scores(double loss) {
  return {{"validation_loss", loss}, {"validation_bpc", loss / std::log(2.0)}};
}

// ---- Training ----

// Trains a model on the first nine tenths of a text; the rest is for validation. Each
// shard of a batch has a memory of its own.
class CharTraining {
 public:
  // ids: (length), the text. Throws DataError for a text that is too short for the flags.
  CharTraining(const CharFlags& flags, const CharModel& model, const Indices& ids, Cluster& cluster)
      : flags_(flags),
        model_(model),
        cluster_(cluster),
        order_(Random(flags.seed).stream(0)),
        memories_(cluster.shards()) {
    const TextSplit split = split_text(ids);
    train_ = split.training;
    validation_ = split.validation;
    expect<DataError>(validation_.size() >= 2, "text: {} characters are too few", ids.size());
    if (model.carried) streams_.emplace(train_, flags.batch_size, flags.seq_len);
    expect<DataError>(train_.size() > flags.seq_len,
                      "text: {} characters to train on are too few for --seq-len {}", train_.size(),
                      flags.seq_len);
  }

  Index training_size() const { return train_.size(); }
  Index validation_size() const { return validation_.size(); }
  // Chooses random pieces of the text.
  Random& order() { return order_; }

  // The loss of a shard in a step, counted from 0.
  Tensor loss(Index step, const Shard& shard, Random& masks) {
    begin(step);
    const Indices inputs = named(part(batch_.inputs, shard.begin, shard.end), "inputs");
    Memory& memory = memories_[shard.index];
    if (streams_ && step % streams_->blocks() == 0) memory.clear();
    const Tensor logits = model_.logits(inputs, streams_ ? &memory : nullptr, training(masks));
    for (Tensor& each : memory) each = detach(each);
    return cross_entropy(logits, named(part(batch_.targets, shard.begin, shard.end), "targets"));
  }

  // The mean loss over the validation text, in nats per character.
  double validate() const {
    constexpr Index rows_of_group = 64;
    double total = 0;
    for (const auto& group : text_blocks(validation_, rows_of_group, flags_.seq_len)) {
      const Index rows = group.empty() ? 0 : group.front().inputs.shape()[0];
      total += cluster_.sums(rows, 1, [&](const Shard& shard) {
        double loss = 0;
        Memory memory;
        for (const TextBatch& batch : group) {
          const Indices targets = part(batch.targets, shard.begin, shard.end);
          const Tensor logits = model_.logits(part(batch.inputs, shard.begin, shard.end),
                                              streams_ ? &memory : nullptr, {});
          loss += cross_entropy(logits, targets).item() * static_cast<double>(targets.size());
        }
        return std::vector{loss};
      })[0];
    }
    return total / (validation_.size() - 1);
  }

  // The memory, as fields of a checkpoint.
  void visit(Fields& field) const { field("tensors", memory_); }

  // Joins the memory of the whole batch.
  void gather() {
    if (!streams_) return;
    std::vector<Memory> parts;  // by tensor, of each shard
    for (const Shard& shard : cluster_.shards_of_batch(flags_.batch_size)) {
      const Memory& memory = memories_[shard.index];
      parts.resize(memory.size());
      for (std::size_t i = 0; i < memory.size(); ++i) parts[i].push_back(memory[i]);
    }
    memory_.clear();
    for (const Memory& each : parts) memory_.emplace_back(cluster_.gather(concat(each)));
  }

  // Gives the memory its shapes after `steps` steps.
  void prepare(Index steps) {
    if (!streams_ || steps == 0) return;
    // The memory is still there at the end of a pass; the next block drops it.
    const Index block = steps % streams_->blocks();
    const Memory memory = model_.carried(block == 0 ? streams_->blocks() : block);
    memory_ = std::vector<Buffer>(memory.begin(), memory.end());
  }

 private:
  void begin(Index step) {
    if (step == step_) return;
    batch_ = streams_ ? streams_->block(step % streams_->blocks())
                      : random_rows(train_, flags_.batch_size, flags_.seq_len, order_);
    step_ = step;
    if (memory_.empty()) return;  // otherwise it comes from a checkpoint
    for (const Shard& shard : cluster_.shards_of_batch(flags_.batch_size)) {
      Memory& memory = memories_[shard.index];
      memory.clear();
      for (const Buffer& all : memory_) memory.push_back(part(all.value(), shard.begin, shard.end));
    }
    memory_.clear();
  }

  const CharFlags& flags_;
  const CharModel& model_;
  Cluster& cluster_;
  Random order_;
  Indices train_, validation_;
  std::optional<TextStreams> streams_;  // for a model that reads the text in order
  Index step_ = -1;                     // the current one
  TextBatch batch_;                     // of the current step
  std::vector<Memory> memories_;        // by shard; only of this process
  std::vector<Buffer> memory_;          // of the whole batch, for a checkpoint
};

// ---- Samples ----

Index held(const Memory& memory) { return memory.empty() ? 0 : memory[0].shape()[1]; }

// Samples a character by its probability; at temperature 0, takes the likeliest.
Index choose(const Tensor& logits, const CharFlags& flags, Random& random) {
  if (flags.temperature == 0) return argmax(logits).data()[0];
  std::vector<std::pair<double, Index>> candidates;
  for (Index i = 0; i < logits.size(); ++i) candidates.emplace_back(logits.data()[i], i);
  // The first of equal ones comes first, as in argmax.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (flags.top_k > 0 && flags.top_k < logits.size()) candidates.resize(flags.top_k);
  double total = 0;
  const double greatest = candidates.front().first;
  for (auto& [weight, id] : candidates)
    total += weight = std::exp((weight - greatest) / flags.temperature);
  double left = random.uniform() * total;
  for (const auto& [weight, id] : candidates)
    if ((left -= weight) < 0) return id;
  return candidates.back().second;
}

// Throws DataError, saying what is wrong, for a prompt that no sample can begin with.
void check_prompt(const CharFlags& flags, const Characters& characters) {
  expect<DataError>(!flags.prompt.empty(),
                    "--prompt: it is empty: --sample {} needs at least one character to continue",
                    flags.sample);
  try {
    characters.encode(flags.prompt);
  } catch (const DataError& error) {
    throw DataError(
        fmt::format("--prompt: a sample begins with characters of the text, by default "
                    "with the end of a line: {}",
                    error.what()));
  }
}

// A text of --sample characters that continues the prompt. Calls `write` with each new piece, which
// returns whether to go on.
std::string sample(const CharFlags& flags, const CharModel& model, const Characters& characters,
                   const std::function<bool(const std::string&)>& write) {
  Random random = Random(flags.seed).stream(9);
  Memory memory;
  std::string text = flags.prompt;
  Indices next = characters.encode(text);
  bool goes_on = write(text);
  for (Index i = 0; goes_on && i < flags.sample; ++i) {
    if (model.context > 0 && held(memory) + next.size() > model.context) {
      memory.clear();  // read the last half again
      const Index half = std::min<Index>(std::ssize(text), std::max<Index>(1, model.context / 2));
      next = characters.encode(std::string_view(text).substr(text.size() - half));
    }
    const Tensor logits = model.logits(next.reshape({1, next.size()}), &memory, {});
    const Tensor last = select(select(logits, 0), next.size() - 1);
    next = Indices({1}, {choose(last, flags, random)});
    text += characters.decode(next);
    goes_on = write(characters.decode(next));
  }
  return text;
}

// Warns if a sample is longer than the model can remember.
void tell_of_context(const CharFlags& flags, const CharModel& model) {
  const Index length = std::ssize(flags.prompt) + flags.sample - 1;
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

int run_char_model(const CharFlags& flags, const std::string& name, Trainer& trainer,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model) {
  const Text text(flags);
  trainer.uses_data(text.source, text.digest());
  expect<DataError>(!text.all.empty(), "{}: it is empty", text.source);
  const Characters characters(text.all);
  if (flags.sample > 0) check_prompt(flags, characters);  // fails before the run

  Random random(flags.seed);
  const CharModel model = make_model(characters.count(), random);
  CharTraining training(flags, model, characters.encode(text.all), trainer.cluster());
  const auto test = [&] {
    const double tokens = trainer.run().steps_per_second() * flags.batch_size * flags.seq_len;
    const double loss = training.validate();
    write_result(fmt::format("validation loss {:.4f} nats per character, {:.4f} bits\n", loss,
                             loss / std::log(2.0)));
    Metrics results = scores(loss);
    results["tokens_per_second"] = tokens;
    if (flags.sample > 0) {
      if (!flags.run_flags.quiet && trainer.cluster().is_first()) tell_of_context(flags, model);
      results["sample"] = write_sample(flags, model, characters, trainer.run());
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
       .validate = [&] { return scores(training.validate()); },
       .test = test,
       .random = {{"order", &training.order()}},
       .carried = [&](Fields& field) { field("carried", training); },
       .gather = [&] { training.gather(); },
       .prepare = [&](Index steps) { training.prepare(steps); }});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
