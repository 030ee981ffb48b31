#pragma once

#include <string>
#include <vector>

#include "lab/drift_tasks.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What users of drift choose.
struct DriftFlags : ConditionLists {
  std::vector<double> factors{1.0 / 3, 1, 3};  ///< of the usual learning rate
  ComparisonFlags comparison{.seeds = 5};
  std::string text, images;
  bool from_ledger = false, quiet = false;

  void add_to(Flags& flags);
  /// Throws CLI::ValidationError for values that do not fit.
  void check(const Flags& given) const;

  bool learns(const std::string& task) const;
  bool reads_images() const { return learns("mnist") || learns("cnn"); }
  /// Draws or reads what the tasks need. Throws DataError.
  DriftData make_data() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
