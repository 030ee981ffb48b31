#pragma once

// What a net of the playground consists of, and how it learns. A program that the playground writes
// begins with this file.

#include <tapegrad/tapegrad.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace playground {

using namespace tapegrad;

/// x, plus what the blocks within make of it.
struct Skip {
  Sequential within;
  Tensor operator()(const Tensor& x, Mode mode) const { return x + within(x, mode); }
  void visit(Fields& field) const { field("within", within); }
};

/// A recurrent layer along the second axis of (batch, time, channels).
struct Along {
  Recurrent layer;
  Tensor operator()(const Tensor& x, Mode mode) const {
    return permute(layer(permute(x, {1, 0, 2}), {}, {}, mode).outputs, {1, 0, 2});
  }
  void visit(Fields& field) const { field("layer", layer); }
};

/// A block of a Transformer, without masks or other sequences.
struct Attend {
  TransformerBlock block;
  Tensor operator()(const Tensor& x, Mode mode) const { return block(x, {}, mode); }
  void visit(Fields& field) const { field("block", block); }
};

/// Points, pictures or a text. The first examples, or the beginning of the text, are for training.
struct Data {
  Tensor x;        ///< (examples, ...); undefined for a text
  Indices labels;  ///< (examples), or the characters of a text
  Index classes = 0;
  Index training = 0;  ///< how many
  Index length = 0;    ///< of the rows of a text that a batch holds
};

/// Pictures of 28 x 28 pixels, each written as so many digits from 0 to f.
inline Tensor pictures(const std::vector<std::string>& all) {
  std::vector<real> values;
  for (const std::string& picture : all)
    for (const char c : picture)
      values.push_back(static_cast<real>(c <= '9' ? c - '0' : c - 'a' + 10) / 15);
  return Tensor({std::ssize(all), 1, 28, 28}, values);
}

/// Rows of x or, for a text, of its characters, and what the net is to find.
struct Batch {
  Tensor x;
  Indices characters, labels;
};

/// These examples, or the rows of a text that begin there.
inline Batch examples(const Data& data, const std::vector<Index>& chosen) {
  if (!data.x.defined()) {
    const auto [inputs, targets] = text_rows(data.labels, chosen, data.length);
    return {{}, inputs, targets};
  }
  std::vector<Index> labels;
  for (const Index i : chosen) labels.push_back(data.labels.data()[i]);
  const Shape shape{std::ssize(chosen)};
  return {index_select(data.x, 0, Indices(shape, chosen)), {}, Indices(shape, labels)};
}

inline Batch random_batch(const Data& data, Index size, Random& random) {
  std::vector<Index> chosen;
  for (Index i = 0; i < size; ++i) chosen.push_back(random.below(data.training));
  return examples(data, chosen);
}

/// Blocks, and a linear layer to the logits of the classes. A text begins with an embedding.
struct Net {
  std::optional<Embedding> embedding;
  Sequential blocks;
  std::optional<Linear> output;

  Tensor first(const Batch& batch) const {
    return embedding ? (*embedding)(batch.characters) : batch.x;
  }
  Tensor last(const Tensor& x) const { return (*output)(x.shape().rank() == 4 ? Flatten()(x) : x); }
  Tensor operator()(const Batch& batch, Mode mode = {}) const {
    return last(blocks(first(batch), mode));
  }
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("blocks", blocks);
    field("output", output);
  }
};

/// Draws the weights of layers anew: "he", "xavier" or "orthogonal"; "default" leaves them.
inline void initialize(const Net& net, const std::string& how, Random& random) {
  if (how == "default") return;
  for (auto& [name, weight] : fields(net).parameters()) {
    const Shape& shape = weight.shape();
    if (shape.rank() < 2 || name.starts_with("embedding")) continue;
    if (how == "he") Parameter(weight).set(kaiming_normal(shape, random));
    if (how == "xavier") Parameter(weight).set(xavier_normal(shape, random));
    if (how == "orthogonal" && shape.rank() == 2) Parameter(weight).set(orthogonal(shape, random));
  }
}

struct StepOptions {
  std::uint64_t seed = 1;
  Index batch = 32;
  double clip = 0;  ///< of the gradients' global norm; 0: none
};

/// The numbers that step `step`, counted from 0, draws: its batch, then its dropout.
inline Random random_of(const StepOptions& options, Index step) {
  return Random(options.seed).stream(3).stream(static_cast<std::uint64_t>(step));
}

/// The loss before the step. One that is not finite, or has such a gradient, changes no weight.
inline double take_step(const Net& net, Optimizer& optimizer, const Data& data,
                        const StepOptions& options, double rate, Index step) {
  Random random = random_of(options, step);
  const Batch batch = random_batch(data, options.batch, random);
  const Tape tape;
  const Tensor loss = cross_entropy(net(batch, training(random)), batch.labels);
  std::vector<Tensor> gradients = grad(loss, optimizer.parameters());
  const double length =
      options.clip > 0 ? clip_by_global_norm(gradients, options.clip) : global_norm(gradients);
  if (!std::isfinite(loss.item()) || !std::isfinite(length)) return std::nan("");
  optimizer.set_learning_rate(rate);
  optimizer.step(gradients);
  return loss.item();
}

/// For each of these slots the position of its partner among the others, which has its name, apart
/// from numbers, and its shape. As many as possible have one, in order: a block more moves only the
/// numbers of those after it.
template <class Slots, class Value>
std::vector<std::optional<std::size_t>> partners(const Slots& own, const Slots& others,
                                                 const Value& value) {
  const auto keys = [&](const Slots& slots) {
    std::vector<std::string> found;
    for (const auto& slot : slots) {
      std::string name = slot.name;
      std::erase_if(name, [](char c) { return '0' <= c && c <= '9'; });
      found.push_back(fmt::format("{} {}", name, value(slot).shape()));
    }
    return found;
  };
  const std::vector<std::string> a = keys(own), b = keys(others);
  std::vector<std::vector<int>> most(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      most[i][j] = a[i] == b[j] ? 1 + most[i + 1][j + 1] : std::max(most[i + 1][j], most[i][j + 1]);
  std::vector<std::optional<std::size_t>> found(a.size());
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();)
    if (a[i] == b[j])
      found[i++] = j++;
    else
      most[i + 1][j] >= most[i][j + 1] ? ++i : ++j;
  return found;
}

/// Continues from another net, with the values of the parameters and buffers that both have and, if
/// `optimizer_from` is given, the moments.   Returns the names of the other parameters, which stay
/// as they are; a correction of their moments counts from here.
inline std::vector<std::string> continue_from(const Net& from, const Optimizer* optimizer_from,
                                              const Net& net, Optimizer& optimizer) {
  const Fields before = fields(from), now = fields(net);
  const auto parameter = [](const NamedParameter& of) { return of.parameter.value(); };
  const auto of_parameters = partners(now.parameters(), before.parameters(), parameter);
  const Index steps = optimizer_from == nullptr ? 0 : optimizer_from->steps();
  std::vector<Moments> moments = optimizer.moments();
  std::vector<Index> skipped(of_parameters.size(), steps);
  std::vector<std::string> added;
  for (std::size_t i = 0; i < of_parameters.size(); ++i) {
    const NamedParameter& own = now.parameters()[i];
    if (!of_parameters[i]) {
      added.push_back(own.name);
      continue;
    }
    const std::size_t at = *of_parameters[i];
    Parameter(own.parameter).set(parameter(before.parameters()[at]));
    if (optimizer_from == nullptr) continue;
    skipped[i] = optimizer_from->skipped()[at];
    for (std::size_t m = 0; m < moments.size(); ++m)
      moments[m].values[i] = optimizer_from->moments()[m].values[at];
  }
  if (optimizer_from != nullptr) optimizer.restore(steps, moments, skipped);
  const auto buffer = [](const NamedBuffer& of) { return of.buffer.value(); };
  const auto of_buffers = partners(now.buffers(), before.buffers(), buffer);
  for (std::size_t i = 0; i < of_buffers.size(); ++i)
    if (of_buffers[i])
      Buffer(now.buffers()[i].buffer).set(buffer(before.buffers()[*of_buffers[i]]));
  return added;
}

}  // namespace playground
