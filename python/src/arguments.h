#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <tapegrad/tapegrad.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "scope.h"

namespace nb = nanobind;

namespace tapegrad::TAPEGRAD_SCALAR::python {

using namespace nb::literals;

/// The comment of the headers on a name ("Tensor") or on a member ("Tensor::item"). Throws
/// std::out_of_range, while the module is imported, for one that has none.
const char* documentation(std::string_view name);

/// The line of Python that is running; "" outside of Python.
Place python_line();

/// The call of a function that leaves its arguments alone: others may run Python meanwhile. Errors
/// and nodes show the line of Python.
class Unlocked {
  PlaceScope place_{python_line()};
  nb::gil_scoped_release release_;
};
/// The call of one that changes an argument. No other thread runs Python, which could use it.
class InPlace {
  PlaceScope place_{python_line()};
};

/// Functions of Python that get each input as an argument; errors of Python pass through.
Function of_several(const nb::callable& f);
std::function<Tensor(const Tensor&)> of_one(const nb::callable& f);
std::function<Tensor()> of_none(const nb::callable& f);

/// How the library visits a layer, for each class of layers in Python.
using Visit = void (*)(Fields& field, nb::handle layer);
std::map<PyObject*, Visit>& visits();

/// A net in Python as a module of the library: a layer, a list, tuple or dict of nets and
/// parameters, or any object that has such attributes. Everything else in it is no field.
struct Net {
  nb::handle object;
  const Net* outer = nullptr;  ///< the one that holds it, since objects may refer to each other

  void visit(Fields& field) const;
};
/// Throws ArgumentError for an object that holds no layer and no parameter.
Fields fields_of(const nb::handle& net);
/// The parameters by their names.
std::map<std::string, Parameter> named_parameters(const Fields& found);

/// A class of layers: its fields, by position and by name.
template <class Layer>
nb::class_<Layer> bind_layer(nb::module_& module, const char* name, const char* documented) {
  nb::class_<Layer> bound(module, name, documented);
  if constexpr (requires(const Layer& layer, Fields& field) { layer.visit(field); }) {
    visits()[bound.ptr()] = [](Fields& field, nb::handle layer) {
      field.walk(nb::cast<const Layer&>(layer));
    };
    bound
        .def(
            "parameters", [](const Layer& layer) { return parameters(layer); },
            "All of them, each once.")
        .def(
            "fields", [](const Layer& layer) { return named_parameters(fields(layer)); },
            "The parameters by their names, such as 'norm.gain'.");
  }
  return bound;
}

// What Python gives in place of types of the library.

/// No axes stand for all.
using AxesArgument = std::optional<std::variant<int, std::vector<int>>>;
using HeightWidthArgument = std::variant<Index, std::pair<Index, Index>>;

Axes axes_of(const AxesArgument& given);
HeightWidth height_width_of(const HeightWidthArgument& given);
Shape shape_of(const std::vector<Index>& given);
Extents extents_of(const std::vector<Index>& given);
std::vector<Padding> paddings_of(const std::vector<std::pair<Index, Index>>& given);

/// The position of `given` among the names of an enumeration's values. Throws ArgumentError.
int position_of_choice(const char* option, const std::string& given,
                       const std::vector<const char*>& names);
template <class Enumeration>
Enumeration choice(const char* option, const std::string& given,
                   const std::vector<const char*>& names) {
  return static_cast<Enumeration>(position_of_choice(option, given, names));
}

// The parts of the module.
void bind_errors(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_tape(nb::module_& module);
void bind_nets(nb::module_& module);
void bind_training(nb::module_& module);
void bind_inspect(nb::module_& module);
void bind_structs_0(nb::module_& module);  // generated, as are the next five
void bind_functions_0(nb::module_& module);
void bind_functions_1(nb::module_& module);
void bind_layers_0(nb::module_& module);
void bind_layers_1(nb::module_& module);
void bind_optimizers_0(nb::module_& module);

}  // namespace tapegrad::TAPEGRAD_SCALAR::python

namespace nanobind::detail {

/// The state of a recurrent layer is (h, c) in Python, with None in place of a c that a cell does
/// not have, or None for the initial state.
template <>
struct type_caster<tapegrad::RecurrentState> {
  using Tensor = tapegrad::Tensor;
  using Pair = std::pair<Tensor, std::optional<Tensor>>;
  NB_TYPE_CASTER(tapegrad::RecurrentState, make_caster<Pair>::Name)

  bool from_python(handle given, uint8_t, cleanup_list*) noexcept {
    Pair both;
    if (!given.is_none() && !try_cast(given, both)) return false;
    value = {both.first, both.second.value_or(Tensor())};
    return true;
  }
  static handle from_cpp(const tapegrad::RecurrentState& state, rv_policy, cleanup_list*) {
    return make_tuple(state.h, state.c.defined() ? cast(state.c) : none()).release();
  }
};

}  // namespace nanobind::detail
