#pragma once

#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct AttentiveReaderOptions {
  Index hidden = 64;           ///< D
  NormSpec norm = {};          ///< in both LSTMs
  NormSpec product_norm = {};  ///< N, of four products
  double dropout = 0;          ///< of the embeddings and of g
};

/// Answers a question about a passage by looking at the words of the passage that matter (Hermann
/// et al. 2015 with the unidirectional LSTMs of Cooijmans et al. 2017; Ba et al. 2016, section
/// 6.2). With the passage x_1 ... x_T, the question y_1 ... y_n and a table E of embeddings:
///
///     d_1 ... d_T = LSTM(E(x_1), ..., E(x_T))        q = the last state of another LSTM(E(y))
///     k_t = tanh(N(W_d d_t + b) + N(W_q q) + <B d_t, B q>)   the scalar is added to every unit
///     a = softmax over t of <w, k_t>                 r = sum_t a_t d_t
///     g = tanh(N(W_c r + c) + N(W_g q))
///     logits = W_o g + o
///
/// All vectors have D entries. The first states of both LSTMs are learned. Batch normalization as N
/// counts padding: give it passages of one length.
/// Throws ArgumentError for sizes below 1, for norms that do not fit an LSTM, and for dropout
/// outside [0, 1).
/// Example: `AttentiveReader(10, 3, random, {.hidden = 8})(ids, {}, ids, {}).attention`
struct AttentiveReader {
  Embedding embedding;
  Recurrent passage, question;
  Linear match;                          ///< B
  Linear of_passage, of_question;        ///< W_d with b, W_q
  Linear score;                          ///< w
  Linear of_content, of_question_again;  ///< W_c with c, W_g
  Linear output;                         ///< W_o with o
  std::vector<Norm> norms;               ///< N of W_d, W_q, W_c and W_g
  Dropout dropout;

  AttentiveReader(Index vocabulary, Index answers, Random& random,
                  const AttentiveReaderOptions& options = {});

  struct Result {
    Tensor logits;     ///< (B, answers)
    Tensor attention;  ///< (B, T): a, whose rows add up to 1
  };
  ///   passages: (B, T), questions: (B, n), in [0, vocabulary)
  ///   lengths: (B), from 1 on; undefined: all of them
  Result operator()(const Indices& passages, const Indices& passage_lengths,
                    const Indices& questions, const Indices& question_lengths,
                    Mode mode = {}) const;
  void visit(Fields& field) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
