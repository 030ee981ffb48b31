#include "ops/table.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/zoo/glimpse.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::testing {
namespace {

const GlimpseSizes glimpse_sizes{.filters = 3, .height = 5, .width = 4};

// All five numbers of a window: (5, B).
Tensor stacked(const GlimpseWindow& w) {
  return stack({w.x, w.y, w.stride, w.deviation, w.intensity});
}

GlimpseFilters filters_of(const Tensor& numbers) {
  return glimpse_filters(glimpse_window(numbers, glimpse_sizes), glimpse_sizes);
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> all{
      {"gaussian_filterbank", "bank(a, b, c, 3, 4)", "positive(2), positive(2), positive(2)",
       [](In x) { return gaussian_filterbank(x[0], x[1], x[2], {.filters = 3, .extent = 4}); }},
      {"glimpse_window", "window(a)", "any_(2, 5) * 0.4",
       [](In x) { return stacked(glimpse_window(x[0], glimpse_sizes)); }},
      {"glimpse_filters", "torch.cat(banks(a)[:2], 2)", "any_(2, 5) * 0.4",
       [](In x) {
         const GlimpseFilters filters = filters_of(x[0]);
         return concat({filters.x, filters.y}, 2);
       }},
      {"read_glimpse", "read(a, b)", "any_(2, 5, 4), any_(2, 5) * 0.4",
       [](In x) { return read_glimpse(x[0], filters_of(x[1])); }},
      {"write_glimpse", "write_back(a, b)", "any_(2, 3, 3), any_(2, 5) * 0.4",
       [](In x) { return write_glimpse(x[0], filters_of(x[1])); }},
      {"order_violation", "(a - b).clamp(min=0).square().sum(-1)", "any_(3, 1, 4), any_(1, 2, 4)",
       [](In x) { return order_violation(x[0], x[1]); }},
      {"contrastive_sum", "contrastive_sum(a)", "any_(4, 4)",
       [](In x) { return contrastive_sum(x[0], 0.4); }},
  };
  return all;
}

Golden golden(const Row& row) { return golden("ops.json", row.name); }

}  // namespace tapegrad::testing
