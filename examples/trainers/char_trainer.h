#pragma once

#include <functional>
#include <string>

#include "trainers/char_flags.h"
#include "trainers/char_model.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Trains a model, evaluates it on the last tenth of the text, and samples from it. Returns the
/// exit code of the program.
int run_char_model(CharFlags& flags, Flags& all, const std::string& name,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
