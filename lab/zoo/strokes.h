#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A straight move of a pen: how far it goes to the right and down, and whether it is lifted then,
/// so that the next move draws nothing.
/// Example: `const PenMove down{.dx = 0, .dy = 1, .lifts = true}`
struct PenMove {
  real dx, dy;
  bool lifts;
};
/// A drawing, or a line of several.
/// Example: `const Strokes cross{{0, 2, true}, {-1, -1, false}, {2, 0, true}}`
using Strokes = std::vector<PenMove>;

/// Reads drawings, one per line, from a file, plain or gzipped: moves separated by blanks, each
/// `dx,dy,p` with decimal offsets of at most a million in size, and p = 1 where the pen is lifted,
/// else 0. Throws DataError, naming file and line, for a line without moves, for a move of another
/// form or size, and for a file without lines.
/// Example: `const std::vector<Strokes> drawings = read_strokes("strokes.txt")`
std::vector<Strokes> read_strokes(const std::filesystem::path& path);

/// The standard deviation of all offsets, dx and dy together, without each drawing's first move,
/// which only leads to where the drawing begins. Throws ArgumentError if there are none.
/// Example: `offset_deviation({{{0, 0, false}, {3, 4, true}}})`
double offset_deviation(const std::vector<Strokes>& drawings);

/// How drawings become lines.
/// Example: `const StrokeLineOptions options{.moves = 40, .grid = 6, .scale = 54.5}`
struct StrokeLineOptions {
  Index moves = 300;      ///< in each line
  double grid = 0;        ///< between neighbouring values of offsets that have been rounded
  double scale = 1;       ///< offsets are divided by it
  bool shuffled = false;  ///< takes the drawings in random order
};

/// Lines of several drawings beside each other. A line begins with a drawing and is cut after
/// `moves` moves; what is left of its last drawing, or of the last line, is lost. Each drawing's
/// first move is left out in the first drawing of a line; in others it becomes one of
/// N((1.5, 0), 0.5^2) to the right. Noise of U(+-grid/2) on each offset undoes the rounding, so
/// that a density of offsets has no spikes. Both are drawn from `random`.
/// Throws ArgumentError for moves below 1, a negative grid, a scale that is not positive, and too
/// few drawings for one line.
/// Example: `stroke_lines({{{0, 0, false}, {3, 4, true}}}, {.moves = 1, .scale = 5}, random)`
std::vector<Strokes> stroke_lines(const std::vector<Strokes>& drawings,
                                  const StrokeLineOptions& options, Random& random);

/// Lines as a net reads them.
/// Example: `StrokeBatch{.moves = zeros({7, 2, 3}), .lengths = Indices({2}, {7, 4})}`
struct StrokeBatch {
  Tensor moves;     ///< (T, B, 3): dx, dy and 1 where the pen is lifted; 0 behind the end of a line
  Indices lengths;  ///< (B)
};
/// Throws ArgumentError without lines.
/// Example: `stroke_batch(std::vector<Strokes>{{{3, 4, true}}}).moves`
StrokeBatch stroke_batch(std::span<const Strokes> lines);

}  // namespace tapegrad::TAPEGRAD_SCALAR
