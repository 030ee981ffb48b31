#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/files/safetensors.h"
#include "tapegrad/nn/optimizers/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a training run needs to go on as if it had never stopped.
struct Checkpoint {
  Fields net;                                     ///< fields(net)
  Optimizer* optimizer = nullptr;                 ///< with its moments, rate and number of steps
  std::map<std::string, Random*> random = {};     ///< streams of random numbers, by name
  std::map<std::string, std::string> notes = {};  ///< what else the program wants to find again
};

/// Writes parameters and buffers under their names, moments as "optimizer.mean.hidden.weight", the
/// rest as metadata, in one safetensors file. Throws DataError when it cannot be written, and Error
/// for two tensors of one name; what was there before is kept.
void save_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Restores what `checkpoint` names, from a file that `save_checkpoint` wrote; fills `notes`.
/// Without an optimizer its moments are left out, as are streams of random numbers that are not
/// named; the net and an optimizer take every tensor that the file has for them. Throws DataError
/// for other files and, naming file and tensor, when something is missing, left over or does not
/// fit; nothing has changed then. Both throw ArgumentError for an optimizer with parameters that
/// are not of the net.
void load_checkpoint(const std::filesystem::path& path, Checkpoint& checkpoint);

/// The notes alone, without a net. Throws DataError as `load_checkpoint` does for other files.
std::map<std::string, std::string> checkpoint_notes(const std::filesystem::path& path);

/// Whether `save_checkpoint` wrote the file.
bool is_checkpoint(const TensorFile& file);

}  // namespace tapegrad::TAPEGRAD_SCALAR
