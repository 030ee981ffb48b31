#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The names of the nodes whose slopes `explain` puts into words. A test compares them with what
/// the operations record.
std::vector<std::string> explained_operations();

}  // namespace tapegrad::TAPEGRAD_SCALAR
