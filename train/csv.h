#pragma once

#include <span>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A line of a CSV file. Cells with a separator, a quote or a line end are quoted (RFC 4180).
std::string csv_line(std::span<const std::string> cells);

}  // namespace tapegrad::TAPEGRAD_SCALAR
