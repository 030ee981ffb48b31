#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blocks.h"
#include "live.h"

/// A net of one's own. Its settings are
///   data     kind: points (set: xor, circles, spirals or own, with points [x, y, class]; count;
///   noise), digits (count),
///            or text (set: grammar, with count sentences, or own, with text; length of a row)
///   split    the share of examples to train on
///   net      the blocks, in order: see net.cpp
///   init, seed, batch, optimizer, rate, schedule, steps (of the schedule), clip
///   precision   double, or float in the engine of single precision, which also computes in it what
///   is forked
///   fork     at: the step, of: the settings of the run that this one continues from there
namespace playground {

using live::Json;

/// Of this engine.
constexpr const char* own_precision = sizeof(real) == 8 ? "double" : "float";

/// A whole number or a number of a request. Throws ArgumentError, naming it, outside of the limits.
Index whole(const Json& of, const char* name, Index least, Index most);
double number(const Json& of, const char* name, double least, double most);

/// The data, what is shown of them, and the expression in C++ that makes them.
struct MadeData {
  Data data;
  Json shown;
  std::string code;
  std::string characters;  ///< of a text, by number
};
MadeData make_data(const Json& settings);

/// A net, with shape and parameters for each block, and in C++. If a block does not fit, "error" of
/// its entry is why, and the net has no output.
struct MadeNet {
  Net net;
  Json blocks = Json::array();
  bool fits = false;
  std::string code;
};
MadeNet make_net(const Json& settings, const Data& data);

struct MadeOptimizer {
  std::unique_ptr<Optimizer> optimizer;
  std::string code;
};
MadeOptimizer make_optimizer(const std::string& name, double rate,
                             const std::vector<Parameter>& of);
struct MadeSchedule {
  Schedule schedule;
  std::string code;
};
MadeSchedule make_schedule(const Json& settings);

/// All names that a net can be set to.
Json choices();

/// A program that trains the net of these settings, and prints the loss of each step.
std::string program(const Json& settings, Index steps);

/// The message of an error without the place in the sources.
std::string words(const std::exception& error);

/// Answers the requests of the page; "do" is one of choices, build, steps, rewind, look, field,
/// classify, write, tape, explain, check and program.
Json answer(const Json& request);

}  // namespace playground
