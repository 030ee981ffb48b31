#pragma once

#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

// Pictures of the course that are drawn from tapes, as SVG.

/// A tape as a graph, with the values and gradients of its nodes.
std::string tape_graph();
/// What a tape holds of layer normalization, composite and fused.
std::string layer_norm_tapes();
/// Three ways to write an operation, with their nodes.
std::string three_ways();

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
