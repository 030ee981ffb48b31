#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {

std::map<PyObject*, Seen>& layer_classes() {
  static std::map<PyObject*, Seen> known;
  return known;
}

namespace {

/// How the library sees a layer; not at all for other objects.
Seen seen(const nb::handle& object) {
  for (const auto& [type, found] : layer_classes())
    if (nb::isinstance(object, type)) return found;
  return {};
}

bool is_list(const nb::handle& object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

/// The dict of an object's attributes, or the object if it is a dict; None for one without
/// attributes, for a class and for a module.
nb::object entries_of(const nb::handle& object) {
  if (nb::isinstance<nb::dict>(object)) return nb::borrow(object);
  const bool holds_fields = !PyType_Check(object.ptr()) && !nb::isinstance<nb::module_>(object);
  return holds_fields ? nb::getattr(object, "__dict__", nb::none()) : nb::none();
}

}  // namespace

void Net::visit(Fields& field) const {
  if (const Seen known = seen(object); known.visit != nullptr) return known.visit(field, object);
  for (const Net* holder = outer; holder != nullptr; holder = holder->outer)
    if (holder->object.is(object)) return;
  const auto add = [&](const std::string& name, const nb::handle& value) {
    if (nb::isinstance<Parameter>(value))
      field(name.c_str(), nb::cast<const Parameter&>(value));
    else if (nb::isinstance<Buffer>(value))
      field(name.c_str(), nb::cast<const Buffer&>(value));
    else if (seen(value).visit != nullptr || is_list(value) ||
             nb::isinstance<nb::dict>(entries_of(value)))
      field(name.c_str(), Net{value, this});
  };
  if (is_list(object)) {
    std::size_t i = 0;
    for (const nb::handle value : object) add(std::to_string(i++), value);
  } else if (const nb::object entries = entries_of(object); nb::isinstance<nb::dict>(entries)) {
    for (const auto& [name, value] : nb::cast<nb::dict>(entries))
      if (nb::isinstance<nb::str>(name)) add(nb::cast<std::string>(name), value);
  }
}

Fields fields_of(const nb::handle& net) {
  Fields found = fields(Net{net});
  const bool is_empty = nb::hasattr(net, "__len__") && nb::len(net) == 0;
  if (found.parameters().empty() && seen(net).visit == nullptr && !is_empty)
    fail<ArgumentError>(
        "fields: no layer and no parameter in {}: give a layer, a list or dict of these, or an "
        "object that has some as attributes, all of this precision",
        nb::repr(net.type()).c_str());
  return found;
}

std::map<std::string, Parameter> named_parameters(const Fields& found) {
  std::map<std::string, Parameter> result;
  for (const NamedParameter& field : found.parameters())
    result.emplace(field.name, field.parameter);
  return result;
}

namespace {

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

/// A function or an object of Python as a layer, which gets the Random of a training step, too, if
/// it has an argument of that name.
struct PythonLayer {
  nb::callable object;
  bool takes_random;

  Tensor operator()(const Tensor& x, Mode mode) const {
    if (!takes_random) return callback<std::function<Tensor(const Tensor&)>>(object)(x);
    const nb::object random = nb::cast(mode.random, nb::rv_policy::reference);
    return callback<std::function<Tensor(const Tensor&, const nb::object&)>>(object)(x, random);
  }
  void visit(Fields& field) const { Net{object}.visit(field); }
};

/// Throws ArgumentError for what is neither a layer nor a function.
Layer layer_of(const nb::handle& given) {
  if (const Seen known = seen(given); known.copy != nullptr) return known.copy(given);
  expect<ArgumentError>(PyCallable_Check(given.ptr()) && seen(given).visit == nullptr,
                        "Sequential: no layer from a tensor to a tensor, and no function: {}",
                        nb::repr(given.type()).c_str());
  const nb::object takes_random = nb::module_::import_("tapegrad.steps").attr("takes_random");
  return PythonLayer{nb::borrow<nb::callable>(given), nb::cast<bool>(takes_random(given))};
}

void bind_sequential(nb::module_& module) {
  bind_layer<Sequential>(module, "Sequential", documentation("Sequential"))
      .def(
          "__init__",
          [](Sequential* self, const nb::args& layers) {
            std::vector<Layer> made;
            for (const nb::handle layer : layers) made.push_back(layer_of(layer));
            (new (self) Sequential())->layers = std::move(made);
          },
          nb::sig("def __init__(self, *layers) -> None"),
          "Layers share their parameters with those given. A function or an object of Python gets "
          "the tensor,\nand in training the Random, if it has an argument `random`.")
      .def(
          "__call__",
          [](const Sequential& self, const Tensor& x, Random* random) {
            return self(x, Mode{random});
          },
          nb::call_guard<InPlace>(), "x"_a, "random"_a = nb::none());
}

PyTorchOptions options_of(const std::map<std::string, std::string>& names, bool allow_unexpected) {
  return {.names = names, .allow_unexpected = allow_unexpected};
}

void bind_pytorch(nb::module_& module) {
  using Names = const std::map<std::string, std::string>&;
  const nb::handle here = module;
  module.def(
      "load_pytorch",
      [here](const nb::object& net, const nb::object& source, Names names, bool allow_unexpected) {
        const InPlace call;
        const PyTorchOptions options = options_of(names, allow_unexpected);
        if (!nb::hasattr(source, "state_dict"))
          return load_pytorch(Net{net}, nb::cast<std::filesystem::path>(source), options);
        const nb::object folder = nb::module_::import_("tempfile").attr("TemporaryDirectory")();
        const auto file = nb::cast<std::string>(folder.attr("name")) + "/net.safetensors";
        nb::module_::import_("tapegrad.torch").attr("save_state")(source, file, here);
        load_pytorch(Net{net}, file, options);
        folder.attr("cleanup")();
      },
      "net"_a, "source"_a, "names"_a = std::map<std::string, std::string>(),
      "allow_unexpected"_a = false, documentation("load_pytorch"));
  module.def(
      "save_pytorch",
      [](const std::filesystem::path& path, const nb::object& net, Names names) {
        save_pytorch(path, Net{net}, options_of(names, false));
      },
      nb::call_guard<InPlace>(), "path"_a, "net"_a,
      "names"_a = std::map<std::string, std::string>(), documentation("save_pytorch"));
}

}  // namespace

void bind_nets(nb::module_& module) {
  nb::class_<Buffer>(module, "Buffer", documentation("Buffer"))
      .def(nb::init<const Tensor&>(), "value"_a)
      .def_prop_ro("value", &Buffer::value)
      .def("set", &Buffer::set, nb::call_guard<InPlace>(), "value"_a, documentation("Buffer::set"));
  bind_random(module);
  bind_sequential(module);
  bind_pytorch(module);
  module.def(
      "fields", [](const nb::object& net) { return named_parameters(fields_of(net)); }, "net"_a,
      "The parameters of a net by their names, such as 'hidden.weight'. A net is a layer, a list, "
      "tuple or\ndict of nets, or any object with such attributes.");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
