#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A value of a training step: of an operation, a parameter or a buffer.
/// Example: `const TracedValue h{.name = "h", .operation = "linear", .inputs = {0, -1}}`
struct TracedValue {
  std::string name;                ///< of the field, given by `named`, or of the operation
  std::string operation;           ///< "layer_norm", "parameter", "buffer", "constant"
  std::vector<Index> inputs = {};  ///< positions among the values of the trace; -1: a constant;
                                   ///< -2 - k: value k, detached
  std::string place = {},
              source = {};  ///< "net.cpp:42", and the text of that line, if it could be read
  Tensor value = {}, gradient = {};  ///< undefined where there is none
};

/// All values and gradients of a step.
/// Example: `const Trace none; none.values.size()`
struct Trace {
  std::vector<TracedValue> values = {};  ///< in the order in which they were computed
  std::string framework;                 ///< "tapegrad", "pytorch"
  std::string precision;                 ///< "float32" or "float64"
  std::string instruction_set;           ///< as by `instruction_set`; may be ""
};

/// The constants that `named` has named, such as the batch; what the forward pass on a tape
/// recorded, with the gradients of the last sweep; the parameters that it did not use, and the
/// buffers. What the sweep itself recorded is left out, and so are other constants. A parameter
/// that the net does not list is called by its own name. Throws TapeError for a tape without
/// `keep_values`.
/// Example: `Tape t({.keep_values = true}); const Trace step = trace(t, fields(net))`
Trace trace(const Tape& tape, const Fields& net);

/// Writes a trace as a safetensors file, atomically. Its tensors are value/NUMBER.NAME and, where a
/// gradient came, gradient/NUMBER.NAME; its metadata are format ("tapegrad trace 1"), framework,
/// precision and instruction_set, and for each number NUMBER.operation, NUMBER.inputs ("3 -1"),
/// NUMBER.place and NUMBER.source. Throws DataError if it cannot write the file, TapeError as
/// `trace` does.
/// Example: `Tape t({.keep_values = true}); write_trace(t, fields(net), "step.safetensors")`
void write_trace(const Tape& tape, const Fields& net, const std::string& file);

/// Reads what `write_trace` or docs/pytorch_trace.py has written, rounded to `real`. Throws
/// DataError, naming file and tensor or byte, for a file that is missing, damaged or no trace.
/// Example: `try { read_trace("none"); } catch (const DataError&) { std::puts("no file"); }`
Trace read_trace(const std::filesystem::path& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR
