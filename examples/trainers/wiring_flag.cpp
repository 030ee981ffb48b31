#include "trainers/wiring_flag.h"

#include <map>

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

const std::map<std::string, NormWiring> wirings{{"paper", NormWiring::paper},
                                                {"cell", NormWiring::cell},
                                                {"sum", NormWiring::sum},
                                                {"per_gate", NormWiring::per_gate}};

}  // namespace

void add_wiring_flag(Flags& flags, const std::string& flag, std::string& wiring) {
  flags
      .training(flag, wiring,
                "Where an LSTM normalizes: both products and the cell as in the paper, the cell "
                "only, the sum and the cell, or each gate's sum and the cell")
      ->check(CLI::IsMember(wirings));
}

NormWiring norm_wiring(const std::string& name) { return wirings.at(name); }

RecurrentOptions recurrent_options(const std::string& norm, const std::string& wiring) {
  const NormSpec spec(norm);
  if (spec.kind == NormKind::none) return {.norm = spec};
  return {.norm = spec, .wiring = norm_wiring(wiring)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
