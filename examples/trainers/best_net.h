#pragma once

#include <string>
#include <vector>

#include "tapegrad/nn/files/checkpoint.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The field under which checkpoints keep the net of the best epoch so far.
constexpr const char* best_field = "best";

/// Gives a net the weights of another of the same shape.
template <class Net>
void copy_weights(const Net& from, const Net& to) {
  const std::vector<Parameter> all = parameters(from);
  std::vector<Parameter> copies = parameters(to);
  for (std::size_t i = 0; i < all.size(); ++i) copies[i].set(all[i].value());
}

/// Loads the best net of a checkpoint. `last`, of the same shape, takes the weights of its last
/// step. Throws DataError for other files.
template <class Net>
void load_best(const std::string& checkpoint, const Net& last, const Net& best) {
  Checkpoint saved{.net = fields(last)};
  saved.carried(best_field, best);
  load_checkpoint(checkpoint, saved);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
