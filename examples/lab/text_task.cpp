#include "lab/text_task.h"

#include <cmath>
#include <memory>
#include <numeric>

#include "lab/char_models.h"
#include "lab/paper_xu2019.h"
#include "lab/selected_training.h"
#include "support/ngrams.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

const double nats_a_bit = std::log(2.0);

// What all trainings on this text share.
struct TextData {
  support::CharText text;
  TextTaskOptions options;

  Index half() const { return text.rest.size() / 2; }
  Indices watched() const { return part(text.rest, 0, std::min(options.watched, half())); }
  Indices test() const { return part(text.rest, half(), text.rest.size()); }
};

double bits_a_token(const std::vector<double>& segments, const Indices& text) {
  return std::accumulate(segments.begin(), segments.end(), 0.0) /
         static_cast<double>(text.size() - 1);
}

TransformerXl make_reader(const TextData& data, const std::string& norm, Random& random) {
  const TextTaskOptions& o = data.options;
  const TransformerXl net(data.text.characters.count(), random,
                          {.stack = {.layers = o.layers,
                                     .heads = o.heads,
                                     .channels = o.channels,
                                     .feed_forward = o.feed_forward,
                                     .activation = Activation::relu,
                                     .norm = NormSpec(norm),
                                     .dropout = o.dropout},
                           .memory = o.length});
  initialize_like_paper(
      parameters(net, [](const std::string& name) { return name.starts_with("blocks."); }), random);
  return net;
}

// Reads the training text in streams, with a memory carried from step to step.
class TextReader {
 public:
  TextReader(const TransformerXl& net, const TextData& data, Random& random)
      : net_(net),
        random_(random),
        streams_(data.text.training, data.options.rows, data.options.length) {}

  Tensor loss(Index step) {
    if (step % streams_.blocks() == 0) memory_.clear();
    const auto [inputs, targets] = streams_.block(step % streams_.blocks());
    const auto [logits, memory] = net_(inputs, memory_, training(random_));
    memory_ = memory;
    return cross_entropy(logits, targets) / nats_a_bit;
  }

 private:
  const TransformerXl& net_;
  Random& random_;
  TextStreams streams_;
  std::vector<Tensor> memory_;
};

// Enters the bits per byte; the items are those of segments, so that their mean is the value.
void enter_bits(Outcome& outcome, const TransformerXl& net, const TextData& data) {
  const auto& [rows, segment] = std::pair(data.options.rows, data.options.length);
  const Indices test = data.test();
  outcome.items = segment_bits(net, test, rows, segment);
  outcome.values["test"] = bits_a_token(outcome.items, test);
  const double share =
      static_cast<double>(outcome.items.size()) / static_cast<double>(test.size() - 1);
  for (double& item : outcome.items) item *= share;
  TransformerXl with_long_memory = net;
  with_long_memory.memory_length = data.options.long_memory;
  outcome.values["test_long"] =
      bits_a_token(segment_bits(with_long_memory, test, rows, segment), test);
}

Outcome train_reader(const PaperTask& task, const TextData& data, const TaskTrial& trial) {
  Random random = trial.trial.weights();
  const TransformerXl net = make_reader(data, trial.setting.norm, random);
  TextReader reader(net, data, random);
  const Indices watched = data.watched();
  const TextTaskOptions& o = data.options;
  return train_selected(
      {.net = fields(net),
       .optimizer = {.learning_rate = trial.setting.rate, .warmup = o.warmup, .clip_norm = 0.25},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss = [&](Index step) { return reader.loss(step); },
       .validate =
           [&] {
             const double bits =
                 bits_a_token(segment_bits(net, watched, o.rows, o.length), watched);
             return Validation{bits, bits};
           },
       .test = [&](Outcome& outcome) { enter_bits(outcome, net, data); }},
      task.validation(), trial.tested, trial.seen);
}

Outcome counted(double bits) { return {.values = {{"test", bits}}}; }

}  // namespace

std::vector<double> segment_bits(const TransformerXl& net, const Indices& text, Index rows,
                                 Index length) {
  std::vector<double> segments;
  std::vector<Tensor> memory;
  for (const auto& group : text_blocks(text, rows, length)) {
    for (const auto& [inputs, targets] : group) {
      const TransformerXl::Result result = net(inputs, memory);
      memory = result.memory;
      const Tensor bits =
          sum(cross_entropy(result.logits, targets, {.reduction = Reduction::none}), -1) /
          nats_a_bit;
      for (const real each : bits.values()) segments.push_back(each);
    }
    for (Tensor& each : memory)  // what remains of the text continues the last part
      each = part(each, each.shape()[0] - 1, each.shape()[0]);
  }
  return segments;
}

MatrixTask text_task(const std::string& name, const std::string& source,
                     const support::CharText& text, const TextTaskOptions& o) {
  const auto data = std::make_shared<const TextData>(TextData{text, o});
  const Index symbols = text.characters.count();
  const PaperTask& task = xu2019().task(name);
  return {
      .name = name,
      .source = source,
      .data = text.digest(),
      .configuration = {{"optimizer", "Adam\nwarmup and cosine\nclipped to 0.25"},
                        {"initial values", "U(+-1/sqrt(inputs))\nbytes N(0, 0.02)"},
                        {"layers", o.layers},
                        {"heads", o.heads},
                        {"channels", o.channels},
                        {"feed_forward", o.feed_forward},
                        {"dropout", o.dropout},
                        {"length", o.length},
                        {"rows", o.rows},
                        {"steps", o.steps},
                        {"stretch", o.stretch},
                        {"watched", o.watched},
                        {"long_memory", o.long_memory},
                        {"warmup", o.warmup}},
      .rate = o.rate,
      .steps = o.steps,
      .seconds = o.seconds,
      .train = [data, &task](const TaskTrial& trial) { return train_reader(task, *data, trial); },
      .baselines = {{"unigram",
                     [data, symbols] {
                       return counted(
                           support::unigram_bits(data->text.training, data->test(), symbols));
                     }},
                    {"bigram",
                     [data, symbols] {
                       return counted(
                           support::bigram_bits(data->text.training, data->test(), symbols));
                     }}},
      .systems = task.systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
