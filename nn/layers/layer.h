#pragma once

#include <concepts>
#include <memory>

#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Evaluation mode by default; training mode has random numbers for dropout.
/// Example: `net(x, Mode{&random})`
struct Mode {
  Random* random = nullptr;
  bool is_training() const { return random != nullptr; }
};
/// Example: `net(x, training(random))`
inline Mode training(Random& random) { return {&random}; }

/// Calls a module, with the mode if it accepts one. An operation such as `relu` is a module, too.
/// Example: `run(net, x, training(random))`
template <class Module>
Tensor run(const Module& module, const Tensor& x, Mode mode) {
  if constexpr (std::invocable<const Module&, const Tensor&, Mode>)
    return module(x, mode);
  else if constexpr (std::invocable<const Module&, const Tensor&>)
    return module(x);
  else
    return module(x, Place::here());
}

/// Any module or function from a tensor to a tensor, chosen at run time. Copies share parameters.
/// Example: `const std::vector<Layer> layers{Linear(6, 8, random), relu, Dropout(0.1)}`
class Layer {
 public:
  template <class Module>
  requires(!std::same_as<std::remove_cvref_t<Module>, Layer>) Layer(Module module)
      : held_(std::make_unique<Held<Module>>(std::move(module))) {}
  Layer(const Layer& other) : held_(other.held_->copy()) {}
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  /// Throws Error for a moved-from layer.
  Tensor operator()(const Tensor& x, Mode mode = {}, Place place = Place::here()) const {
    const PlaceScope caller(place);
    expect<Error>(held_ != nullptr, "layer: it has been moved from");
    return held_->call(x, mode);
  }
  void visit(Fields& field) const { held_->visit(field); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual Tensor call(const Tensor& x, Mode mode) const = 0;
    virtual void visit(Fields& field) const = 0;
    virtual std::unique_ptr<Any> copy() const = 0;
  };
  template <class Module>
  struct Held final : Any {
    Module module;
    explicit Held(Module m) : module(std::move(m)) {}
    Tensor call(const Tensor& x, Mode mode) const override { return run(module, x, mode); }
    void visit(Fields& field) const override {
      if constexpr (requires { module.visit(field); }) field.walk(module);
    }
    std::unique_ptr<Any> copy() const override { return std::make_unique<Held>(module); }
  };
  std::unique_ptr<Any> held_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
