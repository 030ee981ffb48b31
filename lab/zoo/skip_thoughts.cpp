#include "tapegrad/zoo/skip_thoughts.h"

#include <algorithm>
#include <iterator>

#include "tapegrad/core/error.h"
#include "tapegrad/io/text.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_sentences(const SentenceBatch& batch) {
  expect(batch.words.defined() && batch.words.shape().rank() == 2,
         "SkipThoughts: words must be (B, T): {}", batch.words.shape());
  expect_lengths("SkipThoughts", batch.lengths, batch.words.shape()[1], batch.words.shape()[0]);
}

// Where words stand that are no padding, in (T B), step by step.
Indices places(const SentenceBatch& batch) {
  const Index rows = batch.words.shape()[0];
  std::vector<Index> found;
  for (Index t = 0; t < batch.words.shape()[1]; ++t)
    for (Index b = 0; b < rows; ++b)
      if (t < batch.lengths.data()[b]) found.push_back(t * rows + b);
  return Indices({std::ssize(found)}, found);
}

// The words themselves, in that order.
std::vector<Index> labels(const SentenceBatch& batch) {
  const Indices steps = transposed(batch.words);
  std::vector<Index> found;
  const Indices at = places(batch);
  for (const Index place : at.values()) found.push_back(steps.data()[place]);
  return found;
}

}  // namespace

SkipThoughts::SkipThoughts(Index vocabulary, Random& random, const SkipThoughtsOptions& o)
    : words(vocabulary, o.words, random),
      encoder(Cell::gru, o.words, o.hidden, random, {.norm = o.norm}),
      before(Cell::gru, o.words + (o.every_step ? o.hidden : 0), o.hidden, random,
             {.norm = o.norm}),
      after(before.cell, before.input.weight.shape()[0], o.hidden, random, {.norm = o.norm}),
      output(o.hidden, vocabulary, random),
      every_step(o.every_step) {
  for (Parameter weight :
       {words.weight, encoder.input.weight, before.input.weight, after.input.weight, output.weight})
    weight.set(random.uniform(weight.shape(), -0.1, 0.1));
  output.bias.set(zeros(output.bias.shape()));
}

Tensor SkipThoughts::vectors(const SentenceBatch& sentences) const {
  expect_sentences(sentences);
  return encoder(words(transposed(sentences.words)), {}, sentences.lengths).last.h;
}

Tensor SkipThoughts::states(const RecurrentLayer& decoder, const Tensor& vectors,
                            const SentenceBatch& neighbours) const {
  expect_defined("SkipThoughts", vectors);
  expect_sentences(neighbours);
  for (const Index length : neighbours.lengths.values())
    expect(length > 0, "SkipThoughts: a neighbour has no words, not even an end");
  const Tensor embedded = words(transposed(neighbours.words));  // (T, B, words)
  const Index steps = embedded.shape()[0];
  Tensor inputs = concat({zeros(embedded.shape().with(0, 1)), slice(embedded, 0, 0, steps - 1)}, 0);
  if (every_step) {
    const Shape beside = embedded.shape().with(2, vectors.shape()[-1]);
    inputs = concat({inputs, broadcast_to(vectors, beside)}, -1);
  }
  const Tensor outputs = decoder(inputs, {.h = vectors, .c = {}}, neighbours.lengths).outputs;
  return embedding(reshape(outputs, {steps * outputs.shape()[1], outputs.shape()[2]}),
                   places(neighbours));
}

Tensor SkipThoughts::logits(const RecurrentLayer& decoder, const Tensor& vectors,
                            const SentenceBatch& neighbours) const {
  return output(states(decoder, vectors, neighbours));
}

Tensor SkipThoughts::loss(const SentenceBatch& previous, const SentenceBatch& current,
                          const SentenceBatch& next) const {
  const Tensor h = vectors(current);
  std::vector<Index> right = labels(previous);
  std::ranges::copy(labels(next), std::back_inserter(right));
  const Tensor all = concat({states(before, h, previous), states(after, h, next)}, 0);
  return cross_entropy(output(all), Indices({std::ssize(right)}, right));
}

void SkipThoughts::visit(Fields& field) const {
  field("words", words);
  field("encoder", encoder);
  field("before", before);
  field("after", after);
  field("output", output);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
