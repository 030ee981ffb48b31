#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tapegrad/core/tape.h"

/// What the pictures of the course compute where a reader moves them. Each takes a request and
/// returns what is drawn; requests that make no sense throw `tapegrad::Error`.
namespace live {

using Json = nlohmann::ordered_json;

/// `as_json` without the lines of source, which no reader has written.
Json without_places(const tapegrad::Tape& tape);
/// What `explain` has found, without them.
std::string without_places(std::string explanation);

/// Layer normalization of one row, differentiated in its four forms.
///   x, g: the row and the gradient that arrives   epsilon   detach_mean, detach_scale: the form
/// whose tape is shown
/// Returns mean, deviation, z, forms (the gradient that leaves, in the order nothing, mean,
/// deviation, both detached), tape (as `as_json`).
Json row(const Json& request);

/// An expression in x and y, its derivatives and its tape.
///   text   x, y: where   second: also the second derivatives, by differentiating recorded sweeps
/// Returns value, dx, dy and, if asked, dxx, dxy, dyy; tape (as `as_json`). The error for a text
/// that cannot be read has the number of the character.
Json expression(const Json& request);

/// Gradients through a stack of layers of 32 channels, with 32 rows.
///   layers: 1 to 30   norm: by name   init: "he", "xavier", "orthogonal" or a standard deviation
///   in units of 1 / sqrt(inputs)   activation: relu, tanh, gelu or identity   residual: none, pre,
///   post
/// Returns states and gradients, the root mean square of each before the first layer, after it, and
/// so on.
Json depth(const Json& request);

/// The normalizations that rows of channels can have.
Json norms();

/// A linear layer before a layer normalization, as in docs/drift.md, that is trained step by step.
class Drift {
 public:
  ///   detach_mean   optimizer: sgd, momentum, adam or sign   rate   remedy: none, project, center,
  ///   penalty or clip
  explicit Drift(const Json& request);
  ~Drift();
  /// Takes this many steps.   Returns step, loss, ratio (|mu| / s, the mean over rows), c and V
  /// (the root mean squares of the common mode of the weights and of the rest)
  Json steps(int count);

 private:
  struct Training;
  std::unique_ptr<Training> training_;
};

}  // namespace live

/// The answer to a request of a page, which names what to "compute": row, expression, depth, norms,
/// playground (playground.h), or drift, whose first request begins a run and whose others, with
/// "steps" alone, continue it. {"error": why} if it makes no sense. Valid until the next call.
extern "C" const char* answer(const char* request);
