#pragma once

#include "tapegrad/core/parameter.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Over what an optimizer takes means out of gradients or weights:
///
///     inputs     P W = W - mean of W over the inputs, for each output
///     outputs    W P = W - mean of W over the outputs, for each input     P = I - 1 1^T / n
///
/// The shape shows which axes are inputs, by the convention of the layers:
///
///     (in, out)                 Linear, attention, recurrent weights (all gates together)
///     (count, channels)         embeddings: the channels are the outputs
///     (out, in, ...)            Conv1d and Conv2d: the places of a filter are inputs as well
///     one axis longer than 1    vectors, such as biases: a value for each output, no inputs
///
/// The filters of ConvTranspose2d are (in, out, height, width), and with groups the outputs of a
/// convolution have different inputs: center the outputs of neither.
///
/// `inputs` is gradient centralization (Yong et al. 2020, eq. 1 to 3) and the centering in centered
/// weight normalization (Huang et al. 2017). `outputs` is the common mode of what a layer writes. A
/// norm over features subtracts it, so the loss is flat along it, and the gradient has no part of
/// it. A detached mean (`NormOptions::detach_mean`) lets one through, and the weights drift.
/// Example: `Adam(parameters(net), {.center_gradients = Centering::outputs})`
enum class Centering { none, inputs, outputs };

/// The tensor without its means; a mean over one element stays. Results do not depend on the number
/// of threads.
/// Example: `sum(centered(x, Centering::outputs), -1)`
Tensor centered(const Tensor& x, Centering over);
/// Centers a parameter in place.
/// Example: `Linear layer(6, 8, random); center(layer.weight, Centering::inputs)`
void center(Parameter& parameter, Centering over);

/// Whether at most one axis is longer than 1, as of biases and gains, and of the weight of one
/// output. Optimizers center none of them, since without its mean a gain of 1 would be 0; nor do
/// `AdamWOptions::matrices_only` and `Muon` take them for matrices.
/// Example: `is_vector({8, 1, 1})`
bool is_vector(const Shape& shape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
