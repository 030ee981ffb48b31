#include "ops/table.h"
#include "tapegrad/nn/functions/ctc.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/functions/similarity.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::testing {
namespace {

const Indices classes({3}, {1, 0, 3}), with_ignored({3}, {1, -100, 3});
const Tensor class_weight({4}, {0.5, 2, 1, 0.25});

// The loss of the logits x with the targets of tests/golden/ops.py.
Tensor ctc_of(const Tensor& x, const Indices& lengths, const Indices& target_lengths,
              CtcOptions options = {}) {
  const Indices targets({3, 3}, {1, 1, 2, 3, 1, 3, 2, 2, 2});
  return ctc(log_softmax(x), lengths, {targets, target_lengths}, options);
}

}  // namespace

std::vector<Row> loss_rows() {
  return {
      {"cross_entropy", "F.cross_entropy(a, labels)", "any_(3, 4)",
       [](In x) { return cross_entropy(x[0], classes); }},
      {"cross_entropy_smoothed", "F.cross_entropy(a, with_ignored, label_smoothing=0.2)",
       "any_(3, 4)",
       [](In x) {
         return cross_entropy(x[0], with_ignored, {.label_smoothing = 0.2, .ignore_index = -100});
       }},
      {"cross_entropy_soft", "F.cross_entropy(a, b)", "any_(3, 4), positive(3, 4)",
       [](In x) { return cross_entropy(x[0], x[1]); }},
      {"binary_cross_entropy_with_logits", "F.binary_cross_entropy_with_logits(a, b)",
       "any_(2, 3), positive(2, 3) / 3",
       [](In x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"cross_entropy_none", "F.cross_entropy(a, with_ignored, reduction='none')", "any_(3, 4)",
       [](In x) {
         return cross_entropy(x[0], with_ignored,
                              {.ignore_index = -100, .reduction = Reduction::none});
       }},
      {"cross_entropy_weight", "F.cross_entropy(a, labels, weight)", "any_(3, 4)",
       [](In x) { return cross_entropy(x[0], classes, {.weight = class_weight}); }},
      {"cross_entropy_weight_smoothed",
       "F.cross_entropy(a, with_ignored, weight, label_smoothing=0.2)", "any_(3, 4)",
       [](In x) {
         return cross_entropy(
             x[0], with_ignored,
             {.label_smoothing = 0.2, .ignore_index = -100, .weight = class_weight});
       }},
      {"cross_entropy_weight_sum",
       "F.cross_entropy(a, labels, weight, label_smoothing=0.2, reduction='sum')", "any_(3, 4)",
       [](In x) {
         return cross_entropy(
             x[0], classes,
             {.label_smoothing = 0.2, .weight = class_weight, .reduction = Reduction::sum});
       }},
      {"cross_entropy_soft_none", "F.cross_entropy(a, b, reduction='none')",
       "any_(3, 4), positive(3, 4)",
       [](In x) { return cross_entropy(x[0], x[1], {.reduction = Reduction::none}); }},
      {"binary_cross_entropy_with_logits_weight",
       "F.binary_cross_entropy_with_logits(a, b, pos_weight=positive_weight)",
       "any_(2, 3), positive(2, 3) / 3",
       [](In x) {
         return binary_cross_entropy_with_logits(x[0], x[1],
                                                 {.positive_weight = Tensor({3}, {2, 0.5, 3})});
       }},
      {"nll", "F.nll_loss(a, with_ignored, weight)", "any_(3, 4)",
       [](In x) {
         return nll(x[0], with_ignored, {.ignore_index = -100, .weight = class_weight});
       }},
      {"ctc", "ctc(a)", "any_(6, 3, 4)",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 5, 4}), Indices({3}, {3, 2, 0}));
       }},
      {"ctc_none", "ctc(a, lengths=(6, 6, 1), reduction='none')", "any_(6, 3, 4)",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 6, 1}), Indices({3}, {3, 2, 0}),
                       {.reduction = Reduction::none});
       }},
      {"ctc_sum", "ctc(a, (6, 6, 6), (2, 3, 1), reduction='sum')", "any_(6, 3, 4)",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 6, 6}), Indices({3}, {2, 3, 1}),
                       {.reduction = Reduction::sum});
       }},
      {"ctc_infinite", "ctc(a, (6, 2, 4), (3, 3, 1), zero_infinity=True)", "any_(6, 3, 4)",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 2, 4}), Indices({3}, {3, 3, 1}),
                       {.zero_infinity = true});
       }},
      {"mse", "F.mse_loss(a, b)", "any_(2, 3), any_(2, 3)", [](In x) { return mse(x[0], x[1]); }},
      {"l1", "F.l1_loss(a, b)", "spread(2, 3), spread(2, 3) + 0.1",
       [](In x) { return l1(x[0], x[1]); }},
      {"huber", "F.huber_loss(a, b, delta=0.8)", "spread(2, 5), spread(2, 5) + 0.1",
       [](In x) { return huber(x[0], x[1], {.delta = 0.8}); }},
      {"hinge", "(1 - a * b).clamp(min=0).mean()",
       "torch.tensor([[-2.0, 0.4, 3.0], [0.7, 1.6, -0.2]]), torch.tensor([[1.0, -1.0, 1.0], [1.0, "
       "-1.0, -1.0]])",
       [](In x) { return hinge(x[0], x[1]); }},
      {"kl_divergence", "F.kl_div(a, b, reduction='batchmean')", "any_(3, 4), positive(3, 4) / 4",
       [](In x) { return kl_divergence(x[0], x[1]); }},
      {"mse_none", "F.mse_loss(a, b, reduction='none')", "any_(2, 3), any_(2, 3)",
       [](In x) { return mse(x[0], x[1], {.reduction = Reduction::none}); }},
      {"l1_sum", "F.l1_loss(a, b, reduction='sum')", "any_(2, 3), any_(2, 3) + 5",
       [](In x) { return l1(x[0], x[1], {.reduction = Reduction::sum}); }},
      {"huber_none", "F.huber_loss(a, b, delta=0.8, reduction='none')",
       "torch.tensor([0.1, 3.0, -2.0, 0.3]), torch.tensor([0.4, 1.0, 1.0, -0.2])",
       [](In x) { return huber(x[0], x[1], {.delta = 0.8, .reduction = Reduction::none}); }},
      {"kl_divergence_sum", "F.kl_div(a, b, reduction='sum')", "any_(3, 4), positive(3, 4) / 4",
       [](In x) { return kl_divergence(x[0], x[1], {.reduction = Reduction::sum}); }},
      {"gaussian_nll", "F.gaussian_nll_loss(a, b, c)", "any_(2, 3), any_(2, 3), positive(2, 3)",
       [](In x) { return gaussian_nll(x[0], x[1], x[2]); }},
      {"gaussian_nll_full", "F.gaussian_nll_loss(a, b, c, full=True, reduction='none')",
       "any_(2, 3), any_(2, 3), positive(2, 1)",
       [](In x) {
         return gaussian_nll(x[0], x[1], x[2], {.full = true, .reduction = Reduction::none});
       }},
      {"gaussian_kl", "kl(a, b).mean()", "any_(3, 4), any_(3, 4)",
       [](In x) { return gaussian_kl(x[0], x[1]); }},
      {"gaussian_kl_none", "kl(a, b)", "any_(2, 1, 3), any_(2, 1, 3)",
       [](In x) { return gaussian_kl(x[0], x[1], {.reduction = Reduction::none}); }},
      {"cosine_similarity", "F.cosine_similarity(a, b, dim=-1)", "any_(3, 1, 4), any_(1, 2, 4)",
       [](In x) { return cosine_similarity(x[0], x[1]); }},
      {"cosine_similarity_first", "F.cosine_similarity(a, b, dim=0)", "any_(3, 2), any_(3, 2)",
       [](In x) { return cosine_similarity(x[0], x[1], {.axis = 0}); }},
      {"l2_normalize", "F.normalize(a)", "any_(3, 4)", [](In x) { return l2_normalize(x[0]); }},
      {"l2_normalize_first", "F.normalize(a, dim=0, eps=1.5)", "any_(3, 4)",
       [](In x) { return l2_normalize(x[0], {.axis = 0, .epsilon = 1.5}); }},
      {"cosine_embedding", "F.cosine_embedding_loss(a, b, sides, margin=-0.4)",
       "any_(4, 3), any_(4, 3)",
       [](In x) {
         return cosine_embedding(x[0], x[1], Tensor({4}, {1, -1, 1, -1}), {.margin = -0.4});
       }},
      {"triplet_margin", "F.triplet_margin_loss(a, b, c, margin=4)",
       "any_(3, 4), any_(3, 4), any_(3, 4)",
       [](In x) { return triplet_margin(x[0], x[1], x[2], {.margin = 4}); }},
      {"triplet_margin_swap",
       "F.triplet_margin_loss(a, b, c, margin=5, swap=True, reduction='none')",
       "any_(4, 3), any_(4, 3), any_(4, 3)",
       [](In x) {
         return triplet_margin(x[0], x[1], x[2],
                               {.margin = 5, .swap = true, .reduction = Reduction::none});
       }},
  };
}

}  // namespace tapegrad::testing
