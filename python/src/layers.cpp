#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {
namespace {

/// A state of a recurrent layer in Python: h and c, which is None for a cell without one.
using State = std::pair<Tensor, std::optional<Tensor>>;

State state_of(const RecurrentState& state) {
  return {state.h, state.c.defined() ? std::optional(state.c) : std::nullopt};
}
RecurrentState state_from(const std::optional<State>& given) {
  if (!given) return {};
  return {given->first, given->second.value_or(Tensor())};
}

/// The bindings of a layer: its parameters, by position and by name.
template <class Layer>
nb::class_<Layer> bind_layer(nb::module_& module, const char* name) {
  return nb::class_<Layer>(module, name, documentation(name))
      .def(
          "parameters", [](const Layer& layer) { return parameters(layer); },
          "All of them, each once.")
      .def(
          "fields",
          [](const Layer& layer) {
            std::map<std::string, Parameter> result;
            for (const NamedParameter& field : tapegrad::fields(layer).parameters())
              result.emplace(field.name, field.parameter);
            return result;
          },
          "The parameters by their names, such as 'norm.gain'.");
}

void bind_random(nb::module_& module) {
  const nb::call_guard<InPlace> guard{};
  using Given = const std::vector<Index>&;
  nb::class_<Random>(module, "Random", documentation("Random"))
      .def(nb::init<std::uint64_t>(), "seed"_a)
      .def(
          "uniform",
          [](Random& random, Given shape, double low, double high) {
            return random.uniform(shape_of(shape), low, high);
          },
          guard, "shape"_a, "low"_a = 0.0, "high"_a = 1.0, documentation("Random::uniform"))
      .def(
          "normal",
          [](Random& random, Given shape, double mean, double deviation) {
            return random.normal(shape_of(shape), mean, deviation);
          },
          guard, "shape"_a, "mean"_a = 0.0, "deviation"_a = 1.0, documentation("Random::normal"))
      .def(
          "bernoulli",
          [](Random& random, Given shape, double probability) {
            return random.bernoulli(shape_of(shape), probability);
          },
          guard, "shape"_a, "probability"_a, documentation("Random::bernoulli"))
      .def("permutation", &Random::permutation, guard, "count"_a,
           documentation("Random::permutation"))
      .def("categorical", &Random::categorical, guard, "weights"_a,
           documentation("Random::categorical"));
}

void bind_norm(nb::module_& module) {
  bind_layer<Norm>(module, "Norm")
      .def(
          "__init__",
          [](Norm* self, const std::string& spec, Index channels, const std::string& where) {
            new (self) Norm(NormSpec(spec), channels,
                            choice<Channels>("where", where, {"features", "last", "second"}));
          },
          nb::call_guard<InPlace>(), "spec"_a, "channels"_a, "where"_a = "features",
          documentation("NormSpec"))
      .def(
          "__call__",
          [](const Norm& norm, const Tensor& x, Random* random) { return norm(x, Mode{random}); },
          nb::call_guard<InPlace>(), "x"_a, "random"_a = nb::none(),
          documentation("Norm::operator"))
      .def_prop_ro(
          "has_buffers", [](const Norm& norm) { return !norm.buffers.empty(); },
          "Whether it has running averages.")
      .def_ro("gain", &Norm::gain)
      .def_ro("bias", &Norm::bias);
}

void bind_linear(nb::module_& module) {
  bind_layer<Linear>(module, "Linear")
      .def(
          "__init__",
          [](Linear* self, Index in, Index out, Random& random, bool bias, bool weight_norm) {
            new (self) Linear(in, out, random, {.bias = bias, .weight_norm = weight_norm});
          },
          nb::call_guard<InPlace>(), "in_"_a, "out"_a, "random"_a, nb::kw_only(), "bias"_a = true,
          "weight_norm"_a = false)
      .def(
          "__call__", [](const Linear& layer, const Tensor& x) { return layer(x); },
          nb::call_guard<Unlocked>(), "x"_a)
      .def_ro("weight", &Linear::weight)
      .def_ro("bias", &Linear::bias)
      .def_ro("gain", &Linear::gain);
}

void bind_recurrent(nb::module_& module) {
  bind_layer<RecurrentLayer>(module, "RecurrentLayer")
      .def(
          "__init__",
          [](RecurrentLayer* self, const std::string& cell, Index in, Index hidden, Random& random,
             const std::string& norm, const std::string& placement, bool learned_state) {
            const auto where = choice<CellNormPlacement>("placement", placement,
                                                         {"paper", "cell", "sum", "per_gate"});
            new (self)
                RecurrentLayer(Cell::named(cell), in, hidden, random,
                               {.norm = norm, .placement = where, .learned_state = learned_state});
          },
          nb::call_guard<InPlace>(), "cell"_a, "in_"_a, "hidden"_a, "random"_a, nb::kw_only(),
          "norm"_a = "none", "placement"_a = "paper", "learned_state"_a = false,
          documentation("Cell"))
      .def(
          "first",
          [](const RecurrentLayer& layer, Index batch) { return state_of(layer.first(batch)); },
          nb::call_guard<Unlocked>(), "batch"_a, documentation("RecurrentLayer::first"))
      .def(
          "step",
          [](const RecurrentLayer& layer, const Tensor& x, const State& state, Random* random) {
            return state_of(layer.step(x, state_from(state), Mode{random}));
          },
          nb::call_guard<InPlace>(), "x"_a, "state"_a, "random"_a = nb::none(),
          documentation("RecurrentLayer::step"))
      .def(
          "__call__",
          [](const RecurrentLayer& layer, const Tensor& x, const std::optional<State>& state,
             const std::optional<Indices>& lengths, Random* random) {
            const RecurrentResult found =
                layer(x, state_from(state), lengths.value_or(Indices()), Mode{random});
            return std::make_pair(found.outputs, state_of(found.last));
          },
          nb::call_guard<InPlace>(), "x"_a, "state"_a = nb::none(), "lengths"_a = nb::none(),
          "random"_a = nb::none(), documentation("RecurrentLayer::operator"))
      .def_ro("weight", &RecurrentLayer::weight);
}

}  // namespace

void bind_layers(nb::module_& module) {
  bind_random(module);
  bind_norm(module);
  bind_linear(module);
  bind_recurrent(module);
  nb::class_<Optimizer>(module, "Optimizer", documentation("Optimizer"))
      .def("step", &Optimizer::step, nb::call_guard<InPlace>(), "gradients"_a,
           documentation("Optimizer::step"))
      .def("parameters", &Optimizer::parameters)
      .def_prop_rw("learning_rate", &Optimizer::learning_rate, &Optimizer::set_learning_rate,
                   documentation("Optimizer::set_learning_rate"))
      .def_prop_ro("steps", &Optimizer::steps);
  bind_optimizers(module);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
