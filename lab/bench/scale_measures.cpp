#include "scale_measures.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "tapegrad/core/internal/storage.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::bench {
namespace {

using std::chrono::steady_clock;

constexpr Index vocabulary = 65;

// What a tape keeps beside the weights, in megabytes. (Tape::bytes counts the weights as well.)
double megabytes_beside(const Tape& tape, const std::vector<Parameter>& weights) {
  StorageCensus census;
  for (const Parameter& weight : weights) {
    [[maybe_unused]] const Tensor held = weight.value();
  }
  const std::size_t counted = census.bytes();
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    [[maybe_unused]] const Tensor held = tape.value(i);
    for (const Rule* rule = tape.node(i).rules; rule != nullptr; rule = rule->next) rule->census();
  }
  return (census.bytes() - counted) / 1e6;
}

template <class Net>
Step forward_and_backward(const Net& net, const Shape& shape) {
  Random random(2);
  return [net, ids = random_ids(shape, random), weights = parameters(net)] {
    const Tape tape;
    grad(loss_of(net, ids, {}), weights);
  };
}

template <class Net, class LossOf>
MeasuredRun run_of(const Net& net, const LossOf& loss) {
  auto adam = std::make_shared<Adam>(parameters(net));
  auto random = std::make_shared<Random>(3);
  return {[=] {
            const Tape tape;
            adam->step(grad(loss(net, training(*random)), adam->parameters()));
          },
          [=] {
            std::vector<Tensor> values;
            for (const Parameter& parameter : adam->parameters())
              values.push_back(parameter.value());
            return digest(values);
          }};
}

template <class Net>
MeasuredRun on_text(const Net& net, const Shape& shape) {
  Random random(2);
  const Indices ids = random_ids(shape, random);
  return run_of(net, [ids](const Net& n, Mode mode) { return loss_of(n, ids, mode); });
}

template <class Net>
MeasuredRun on_images(const Net& net, Index batch) {
  Random random(2);
  const Tensor images = random.uniform({batch, 1, 28, 28});
  Indices labels = Indices::uninitialized({batch});
  for (Index i = 0; i < batch; ++i) labels.mutable_data()[i] = i % 10;
  return run_of(net, [images, labels](const Net& n, Mode mode) {
    return cross_entropy(n(images, mode), labels);
  });
}

}  // namespace

double microseconds(const Step& step, double seconds) {
  const auto since = [](steady_clock::time_point begin) {
    return std::chrono::duration<double>(steady_clock::now() - begin).count();
  };
  const auto warming = steady_clock::now();
  do step();
  while (since(warming) < seconds / 3);
  std::vector<double> times;
  for (const auto begin = steady_clock::now();
       times.size() < 3 || (since(begin) < seconds && times.size() < 1000);) {
    const auto step_begin = steady_clock::now();
    step();
    times.push_back(1e6 * since(step_begin));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

std::string digest(const std::vector<Tensor>& tensors) {
  Digest digest;
  for (const Tensor& tensor : tensors)
    digest.add(tensor.values().data(), tensor.values().size_bytes());
  return digest.to_string();
}

Indices random_ids(const Shape& shape, Random& random) {
  Indices ids = Indices::uninitialized(shape);
  for (Index i = 0; i < ids.size(); ++i) ids.mutable_data()[i] = random.below(vocabulary);
  return ids;
}

CharRnn make_lstm(Index hidden, const char* norm) {
  Random random(1);
  return CharRnn(vocabulary, random,
                 {.cell = Cell::lstm, .hidden = hidden, .recurrent = {.norm = norm}});
}

TransformerLm make_transformer(Index channels, Index length, double dropout, bool recompute) {
  Random random(1);
  const TransformerOptions stack{.channels = channels, .dropout = dropout, .recompute = recompute};
  return TransformerLm(vocabulary, random, {.stack = stack, .length = length});
}

Tensor loss_of(const CharRnn& net, const Indices& ids, Mode) {
  return cross_entropy(net(ids).logits, ids);
}
Tensor loss_of(const TransformerLm& net, const Indices& ids, Mode mode) {
  return cross_entropy(net(ids, mode), ids);
}

Mlp make_mlp() {
  Random random(1);
  return Mlp({784, 1024, 1024, 10}, random, {.norm = "layer", .dropout = 0});
}

Step gradients_of(const CharRnn& net, const Shape& shape) {
  return forward_and_backward(net, shape);
}
Step gradients_of(const TransformerLm& net, const Shape& shape) {
  return forward_and_backward(net, shape);
}

MeasuredRun run_on_images(const Mlp& net, Index batch) { return on_images(net, batch); }

std::vector<std::pair<std::string, std::function<MeasuredRun()>>> runs() {
  return {{"mlp", [] { return on_images(make_mlp(), 128); }},
          {"cnn",
           [] {
             Random random(1);
             return on_images(ConvNet(random, {.hidden_norm = "layer"}), 32);
           }},
          {"LN-LSTM",
           [] {
             return on_text(make_lstm(256, "layer"), {64, 32});
           }},
          {"Transformer", [] {
             return on_text(make_transformer(128, 128, 0.1), {16, 128});
           }}};
}

Swept sweep_chunks(const CharRnn& net, const Indices& ids, Index chunk, bool recomputed) {
  const Index length = ids.shape()[0], batch = ids.shape()[1];
  const Index hidden = net.recurrent.layers[0].hidden();
  const std::vector<Parameter> weights = parameters(net);
  const Tape tape;
  double most = 0;
  std::vector<Tensor> carried{zeros({batch, hidden}), zeros({batch, hidden}), Tensor(0)};
  for (Index t = 0; t < length; t += chunk) {
    const Indices part({chunk, batch}, ids.values().subspan(t * batch, chunk * batch));
    const ManyFunction read = [&, part](const std::vector<Tensor>& in) {
      const auto [logits, last] = net(part, {{in[0], in[1]}});
      const Tensor loss = in[2] + cross_entropy(logits, part);
      most = std::max(most, megabytes_beside(tape, weights));
      return std::vector<Tensor>{last[0].h, last[0].c, loss};
    };
    carried = recomputed ? recompute(read, carried) : read(carried);
  }
  const std::vector<Tensor> gradients = grad(carried[2], weights);
  return {most, digest(gradients)};
}

Index chunk_of(Index length) {
  return Index{1} << static_cast<int>(std::ceil(std::log2(length) / 2));
}

double StackSize::kept(bool recomputed, bool readable) const {
  Random random(1);
  const TransformerStack stack(random, {.layers = layers, .causal = true, .recompute = recomputed});
  std::optional<Composite> composite;
  if (readable) composite.emplace();
  const Tape tape;
  const Tensor y = stack(watch(random.normal({batch, length, 128})));
  return megabytes_beside(tape, parameters(stack));
}

}  // namespace tapegrad::bench
