#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct PyTorchOptions {
  /// Prefixes of the net's names, and what stands in PyTorch's in their place: {"hidden", "fc1"},
  /// {"", "model"}. Whole parts between dots; the longest that fits counts.
  std::map<std::string, std::string> names = {};
  /// Leave out tensors of the file that the net does not have.
  bool allow_unexpected = false;
};

/// The tensors of a net as the state_dict of its counterpart in PyTorch has them. A layer whose
/// tensors have other names or layouts there describes them once, for loading and saving:
///
///     void Linear::pytorch(PyTorchState& state) const {
///       state.transposed("weight", weight);
///       state("bias", bias);
///     }
///
/// and a walk takes this in the place of `visit`.
class PyTorchState {
 public:
  using Load = std::function<void(const Tensor&)>;

  PyTorchState() { walk_.pytorch_ = this; }
  PyTorchState(const PyTorchState&) = delete;  // the walk refers to it
  PyTorchState& operator=(const PyTorchState&) = delete;

  /// Adds all tensors of a module.
  template <class Module>
  void add(const Module& module) {
    walk_.walk(module);
  }
  /// A field that PyTorch has under this name: a parameter or buffer as it is, or a module.
  template <class Field>
  void operator()(const char* name, const Field& field) {
    walk_(name, field);
  }
  /// Modules under their numbers alone, as in nn.Sequential.
  template <class Module>
  void numbered(const std::vector<Module>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) walk_(std::to_string(i).c_str(), list[i]);
  }
  /// A parameter that PyTorch keeps transposed. Nothing if it is undefined.
  void transposed(const std::string& name, Parameter parameter);
  /// A parameter or buffer that has another shape in PyTorch. Nothing if it is undefined.
  template <class Slot>
  void reshaped(const std::string& name, Slot slot, const Shape& shape) {
    if (!slot.value().defined()) return;
    const auto load = [slot](const Tensor& loaded) mutable {
      slot.set(loaded.view(slot.value().shape()));
    };
    tensor(name, slot.value().view(shape), load, slot.identity());
  }
  /// Any other: its value in PyTorch, and what loading does with one of the same shape. Loading
  /// goes through tensors in the order in which they were added, and refuses different values for
  /// one `slot` (the identity of a parameter, if the tensor is one).
  void tensor(const std::string& name, const Tensor& value, Load load, const void* slot = nullptr);
  /// A tensor of PyTorch's that this library does without: loading skips it, saving leaves it out.
  void skipped(const std::string& name);
  /// Throws Error: PyTorch has nothing like `what`.
  [[noreturn]] void no_counterpart(const std::string& what) const;

  /// What `load_pytorch` and `save_pytorch` do.
  void load(const std::filesystem::path& path, const PyTorchOptions& options) const;
  void save(const std::filesystem::path& path, const PyTorchOptions& options) const;

 private:
  struct Entry {
    std::string name;
    Tensor value;
    Load load;
    const void* slot;
  };
  /// The entries under the names that the options give them.
  std::map<std::string, const Entry*> named(const PyTorchOptions& options) const;

  Fields walk_;
  std::vector<Entry> entries_;
  std::vector<std::string> skipped_;
};

/// Sets parameters and buffers from a state_dict that PyTorch's users have written with
/// `safetensors.torch.save_file(net.state_dict(), path)`. Layers take the names and layouts of
/// their counterparts, weight (out, in) of nn.Linear and so on; fields of structs keep the names
/// that `visit` gives them. Layers without a counterpart keep theirs too, or are refused. Throws
/// Error for these, and DataError, naming file and tensors, for tensors that are missing, of other
/// shapes or not expected; nothing has changed then.
template <class Module>
void load_pytorch(const Module& net, const std::filesystem::path& path,
                  const PyTorchOptions& options = {}) {
  PyTorchState state;
  state.add(net);
  state.load(path, options);
}

/// Writes a file that PyTorch loads with
/// `net.load_state_dict(safetensors.torch.load_file(path))`. Throws Error as `load_pytorch` does,
/// and DataError when it cannot be written.
template <class Module>
void save_pytorch(const std::filesystem::path& path, const Module& net,
                  const PyTorchOptions& options = {}) {
  PyTorchState state;
  state.add(net);
  state.save(path, options);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
