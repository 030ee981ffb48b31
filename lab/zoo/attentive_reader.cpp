#include "tapegrad/zoo/attentive_reader.h"

#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/io/text.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {

AttentiveReader::AttentiveReader(Index vocabulary, Index answers, Random& random,
                                 const AttentiveReaderOptions& o)
    : embedding(vocabulary, o.hidden, random),
      passage(Cell::lstm, o.hidden, o.hidden, random, {.norm = o.norm, .learned_state = true}),
      question(Cell::lstm, o.hidden, o.hidden, random, {.norm = o.norm, .learned_state = true}),
      match(o.hidden, o.hidden, random, {.bias = false}),
      of_passage(o.hidden, o.hidden, random),
      of_question(o.hidden, o.hidden, random, {.bias = false}),
      score(o.hidden, 1, random, {.bias = false}),
      of_content(o.hidden, o.hidden, random),
      of_question_again(o.hidden, o.hidden, random, {.bias = false}),
      output(o.hidden, answers, random),
      dropout(o.dropout) {
  for (int i = 0; i < 4; ++i) norms.emplace_back(o.product_norm, o.hidden);
}

AttentiveReader::Result AttentiveReader::operator()(const Indices& passages,
                                                    const Indices& passage_lengths,
                                                    const Indices& questions,
                                                    const Indices& question_lengths,
                                                    Mode mode) const {
  for (const Indices* lengths : {&passage_lengths, &question_lengths})
    for (const Index length : lengths->values())
      expect(length > 0, "AttentiveReader: a length is {}; it must be positive", length);
  const auto read = [&](const Recurrent& net, const Indices& ids, const Indices& lengths) {
    return net(dropout(embedding(transposed(ids)), mode), {}, lengths, mode);
  };
  const Tensor d = read(passage, passages, passage_lengths).outputs;  // (T, B, D)
  const Tensor q = read(question, questions, question_lengths).last[0].h;
  expect(d.shape()[1] == q.shape()[0], "AttentiveReader: {} passages have {} questions",
         d.shape()[1], q.shape()[0]);
  const Tensor k = tanh(norms[0](of_passage(d), mode) + norms[1](of_question(q), mode) +
                        sum(match(d) * match(q), -1, Keep::yes));
  Tensor scores = score(k);  // (T, B, 1)
  if (passage_lengths.defined())
    scores = where(running(passage_lengths, 0, d.shape()[0]), scores,
                   -std::numeric_limits<double>::infinity());
  const Tensor a = softmax(scores, 0);
  const Tensor g =
      tanh(norms[2](of_content(sum(a * d, 0)), mode) + norms[3](of_question_again(q), mode));
  return {output(dropout(g, mode)), transpose(reshape(a, a.shape().without(-1)))};
}

void AttentiveReader::visit(Fields& field) const {
  field("embedding", embedding);
  field("passage", passage);
  field("question", question);
  field("match", match);
  field("of_passage", of_passage);
  field("of_question", of_question);
  field("score", score);
  field("of_content", of_content);
  field("of_question_again", of_question_again);
  field("output", output);
  field("norms", norms);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
