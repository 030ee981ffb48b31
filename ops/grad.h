#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct GradOptions {
  Tensor seed = {};   ///< the gradient of y, of y's shape; ones for a scalar y if undefined
  bool keep = false;  ///< keep the rules for another sweep
  /// Record the sweep on the tape, for derivatives of gradients. It keeps the rules as well.
  bool record = false;
  /// An x that y does not depend on gets zeros; if false, an undefined tensor, for which the step
  /// of an optimizer leaves the parameter as it is.
  bool zeros = true;
  /// Called with the position of each x and its gradient as soon as that gradient is final, while
  /// the sweep goes on: those used last come first, those that y does not depend on at the end. The
  /// order depends on the tape alone.
  std::function<void(std::size_t position, const Tensor& gradient)> ready = {};
};

/// The gradients of y with respect to each x. One reverse sweep over the active tape visits only
/// the nodes between some x and y. The rules of an x that depends on no other x stay for a later
/// sweep that continues from it with `seed`. An x that y does not depend on gets zeros, unless the
/// options say otherwise.
///   y: any shape if seeded, otherwise one element   xs: leaves or nodes of the tape
/// Throws TapeError without a tape, for a y or x that is not on it, and for nodes whose rules an
/// earlier sweep used up; ShapeError for a missing seed or one of another shape.
/// Example: `const Tensor slope = grad(sum(tanh(x)), x, {.record = true})`
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs,
                         const GradOptions& options = {}, Place place = Place::here());
Tensor grad(const Tensor& y, const Tensor& x, const GradOptions& options = {},
            Place place = Place::here());
/// y does not depend on a parameter that this tape has not used.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Parameter>& xs,
                         const GradOptions& options = {}, Place place = Place::here());

/// Called with a value in the forward pass and with its gradient in the backward pass.
/// Example: `const Observer seen{.gradient = [](const Tensor& g) { fmt::print("{}\n", g); }}`
struct Observer {
  std::function<void(const Tensor&)> value = {};
  std::function<void(const Tensor&)> gradient = {};
};
/// x itself. `observer` sees x now and its gradient in every sweep, and changes neither.
/// Example: `probe(x, {.gradient = [](const Tensor& g) { fmt::print("{}\n", sum(g).item()); }})`
Tensor probe(const Tensor& x, Observer observer, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
