#include "ops/table.h"
#include "tapegrad/ops/ctc.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

const Indices labels({3}, {1, 0, 3}), with_ignored({3}, {1, -100, 3});
const Tensor weight({4}, {0.5, 2, 1, 0.25});
constexpr auto none = Reduction::none, total = Reduction::sum;

// The loss of the logits x with the targets of tests/golden/losses.py.
Tensor ctc_of(const Tensor& x, const Indices& lengths, const Indices& target_lengths,
              CtcOptions options = {}) {
  const Indices targets({3, 3}, {1, 1, 2, 3, 1, 3, 2, 2, 2});
  return ctc(log_softmax(x), lengths, {targets, target_lengths}, options);
}

std::vector<Row> rows_of_classes() {
  return {
      {"cross_entropy", [](In x) { return cross_entropy(x[0], labels); }},
      {"cross_entropy_smoothed",
       [](In x) {
         return cross_entropy(x[0], with_ignored, {.label_smoothing = 0.2, .ignore_index = -100});
       }},
      {"cross_entropy_soft", [](In x) { return cross_entropy(x[0], x[1]); }},
      {"binary_cross_entropy_with_logits",
       [](In x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"cross_entropy_none",
       [](In x) {
         return cross_entropy(x[0], with_ignored, {.ignore_index = -100, .reduction = none});
       }},
      {"cross_entropy_weight",
       [](In x) { return cross_entropy(x[0], labels, {.weight = weight}); }},
      {"cross_entropy_weight_smoothed",
       [](In x) {
         return cross_entropy(x[0], with_ignored,
                              {.label_smoothing = 0.2, .ignore_index = -100, .weight = weight});
       }},
      {"cross_entropy_weight_sum",
       [](In x) {
         return cross_entropy(x[0], labels,
                              {.label_smoothing = 0.2, .weight = weight, .reduction = total});
       }},
      {"cross_entropy_soft_none",
       [](In x) { return cross_entropy(x[0], x[1], {.reduction = none}); }},
      {"binary_cross_entropy_with_logits_weight",
       [](In x) {
         return binary_cross_entropy_with_logits(x[0], x[1],
                                                 {.positive_weight = Tensor({3}, {2, 0.5, 3})});
       }},
      {"nll",
       [](In x) { return nll(x[0], with_ignored, {.ignore_index = -100, .weight = weight}); }},
      {"ctc",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 5, 4}), Indices({3}, {3, 2, 0}));
       }},
      {"ctc_none",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 6, 1}), Indices({3}, {3, 2, 0}), {.reduction = none});
       }},
      {"ctc_sum",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 6, 6}), Indices({3}, {2, 3, 1}),
                       {.reduction = total});
       }},
      {"ctc_infinite",
       [](In x) {
         return ctc_of(x[0], Indices({3}, {6, 2, 4}), Indices({3}, {3, 3, 1}),
                       {.zero_infinity = true});
       }},
  };
}

std::vector<Row> rows_of_distances() {
  return {
      {"mse", [](In x) { return mse(x[0], x[1]); }},
      {"l1", [](In x) { return l1(x[0], x[1]); }},
      {"huber", [](In x) { return huber(x[0], x[1], {.delta = 0.8}); }},
      {"hinge", [](In x) { return hinge(x[0], x[1]); }},
      {"kl_divergence", [](In x) { return kl_divergence(x[0], x[1]); }},
      {"mse_none", [](In x) { return mse(x[0], x[1], {.reduction = none}); }},
      {"l1_sum", [](In x) { return l1(x[0], x[1], {.reduction = total}); }},
      {"huber_none", [](In x) { return huber(x[0], x[1], {.delta = 0.8, .reduction = none}); }},
      {"kl_divergence_sum", [](In x) { return kl_divergence(x[0], x[1], {.reduction = total}); }},
      {"gaussian_nll", [](In x) { return gaussian_nll(x[0], x[1], x[2]); }},
      {"gaussian_nll_full",
       [](In x) { return gaussian_nll(x[0], x[1], x[2], {.full = true, .reduction = none}); }},
      {"gaussian_kl", [](In x) { return gaussian_kl(x[0], x[1]); }},
      {"gaussian_kl_none", [](In x) { return gaussian_kl(x[0], x[1], {.reduction = none}); }},
      {"cosine_similarity", [](In x) { return cosine_similarity(x[0], x[1]); }},
      {"cosine_similarity_first", [](In x) { return cosine_similarity(x[0], x[1], {.axis = 0}); }},
      {"l2_normalize", [](In x) { return l2_normalize(x[0]); }},
      {"l2_normalize_first", [](In x) { return l2_normalize(x[0], {.axis = 0, .epsilon = 1.5}); }},
      {"cosine_embedding",
       [](In x) {
         return cosine_embedding(x[0], x[1], Tensor({4}, {1, -1, 1, -1}), {.margin = -0.4});
       }},
      {"triplet_margin", [](In x) { return triplet_margin(x[0], x[1], x[2], {.margin = 4}); }},
      {"triplet_margin_swap",
       [](In x) {
         return triplet_margin(x[0], x[1], x[2], {.margin = 5, .swap = true, .reduction = none});
       }},
  };
}

}  // namespace

std::vector<Row> loss_rows() {
  std::vector<Row> all = rows_of_classes();
  for (const Row& row : rows_of_distances()) all.push_back(row);
  for (Row& row : all) row.file = "losses.json";
  return all;
}

}  // namespace tapegrad::testing
