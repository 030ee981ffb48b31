#include "experiments/recall.h"

#include <fmt/format.h>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

std::vector<double> recall_items(const Outcome& run, Index images, Index k) {
  const RunTrace& ranks = trace_of(run, "ranks");
  const std::size_t count = images;
  expect_part(
      count > 0 && ranks.size() % count == 0, run,
      fmt::format("its {} ranks do not belong to the captions of {} images", ranks.size(), images));
  const std::size_t of_each = ranks.size() / count;
  std::vector<double> items(count, 0);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].second <= k) items[i / of_each] += 100.0 / of_each;
  return items;
}

Metric image_recall(Index k) {
  return {.value = fmt::format("test_image_recall_{}", k),
          .higher_is_better = true,
          .worst = 0,
          .of_items = true};
}

Results with_recall_items(const Results& results, Index k) {
  Results changed = results;
  for (Outcome& run : changed.runs) run.items = recall_items(run, std::ssize(run.items), k);
  return changed;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
