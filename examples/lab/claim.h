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

/// A published statement about larger trainings, and the verdict of smaller ones.
struct PublishedClaim {
  std::string statement, measured;
  Judgement judgement;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
