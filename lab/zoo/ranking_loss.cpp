#include "tapegrad/zoo/ranking_loss.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor order_violation(const Tensor& general, const Tensor& specific, Place place) {
  const OperationScope scope("order_violation", place, general, specific);
  broadcast("order_violation", general.shape(), specific.shape());
  expect(general.rank() >= 1 && specific.rank() >= 1 && general.shape()[-1] == specific.shape()[-1],
         "order_violation: vectors have different lengths: {} and {}", general.shape(),
         specific.shape());
  return sum(square(relu(general - specific)), -1);
}

Tensor contrastive_sum(const Tensor& costs, double margin, Place place) {
  const OperationScope scope("contrastive_sum", place, costs);
  expect(costs.rank() == 2 && costs.shape()[0] == costs.shape()[1],
         "contrastive_sum: needs the costs of all pairs, (B, B): {}", costs.shape());
  expect<ArgumentError>(margin > 0, "contrastive_sum: margin must be positive: {}", margin);
  const Index count = costs.shape()[0];
  const Tensor right = diagonal(costs);
  const Tensor hinges = relu(margin - costs + reshape(right, {count, 1})) +
                        relu(margin - costs + reshape(right, {1, count}));
  return sum(masked_fill(hinges, eye(count), 0));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
