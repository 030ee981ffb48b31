#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapegrad/nn/fields.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/json_fwd.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run_flags.h"

/// What programs do with the net of --resume when they do not go on with its training.
namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Makes a flag ask the net of --resume in place of training it.
Flag in_place_of_training(const Flag& flag);
/// Adds --query, which does so. Its text must not be blank.
void add_query_flag(Flags& flags, std::string& query, const std::string& description);

/// Gives a net the weights of the checkpoint: the best ones with --keep-best, averages with --ema.
/// Throws DataError.
void load_saved_net(const RunFlags& run, const OptimizerFlags& optimizer, const Fields& net);

/// The texts that a checkpoint notes; nothing for notes of another form.
std::optional<std::vector<std::string>> saved_texts(const Json& note);
/// The words of a vocabulary that a checkpoint notes; nothing if a word is there twice.
std::optional<std::vector<std::string>> saved_words(const Json& note);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
