#include "support/placement_flag.h"

#include <map>

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

const std::map<std::string, CellNormPlacement> placements{
    {"paper", CellNormPlacement::paper},
    {"cell", CellNormPlacement::cell},
    {"sum", CellNormPlacement::sum},
    {"per_gate", CellNormPlacement::per_gate}};

}  // namespace

void add_placement_flag(Flags& flags, std::string& placement) {
  std::vector<std::string> names;
  for (const auto& [name, known] : placements) names.push_back(name);
  flags
      .training("--norm-placement", placement,
                "Where an LSTM normalizes: both products and the cell as in the paper, the cell "
                "only, the sum and the cell, or each gate's sum and the cell")
      .check(one_of(names));
}

CellNormPlacement norm_placement(const std::string& name) { return placements.at(name); }

RecurrentOptions recurrent_options(const std::string& norm, const std::string& placement) {
  const NormSpec spec(norm);
  if (!spec.method->normalizes) return {.norm = spec};
  return {.norm = spec, .placement = norm_placement(placement)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
