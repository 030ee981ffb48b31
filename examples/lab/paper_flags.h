#pragma once

#include <string>
#include <vector>

#include "lab/matrix_training.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What --size says: smoke or report.
inline problems::Size problem_size(const std::string& size) {
  return size == "smoke" ? problems::Size::smoke : problems::Size::report;
}
/// How many rates a norm may try at that size, see `SettingSearch`.
inline std::size_t most_rates(const std::string& size) { return size == "smoke" ? 2 : 7; }

/// The flags of experiments that repeat what a paper measured.
struct PaperFlags {
  std::string size = "smoke", only, data;
  bool from_ledger = false;
  MatrixTraining::Options training{.comparison = {.seeds = least_seeds}};

  /// parts: the tables or figures that --only names   kind: "table" or "figure"
  void add_to(Flags& flags, const std::string& kind, const std::vector<std::string>& parts);
  /// Throws CLI::ValidationError for flags that conflict, for some task of the paper.
  void check(const Flags& given, const Paper& paper) const;

  problems::Origin origin() const { return {data, training.comparison.seed}; }
  /// The number of the table or figure to show; 0: all.
  int number() const { return only.empty() ? 0 : only.back() - '0'; }

  /// The trainings of these tasks, or what the ledger has with --from-ledger.
  Matrix matrix(const Paper& paper, Cluster& cluster, Ledger& ledger,
                const std::vector<MatrixTask>& tasks) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
