#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/random.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/net_state.h"
#include "tapegrad/nn/optimizers/ema.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/nn/optimizers/schedule.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a training run needs to resume as if it had never stopped.
/// Example: `Checkpoint checkpoint{.net = fields(net), .random = {{"dropout", &random}}}`
struct Checkpoint {
  Fields net;                      ///< fields(net)
  Optimizer* optimizer = nullptr;  ///< with its moments, learning rate and number of steps
  std::map<std::string, Random*> random = {};     ///< streams of random numbers, by name
  std::map<std::string, std::string> notes = {};  ///< anything else the program wants to keep
  Ema* ema = nullptr;                             ///< with its averages
  Plateau* plateau = nullptr;                     ///< with its learning rate and its best measure
  Fields carried = {};  ///< what else the run carries from step to step, which is not of the net
  NetState* best = nullptr;  ///< what those who take the net alone get, such as its best weights
};

/// Writes one safetensors file: parameters and buffers under their names, moments as
/// "optimizer.mean.hidden.weight", averages as "ema.hidden.weight", what is carried as
/// "carried.memory", the rest as metadata. With `best`, its values have the names of the net, and
/// those with which the run goes on are "resume.hidden.weight". Throws DataError if it cannot be
/// written, Error for two tensors of one name, and NonFiniteError for a tensor with a NaN or an
/// infinity, which no run could resume; the old file is then kept.
/// Example: `save_checkpoint("net.checkpoint", {.net = fields(net), .notes = {{"epoch", "3"}}})`
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Restores what `checkpoint` names from a file written by `save_checkpoint`, and fills `notes`.
/// Ignores moments if there is no optimizer, averages if there is no Ema, what was carried if
/// nothing is, streams of random numbers that are not named, and values with which a run goes on
/// if there is neither `best` nor an optimizer: `{.net = fields(net)}` takes the net alone. The net
/// and the optimizer must use every tensor that the file has for them. Throws DataError for other
/// files and, naming file and tensor, if something is missing, left over, not finite or does not
/// fit; nothing has changed then. Both throw ArgumentError if the optimizer or the Ema has
/// parameters that the net does not, and if `best` is the state of another net.
/// Example: `Checkpoint saved{.net = fields(net)}; load_checkpoint("saved.checkpoint", saved)`
void load_checkpoint(const std::filesystem::path& path, Checkpoint& checkpoint);

/// What `load_fitting` could not restore, by its name in the file.
/// Example: `const Unfit unfit; unfit.missing.empty()`
struct Unfit {
  std::vector<std::string>
      missing;                      ///< not in the file, or of another shape: they stay as they are
  std::vector<std::string> unused;  ///< in the file, but of no use here
};

/// Restores what fits, as into another net or with another optimizer; what does not stays as it is.
/// An optimizer with moments of which the file has none begins at its step 0. Throws DataError for
/// other and for damaged files; nothing has changed then.
/// Example: `Checkpoint s{.net = fields(net)}; load_fitting("saved.checkpoint", s).missing`
Unfit load_fitting(const std::filesystem::path& path, Checkpoint& checkpoint);

/// Only the notes, without a net. Throws DataError for other files, as `load_checkpoint` does.
/// Example: `checkpoint_notes("saved.checkpoint").at("epoch")`
std::map<std::string, std::string> checkpoint_notes(const std::filesystem::path& path);

/// Whether `save_checkpoint` wrote the file.
/// Example: `is_checkpoint(load_tensors("saved.checkpoint"))`
bool is_checkpoint(const TensorFile& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR
