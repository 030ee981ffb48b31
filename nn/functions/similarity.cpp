#include "tapegrad/nn/functions/similarity.h"

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/internal/loss.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor l2_normalize(const Tensor& x, L2Options options, Place place) {
  const OperationScope scope("l2_normalize", place, x);
  expect<ArgumentError>(options.epsilon >= 0, "l2_normalize: epsilon must be at least 0: {}",
                        options.epsilon);
  const Tensor length = norm(x, options.axis, Keep::yes);
  return x / (options.epsilon > 0 ? maximum(length, options.epsilon)
                                  : where(equal(length, 0.0), 1.0, length));
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, CosineOptions options, Place place) {
  const OperationScope scope("cosine_similarity", place, a, b);
  expect(a.rank() == b.rank(), "cosine_similarity: ranks differ: {} and {}", a.shape(), b.shape());
  broadcast("cosine_similarity", a.shape(), b.shape());
  expect<ArgumentError>(options.epsilon >= 0, "cosine_similarity: epsilon must be at least 0: {}",
                        options.epsilon);
  const L2Options of_each{options.axis, options.epsilon};
  return sum(l2_normalize(a, of_each) * l2_normalize(b, of_each), options.axis);
}

Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target,
                        CosineEmbeddingOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("cosine_embedding", a, b);
  expect_defined("cosine_embedding", target);
  expect(a.rank() >= 1 && target.shape() == a.shape().without(-1),
         "cosine_embedding: vectors {} need one target a row: {}", a.shape(), target.shape());
  expect<ArgumentError>(options.margin >= -1 && options.margin <= 1,
                        "cosine_embedding: margin must lie in [-1, 1]: {}", options.margin);
  const Tensor similarity = cosine_similarity(a, b);
  return reduced(where(target > 0.0, 1.0 - similarity, relu(similarity - options.margin)),
                 options.reduction);
}

Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                      TripletOptions options, Place place) {
  const PlaceScope caller(place);
  expect_same("triplet_margin", anchor, positive);
  expect_same("triplet_margin", anchor, negative);
  expect(anchor.rank() >= 1, "triplet_margin: needs an axis of vectors: {}", anchor.shape());
  expect<ArgumentError>(options.margin > 0, "triplet_margin: margin must be positive: {}",
                        options.margin);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return norm(a - b + options.epsilon, -1);
  };
  Tensor to_negative = distance(anchor, negative);
  if (options.swap) to_negative = minimum(to_negative, distance(positive, negative));
  return reduced(relu(distance(anchor, positive) - to_negative + options.margin),
                 options.reduction);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
