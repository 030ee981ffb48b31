#pragma once

#include "tapegrad/nn/optimizers/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct MuonOptions {
  double learning_rate = 0.02;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0;  ///< times the learning rate: by how much a step shrinks the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step

  // AdamW of vectors (`is_vector`): gains and biases, of channels as well.
  double vector_factor = 0.015;  ///< their learning_rate_factor
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-10;
};
/// Steps along orthogonal matrices: five Newton-Schulz iterations bring the singular values of the
/// momentum near 1, unless they are tiny (Jordan et al. 2024, Muon). A matrix is (in, out); of a
/// kernel with more axes, the first are the outputs and the others together the inputs. The step is
/// multiplied by sqrt(max(1, out / in)). Vectors take AdamW's steps instead, as in the authors'
/// program, which also leaves embeddings and output layers to AdamW: give those an optimizer of
/// their own. Throws ArgumentError as `Optimizer` does.
/// Example: `Muon muon(parameters(net), {.learning_rate = 0.02})`
class Muon final : public Adam {
 public:
  explicit Muon(std::vector<Parameter> parameters, MuonOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  MuonOptions options_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
