#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

class PyTorchState;  // nn/pytorch.h

/// Example: `for (const NamedParameter& p : fields(net).parameters()) fmt::print("{}\n", p.name)`
struct NamedParameter {
  std::string name;
  Parameter parameter;
};
/// Example: `for (const NamedNorm& one : fields(net).norms()) fmt::print("{}\n", one.name)`
struct NamedNorm {
  std::string name;
  const void* identity;  ///< `Norm::identity`
};
/// Example: `for (const NamedBuffer& one : fields(net).buffers()) fmt::print("{}\n", one.name)`
struct NamedBuffer {
  std::string name;
  Buffer buffer;
};
/// A slot that was found again, such as a parameter of a layer and of its copy.
/// Example: `for (const SharedSlot& one : fields(net).shared()) fmt::print("{}\n", one.name)`
struct SharedSlot {
  std::string name, first;  ///< its other name, and the one under which it counts
};

/// Collects what a module holds. A module is any struct with
///
///     void visit(Fields& field) const { field("weight", weight); field("hidden", hidden); }
///
/// Fields are parameters, buffers, modules, and vectors and optionals of these; other types, such
/// as a Tensor, do not compile. Names are joined with dots ("layers.0.weight"). A slot found twice
/// counts once, under its first name, and is `shared`. Throws Error for two slots, or two norms, of
/// one name: a checkpoint could hold only one of them.
/// Example: `const Fields found = fields(net); found.parameters().size()`
class Fields {
 public:
  void operator()(const char* name, const Parameter& parameter);
  void operator()(const char* name, const Buffer& buffer);
  template <class Module>
  void operator()(const char* name, const Module& module) {
    constexpr bool is_tensor = std::is_same_v<Module, Tensor>;
    static_assert(!is_tensor,
                  "a Tensor is not a field: make it a Parameter, which is trained and saved, or a "
                  "Buffer, which is saved");
    static_assert(
        is_tensor || requires { module.visit(*this); },
        "this is not a field, as it has no `void visit(Fields&) const`; leave out numbers and "
        "texts, which are neither trained nor saved");
    const std::string outer = enter(name);
    walk(module);
    prefix_ = outer;
  }
  template <class T>
  void operator()(const char* name, const std::vector<T>& list) {
    const std::string outer = enter(name);
    for (std::size_t i = 0; i < list.size(); ++i) (*this)(std::to_string(i).c_str(), list[i]);
    prefix_ = outer;
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& field) {
    if (field) (*this)(name, *field);
  }

  /// Visits a module under the current prefix: calls its `visit`, or for PyTorch its `pytorch`.
  template <class Module>
  void walk(const Module& module) {
    if constexpr (requires(PyTorchState & state) { module.pytorch(state); })
      if (pytorch_ != nullptr) return module.pytorch(*pytorch_);
    module.visit(*this);
  }
  /// Called by the `visit` of a normalization, which may have neither parameters nor buffers.
  void norm(const void* identity);

  // A temporary returns values, so that `for (... : fields(net).parameters())` is safe.
  const std::vector<NamedParameter>& parameters() const& { return parameters_; }
  std::vector<NamedParameter> parameters() && { return std::move(parameters_); }
  const std::vector<NamedBuffer>& buffers() const& { return buffers_; }
  std::vector<NamedBuffer> buffers() && { return std::move(buffers_); }
  const std::vector<NamedNorm>& norms() const& { return norms_; }
  std::vector<NamedNorm> norms() && { return std::move(norms_); }
  const std::vector<SharedSlot>& shared() const& { return shared_; }
  std::vector<SharedSlot> shared() && { return std::move(shared_); }

 private:
  template <class Module>
  friend Module clone(const Module& module);
  friend class PyTorchState;

  /// Appends `name` to the prefix; returns the old prefix.
  std::string enter(const char* name);
  struct Claim {
    const void* identity;
    const char* kind;
    Shape shape;
  };
  /// Reserves a name for a slot. Throws Error if another slot has it.
  void claim(const std::string& name, const Claim& claim);

  std::string prefix_;
  bool cloning_ = false;
  PyTorchState* pytorch_ = nullptr;                  // receives the fields in a walk for PyTorch
  std::map<std::string, Claim> claims_;              // names of parameters and buffers
  std::map<std::string, const void*> norm_claims_;   // names of norms
  std::unordered_map<const void*, Parameter> seen_;  // in a clone: each slot's own copy
  std::unordered_map<const void*, Buffer> seen_buffers_;
  std::vector<NamedParameter> parameters_;
  std::vector<NamedBuffer> buffers_;
  std::vector<NamedNorm> norms_;
  std::vector<SharedSlot> shared_;
};

/// Example: `fields(net).parameters()`
template <class Module>
Fields fields(const Module& module) {
  Fields found;
  module.visit(found);
  return found;
}

/// The parameters among these fields, each once, in order. Names the unnamed ones by their path
/// ("hidden.weight").
/// Example: `Adam(parameters(net)).step(grad(sum(net(x)), parameters(net)))`
std::vector<Parameter> parameters(const Fields& found);
/// The parameters of a module.
template <class Module>
std::vector<Parameter> parameters(const Module& module) {
  return parameters(fields(module));
}
/// The parameters whose names ("hidden.weight") are `chosen`, to train them and freeze the others.
/// Throws ArgumentError if there are none, or `chosen` is empty.
/// Example: `parameters(net, [](const std::string& name) { return name.ends_with("weight"); })`
std::vector<Parameter> parameters(const Fields& found,
                                  const std::function<bool(const std::string& name)>& chosen);
template <class Module>
std::vector<Parameter> parameters(const Module& module,
                                  const std::function<bool(const std::string& name)>& chosen) {
  return parameters(fields(module), chosen);
}

/// Throws Error if a tape has used parameters that are not among these fields: they would be
/// neither trained nor saved. The message names them and where they are first read.
///
///     const Tape tape;
///     loss(net(x));
///     expect_listed(tape, fields(net));
/// Example: `net(x); expect_listed(tape, fields(net))`
void expect_listed(const Tape& tape, const Fields& found);

/// The names of those parameters among these fields on which y, recorded on the tape, does not
/// depend, so that `grad` returns zeros for them: of a layer that was not used, or was used under
/// NoGrad or before `detach`.
/// Example: `unreached(tape, sum(net(x)), fields(net)).empty()`
std::vector<std::string> unreached(const Tape& tape, const Tensor& y, const Fields& found);

/// The number of trainable values among these fields.
/// Example: `fmt::print("{} parameters\n", parameter_count(net))`
Index parameter_count(const Fields& found);
/// The number for a module.
template <class Module>
Index parameter_count(const Module& module) {
  return parameter_count(fields(module));
}

/// A copy with its own parameters and buffers. Slots shared within the module are shared within the
/// copy. (A plain copy of a module shares its parameters.)
/// Example: `const Mlp before = clone(net)`
template <class Module>
Module clone(const Module& module) {
  fields(module);  // refuses two fields of one name
  Module copy = module;
  Fields walk;
  walk.cloning_ = true;
  copy.visit(walk);
  return copy;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
