#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What is done along a free direction: numbers are added to a parameter, parameters are multiplied
/// by positive factors, or some are multiplied and others divided by the same factors.
/// Example: `FreeDirection found{.kind = FreeKind::scale}; fmt::print("{}\n", found.parts.size())`
enum class FreeKind { shift, scale, exchange };

/// A parameter in a free direction, and which of its elements change together.
/// Example: `Linear a(6, 3, random); const FreePart common_mode{"weight", a.weight, {0}};`
struct FreePart {
  std::string name;            ///< "hidden.weight"; "batch" for the batch
  Parameter parameter;         ///< of the net; of the batch a copy
  std::vector<int> axes = {};  ///< along which the numbers differ; if none, there is one number
  Index begin = 0, end = 0;    ///< the positions concerned, if there is one axis
  bool inverse = false;        ///< whether it is divided by the factors
};

/// A change of the parameters that the loss does not see.
/// Example: `if (FreeDirection found; found.slope > 0.01) fmt::print("a mean is detached\n")`
struct FreeDirection {
  FreeKind kind = {};
  std::vector<FreePart> parts = {};  ///< one for a shift
  /// "layer_norm at net.cpp:12", whose inputs change, but not its value; empty if no operation's
  /// value changes.
  std::string removed_by = {};
  double slope = 0;   ///< |g d| / (|g| |d|), g of all parameters; about 0, unless one is detached
  double change = 0;  ///< the largest that was seen, by changes of about the parameters' own size
  double loss = 0;    ///< before these changes
};

/// The directions along which this loss is flat, however far one goes: a shift before a norm or a
/// softmax, a scale before a norm, a scale that a later layer undoes (Ba et al. 2016, section 5.1;
/// Neyshabur et al. 2015, section 2). No operation is known by name. Numbers are added to each
/// parameter, or it is multiplied by factors, alike along some axes: at the given weights and at
/// others of random signs, so that what matters little by accident, such as a bias of a unit that
/// is never active, is not listed. A direction is free if the loss changes by less than 1/1000 of
/// what random changes of that size do; along a scale, by less than 1/100, since a norm's epsilon
/// is seen a little. Where a change ends is read from the tape.
///   loss: of the net, on one batch, always the same; one element
/// Of directions that include each other the largest is listed. Parameters without a gradient are
/// left out (`unreached`). Not found are factors of more than two layers, rotations, and factors
/// that a later layer undoes where a derivative is detached. Weights and buffers are the same bits
/// afterwards, even if the loss throws. Computes it about 30 times for each parameter.
/// Throws ArgumentError for a loss that is not finite or differs when repeated, as with dropout,
/// and TapeError if a tape is in scope.
/// Example: `auto found = free_directions(fields(net), [&] { return mean(exp(net(y))); })`
std::vector<FreeDirection> free_directions(const Fields& net, const std::function<Tensor()>& loss);
/// Also finds directions of the batch, as of a parameter of this name: a shift of all cases, a
/// factor of each. Its values are those given, also where weights have other signs.
///   batch: any shape   loss: of the net on it
std::vector<FreeDirection> free_directions(const Fields& net, const Tensor& batch,
                                           const std::function<Tensor(const Tensor&)>& loss);

/// Throws Error with the free directions of the parameters, if there are any, and whatever
/// `free_directions` throws.
/// Example: `Norm n("rms", 6); expect_no_free_directions(fields(n), [&] { return sum(n(y)); })`
void expect_no_free_directions(const Fields& net, const std::function<Tensor()>& loss);

/// In a sentence.
std::string to_string(const FreeDirection& direction);

}  // namespace tapegrad::TAPEGRAD_SCALAR
