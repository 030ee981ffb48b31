#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {

// What the program `scale` measures: networks, their steps, and the time and memory that they take.

using Step = std::function<void()>;

/// A run; each step continues from the last.
struct MeasuredRun {
  Step step;
  std::function<std::string()> weights;  ///< their digest
};

/// The median time of a step in microseconds, measured for about `seconds`.
double microseconds(const Step& step, double seconds);

/// A text that is equal for equal values.
std::string digest(const std::vector<Tensor>& tensors);

/// Random token ids, of the vocabulary of the networks.
Indices random_ids(const Shape& shape, Random& random);

CharRnn make_lstm(Index hidden, const char* norm = "none");
TransformerLm make_transformer(Index channels, Index length, double dropout = 0,
                               bool recompute = false);
/// The net of the row `mlp` of the benchmark.
Mlp make_mlp();

Tensor loss_of(const CharRnn& net, const Indices& ids, Mode mode);
Tensor loss_of(const TransformerLm& net, const Indices& ids, Mode mode);

/// Forward, loss and backward; no optimizer, whose time depends on the weights alone.
///   shape: of the ids, (T, B) for an LSTM, (B, T) for a Transformer
Step gradients_of(const CharRnn& net, const Shape& shape);
Step gradients_of(const TransformerLm& net, const Shape& shape);

/// Steps of Adam on a batch of images.
MeasuredRun run_on_images(const Mlp& net, Index batch);

/// The runs that are compared with different numbers of threads, by name.
std::vector<std::pair<std::string, std::function<MeasuredRun()>>> runs();

/// The result of a sweep, and the most that the tape held before it.
struct Swept {
  double megabytes;
  std::string gradients;  ///< their digest
};
/// An LSTM over a text in chunks, each of which hands its states and the loss so far to the next.
///   ids: (T, B), T a multiple of `chunk`
Swept sweep_chunks(const CharRnn& net, const Indices& ids, Index chunk, bool recomputed);
/// About the root of a length: the next power of 2.
Index chunk_of(Index length);

/// What a stack of Transformer blocks keeps after the forward pass, in megabytes.
struct StackSize {
  Index layers, length, batch;
  double kept(bool recomputed, bool readable = false) const;
};

}  // namespace tapegrad::bench
