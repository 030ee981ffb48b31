#pragma once

#include <functional>
#include <string>

#include "tapegrad/nn/data/text.h"
#include "trainers/char_flags.h"
#include "trainers/char_model.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Throws DataError, saying what is wrong, for a prompt that no sample can begin with.
void check_prompt(const CharFlags& flags, const Characters& characters);

/// A text of --sample characters that continues the prompt. Calls `write` with each new piece,
/// which returns whether to go on.
std::string sample(const CharFlags& flags, const CharModel& model, const Characters& characters,
                   const std::function<bool(const std::string&)>& write);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
