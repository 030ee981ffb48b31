#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The tape as a graph in the DOT language of Graphviz: an ellipse for each operation, a box for
/// each leaf, an arrow from each input. A tape with `keep_values` also shows values and gradients,
/// small ones in full, others as their range, and a dashed arrow from each detached input.
/// Operations recorded by a sweep are dashed.
/// Example: `fmt::print("{}", as_dot(tape))`
std::string as_dot(const Tape& tape);

/// The tape as JSON, for programs: an object with
///   format  "tapegrad tape 1"
///   nodes   each with name, label (by `named`, or of a parameter), sweep (that recorded it; 0:
///           none), inputs (numbers of nodes; -1: a constant; -2 - k: node k, detached), shape,
///           place ("file:line"), source (the text of that line, if the file can be read), value;
///           a leaf, after a sweep, also why: what `explain` reports of its gradient
///   flows   the additions to gradients in order: sweep, from, to, size (of the tape at that
///           moment), node (where the sum itself was recorded, or -1), added, total
/// value, added and total are null unless the tape keeps values. A tensor has its shape and, with
/// at most 64 elements, its values, flat. A larger one has mean, deviation, least, greatest and the
/// counts of a histogram between these, all over the finite elements, and non_finite. Numbers that
/// JSON cannot represent are "nan", "inf" and "-inf".
/// Example: `const std::string json = as_json(tape)`
std::string as_json(const Tape& tape);

/// Writes one self-contained page that steps through the tape, forward and backward, in a browser.
/// For a tape with `keep_values` it also shows values, and gradients as they accumulate. Throws
/// DataError if it cannot write the file.
/// Example: `write_viewer(tape, "tape.html")`
void write_viewer(const Tape& tape, const std::string& file);

/// The output of `as_json`, with a title. The tape itself may have ended.
/// Example: `write_viewer({{"one", as_json(tape)}, {"other", as_json(tape)}}, "tapes.html")`
struct ExportedTape {
  std::string title;
  std::string json;
};
/// Shows several tapes side by side, controlled together.
void write_viewer(const std::vector<ExportedTape>& tapes, const std::string& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR
