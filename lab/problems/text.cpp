#include "problems/text.h"

#include <cmath>
#include <numeric>

#include "data/ngrams.h"
#include "experiments/char_models.h"
#include "support/data_files.h"
#include "support/grammar.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

const double nats_a_bit = std::log(2.0);

// What all runs on this text share.
struct TextData {
  CharText text;
  TextSizes sizes;

  Index half() const { return text.rest.size() / 2; }
  Indices watched() const { return part(text.rest, 0, std::min(sizes.watched, half())); }
  Indices test() const { return part(text.rest, half(), text.rest.size()); }
};

double bits_a_token(const std::vector<double>& segments, const Indices& text) {
  return std::accumulate(segments.begin(), segments.end(), 0.0) / (text.size() - 1);
}

TransformerXl make_reader(const TextData& data, const std::string& norm, Random& random) {
  const TextSizes& o = data.sizes;
  const TransformerXl net(data.text.characters.count(), random,
                          {.stack = {.layers = o.layers,
                                     .heads = o.heads,
                                     .channels = o.channels,
                                     .feed_forward = o.feed_forward,
                                     .activation = Activation::relu,
                                     .norm = NormSpec(norm),
                                     .dropout = o.dropout},
                           .memory = o.length});
  lab::initialize_like_paper(
      parameters(net, [](const std::string& name) { return name.starts_with("blocks."); }), random);
  return net;
}

// Reads the training text in streams, with a memory carried from step to step.
class TextTrainee : public Trainee {
 public:
  TextTrainee(const TextData& data, const std::string& norm, Random& random)
      : data_(data),
        net_(make_reader(data, norm, random)),
        streams_(data.text.training, data.sizes.rows, data.sizes.length) {}

  Fields net() const override { return fields(net_); }
  Index rows(Index) override { return data_.sizes.rows; }
  Tensor loss(Index step, const Shard&, Random& random) override {
    if (step % streams_.blocks() == 0) memory_.clear();
    const auto [inputs, targets] = streams_.block(step % streams_.blocks());
    const auto [logits, memory] = net_(inputs, memory_, training(random));
    memory_ = memory;
    return cross_entropy(logits, targets) / nats_a_bit;
  }
  Validation validate() override {
    const double bits = bits_a_token(bits_of(net_, data_.watched()), data_.watched());
    return {bits, bits};
  }
  // The items are the bits of segments, so that their mean is the value.
  void test(Outcome& outcome) override {
    const Indices text = data_.test();
    outcome.items = bits_of(net_, text);
    outcome.values["test"] = bits_a_token(outcome.items, text);
    const double share = static_cast<double>(outcome.items.size()) / (text.size() - 1);
    for (double& item : outcome.items) item *= share;
    TransformerXl with_long_memory = net_;
    with_long_memory.memory_length = data_.sizes.long_memory;
    outcome.values["test_long"] = bits_a_token(bits_of(with_long_memory, text), text);
  }

 private:
  std::vector<double> bits_of(const TransformerXl& net, const Indices& text) const {
    return segment_bits(net, text, data_.sizes.rows, data_.sizes.length);
  }

  const TextData& data_;
  TransformerXl net_;
  TextStreams streams_;
  std::vector<Tensor> memory_;
};

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

Problem text_problem(const std::string& source, const CharText& text, const TextSizes& o) {
  const auto data = std::make_shared<const TextData>(TextData{text, o});
  const auto counted = [data](double (*bits)(const Indices&, const Indices&, Index)) {
    return [data, bits] {
      return Outcome{.values = {{"test", bits(data->text.training, data->test(),
                                              data->text.characters.count())}}};
    };
  };
  return {.source = source,
          .data = text.digest(),
          .initial_values = "U(+-1/sqrt(inputs))\nbytes N(0, 0.02)",
          .sizes = {{"layers", o.layers},
                    {"heads", o.heads},
                    {"channels", o.channels},
                    {"feed_forward", o.feed_forward},
                    {"dropout", o.dropout},
                    {"length", o.length},
                    {"rows", o.rows},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval},
                    {"watched", o.watched},
                    {"long_memory", o.long_memory},
                    {"warmup", o.warmup}},
          .optimizer = {.warmup = o.warmup, .clip_norm = 0.25},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [data](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<TextTrainee>(*data, trial.setting.norm, random);
              },
          .baselines = {{"unigram", counted(unigram_bits)}, {"bigram", counted(bigram_bits)}}};
}

Problem text_problem(const Origin& origin, Size size, bool short_text) {
  const bool small = size == Size::smoke;
  Random random = Random(origin.seed).stream(7);
  const std::string source =
      origin.is_drawn()
          ? "sentences of a small grammar"
          : find_data_file(origin.directory, "enwik8", "enwik8.first4000000").string();
  CharText text(origin.is_drawn() ? grammar_text(small ? 300 : 20000, random) : read_text(source));
  if (short_text) text.training = part(text.training, 0, small ? 1000 : 300000);
  if (!small) return text_problem(source, text);
  return text_problem(source, text,
                      {.layers = 2,
                       .heads = 2,
                       .channels = 16,
                       .feed_forward = 32,
                       .length = 8,
                       .rows = 4,
                       .steps = 8,
                       .eval_interval = 4,
                       .watched = 200,
                       .long_memory = 16,
                       .warmup = 2,
                       .seconds = 0.2});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
