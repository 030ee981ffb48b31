#pragma once

#include <string>

#include "lab/verdict.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A statement, what was measured, and whether that supports the statement.
struct Claim {
  std::string statement, measured;
  bool holds;
  /// How far the measurement may be from the statement, in words such as "below 1e-9".
  std::string tolerance = "";
};

/// A statement about larger trainings, and the verdict of smaller ones.
struct JudgedClaim {
  std::string source;  ///< where a paper says so, such as "section 6.6"; empty: it is asked here
  std::string statement, measured;
  Judgement judgement;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
