#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiments/verdict.h"

/// What detached statistics cost networks in many settings, and the claims of Xu et al. 2019 on it.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The systems of the paper: tables 1 to 4.
extern const std::vector<std::string> paper_norms;

/// The runs of each norm, which start from the same weights and see the same batches.
using ByNorm = std::map<std::string, Results>;

/// The validation loss after so many steps, in bits per character.
Metric validation_after(Index step);

/// Runs of all norms in one setting, looked at after some of their steps.
struct Column {
  std::string init, placement;
  Index layers, channels;
  double rate;
  Index steps;
  ByNorm results = {};

  const Results& of(const std::string& norm) const { return results.at(norm); }
  Spread spread(const std::string& norm) const { return of(norm).spread(validation_after(steps)); }
  /// The claim that `a` ends with a lower loss than `b`, from paired seeds.
  Judgement better(const std::string& a, const std::string& b) const;
  /// The claim that their losses differ by less than `equality_margin`.
  Judgement equal(const std::string& a, const std::string& b) const;
  /// "pre, 2 layers", and whatever else differs among the columns.
  std::string name(const std::vector<Column>& among) const;
};

/// Bits per character within which losses are called equal. It was fixed before any run.
inline constexpr double equality_margin = 0.02;

/// The mathematics of detached statistics, in each of the settings: they change gradients and
/// no values.
std::vector<Claim> detaching_claims(const std::vector<ByNorm>& settings);

/// The paper's claims on larger runs, judged in these settings: supported if it is in all of
/// them, contradicted if it is in one. Columns need all `paper_norms`. That costs grow with depth
/// is left out if no two columns differ in depth alone.
std::vector<JudgedClaim> published_claims(const std::vector<Column>& columns);

/// The norm with the lowest mean loss in a column.
std::string best_norm(const Column& column);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
