#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The tape as a graph in the DOT language of Graphviz: an ellipse for each operation, a box for
/// each leaf, an arrow from each input. On a tape with `keep_values` also values and gradients:
/// small ones in full, others as their range. Operations that a sweep recorded are dashed.
std::string as_dot(const Tape& tape);

/// The tape as JSON, for programs: an object with
///   format  "tapegrad tape 1"
///   nodes   each with name, label (of a parameter), sweep (that recorded it; 0: none), inputs
///           (numbers of nodes; -1: a constant), shape, place ("file:line"), source (the text of
///           that line, if the file can be read), value
///   flows   the additions to gradients in their order: sweep, from, to, size (of the tape at that
///           moment), node (where the sum itself was recorded, or -1), added, total
/// value, added and total are null unless the tape keeps values. A tensor has shape and either
/// values, flat, if it has at most 64, or mean, deviation, least, greatest and the counts of a
/// histogram between these, all of what is finite, and non_finite. Numbers that JSON cannot write
/// are "nan", "inf" and "-inf".
std::string as_json(const Tape& tape);

/// Writes one self-contained page that steps through the tape, forward and backward, in a browser.
/// Of a tape with `keep_values` it shows values, and gradients as they accumulate. Throws DataError
/// when the file cannot be written.
void write_viewer(const Tape& tape, const std::string& file);

/// What `as_json` made of a tape that may have ended, under a title.
struct ExportedTape {
  std::string title;
  std::string json;
};
/// The same for several tapes side by side, with one control for all.
void write_viewer(const std::vector<ExportedTape>& tapes, const std::string& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR
