#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct PyTorchOptions {
  /// Prefixes of the net's names, and their replacements in PyTorch's names: {"hidden", "fc1"},
  /// {"", "model"}. A prefix consists of whole parts between dots; the longest match wins.
  std::map<std::string, std::string> names = {};
  /// Ignore tensors of the file that the net does not have.
  bool allow_unexpected = false;
};

/// The tensors of a net in the form of its PyTorch counterpart's state_dict. A layer whose tensors
/// have other names or layouts in PyTorch describes them once, for loading and saving:
///
///     void Linear::pytorch(PyTorchState& state) const {
///       state.transposed("weight", weight);
///       state("bias", bias);
///     }
///
/// A walk then calls it instead of `visit`.
/// Example: `PyTorchState state; state.add(net); state.save("net.safetensors", {})`
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
  /// A field that PyTorch has under this name: an unchanged parameter or buffer, or a module.
  template <class Field>
  void operator()(const char* name, const Field& field) {
    walk_(name, field);
  }
  /// Modules under their numbers alone, as in nn.Sequential.
  template <class Module>
  void numbered(const std::vector<Module>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) walk_(std::to_string(i).c_str(), list[i]);
  }
  /// A parameter that PyTorch stores transposed. Does nothing if it is undefined.
  void transposed(const std::string& name, Parameter parameter);
  /// A parameter or buffer that has another shape in PyTorch. Does nothing if it is undefined.
  template <class Slot>
  void reshaped(const std::string& name, Slot slot, const Shape& shape) {
    if (!slot.value().defined()) return;
    const auto load = [slot](const Tensor& loaded) mutable {
      slot.set(loaded.view(slot.value().shape()));
    };
    tensor(name, slot.value().view(shape), load, slot.identity());
  }
  /// Any other tensor: its value in PyTorch, and what loading does with a tensor of the same shape.
  /// Tensors are loaded in the order they were added. Loading refuses different values for one
  /// `slot` (the identity of the parameter, if the tensor is one).
  void tensor(const std::string& name, const Tensor& value, Load load, const void* slot = nullptr);
  /// A tensor of PyTorch that this library does not need: loading skips it, saving omits it.
  void skipped(const std::string& name);
  /// Throws Error: PyTorch has nothing like `what`.
  [[noreturn]] void no_counterpart(const std::string& what) const;

  /// Implement `load_pytorch` and `save_pytorch`.
  void load(const std::filesystem::path& path, const PyTorchOptions& options) const;
  void save(const std::filesystem::path& path, const PyTorchOptions& options) const;

 private:
  struct Entry {
    std::string name;
    Tensor value;
    Load load;
    const void* slot;
  };
  /// The entries by their names under these options.
  std::map<std::string, const Entry*> named(const PyTorchOptions& options) const;

  Fields walk_;
  std::vector<Entry> entries_;
  std::vector<std::string> skipped_;
};

/// Sets parameters and buffers from a state_dict saved in PyTorch by
/// `safetensors.torch.save_file(net.state_dict(), path)`. Layers use the names and layouts of their
/// counterparts, such as weight (out, in) of nn.Linear; fields of structs keep their names from
/// `visit`. Layers without a counterpart also keep theirs, or are refused with an Error. Throws
/// DataError, naming file and tensors, for tensors that are missing, unexpected or of other shapes;
/// nothing has changed then.
/// Example: `load_pytorch(net, "mlp.safetensors")`
template <class Module>
void load_pytorch(const Module& net, const std::filesystem::path& path,
                  const PyTorchOptions& options = {}) {
  PyTorchState state;
  state.add(net);
  state.load(path, options);
}

/// Writes a file that PyTorch loads with
/// `net.load_state_dict(safetensors.torch.load_file(path))`. Throws Error as `load_pytorch` does,
/// and DataError if the file cannot be written.
/// Example: `save_pytorch("mlp.safetensors", net, {.names = {{"", "model"}}})`
template <class Module>
void save_pytorch(const std::filesystem::path& path, const Module& net,
                  const PyTorchOptions& options = {}) {
  PyTorchState state;
  state.add(net);
  state.save(path, options);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
