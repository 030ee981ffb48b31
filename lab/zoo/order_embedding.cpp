#include "tapegrad/zoo/order_embedding.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/io/text.h"
#include "tapegrad/nn/functions/similarity.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Tensor point(const Tensor& x, bool symmetric) {
  const Tensor direction = l2_normalize(x);
  return symmetric ? direction : abs(direction);
}

}  // namespace

OrderEmbedding::OrderEmbedding(Index vocabulary, Index feature_count, Random& random,
                               const OrderEmbeddingOptions& options)
    : words(vocabulary, options.words, random),
      features(feature_count, options.hidden, random),
      symmetric(options.symmetric) {
  expect<ArgumentError>(!options.bag_of_words || !options.norm.method->normalizes,
                        "OrderEmbedding: a bag of words has no GRU to normalize");
  words.weight.set(random.uniform(words.weight.shape(), -0.1, 0.1));
  features.weight.set(xavier_uniform(features.weight.shape(), random));
  features.bias.set(zeros(features.bias.shape()));
  if (options.bag_of_words)
    bag.emplace(options.words, options.hidden, random);
  else
    encoder.emplace(Cell::gru, options.words, options.hidden, random,
                    RecurrentOptions{.norm = options.norm});
}

Tensor OrderEmbedding::caption(const Indices& ids, const Indices& lengths) const {
  expect(ids.defined() && ids.shape().rank() == 2, "OrderEmbedding: ids must be (B, T): {}",
         ids.shape());
  expect_lengths("OrderEmbedding", lengths, ids.shape()[1], ids.shape()[0]);
  const Tensor steps = words(transposed(ids));  // (T, B, words)
  if (encoder) return point((*encoder)(steps, {}, lengths).last[0].h, symmetric);
  const Tensor present = where(running(lengths, 0, ids.shape()[1]), steps, 0.0);
  return point((*bag)(sum(present, 0)), symmetric);
}

Tensor OrderEmbedding::image(const Tensor& v) const { return point(features(v), symmetric); }

Tensor OrderEmbedding::costs(const Tensor& captions, const Tensor& images) const {
  expect_defined("OrderEmbedding", captions, images);
  expect(captions.rank() == 2 && images.rank() == 2 && captions.shape()[1] == images.shape()[1],
         "OrderEmbedding: captions and images must be (C, D) and (I, D): {} and {}",
         captions.shape(), images.shape());
  if (symmetric) return -matmul(captions, transpose(images));
  const Index dimensions = captions.shape()[1];
  return order_violation(reshape(captions, {captions.shape()[0], 1, dimensions}),
                         reshape(images, {1, images.shape()[0], dimensions}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
