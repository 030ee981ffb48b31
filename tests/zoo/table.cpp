#include "ops/table.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/zoo/glimpse.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

const GlimpseSizes glimpse_sizes{.filters = 3, .height = 5, .width = 4};

// All five numbers of a window: (5, B).
Tensor stacked(const GlimpseWindow& w) {
  return stack({w.x, w.y, w.stride, w.deviation, w.intensity});
}

GlimpseFilters filters_of(const Tensor& numbers) {
  return glimpse_filters(glimpse_window(numbers, glimpse_sizes), glimpse_sizes);
}

std::vector<Row> glimpse_rows() {
  return {
      {"gaussian_filterbank",
       [](In x) { return gaussian_filterbank(x[0], x[1], x[2], {.filters = 3, .extent = 4}); },
       true},
      {"glimpse_window", [](In x) { return stacked(glimpse_window(x[0], glimpse_sizes)); }},
      {"glimpse_filters",
       [](In x) {
         const GlimpseFilters filters = filters_of(x[0]);
         return concat({filters.x, filters.y}, 2);
       }},
      {"read_glimpse", [](In x) { return read_glimpse(x[0], filters_of(x[1])); }},
      {"write_glimpse", [](In x) { return write_glimpse(x[0], filters_of(x[1])); }},
  };
}

std::vector<Row> ranking_rows() {
  return {
      {"order_violation", [](In x) { return order_violation(x[0], x[1]); }},
      {"contrastive_sum", [](In x) { return contrastive_sum(x[0], 0.4); }},
  };
}

}  // namespace

std::vector<Row> zoo_rows() {
  std::vector<Row> all = glimpse_rows();
  for (Row& row : all) row.file = "glimpses.json";
  for (Row row : ranking_rows()) {
    row.file = "losses.json";
    all.push_back(row);
  }
  return all;
}

}  // namespace tapegrad::testing
