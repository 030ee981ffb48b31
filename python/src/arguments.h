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

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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

/// A function of Python as one of the library, such as a `Function`, whose tensors it gets one by
/// one. It can be called, copied and destroyed while others run Python. Errors of Python pass
/// through. Throws ArgumentError for a result of another type.
template <class Called>
Called callback(const nb::callable& f) {
  using Result = typename Called::result_type;
  const std::shared_ptr<nb::callable> shared(new nb::callable(f), [](const nb::callable* held) {
    const nb::gil_scoped_acquire acquired;
    delete held;
  });
  return [shared](const auto&... inputs) {
    const nb::gil_scoped_acquire acquired;
    nb::object found;
    if constexpr (std::is_same_v<Called, Function>)
      found = (*shared)(*nb::cast(inputs)...);
    else
      found = (*shared)(inputs...);
    if constexpr (!std::is_void_v<Result>) {
      Result result;
      if (!nb::try_cast(found, result))
        fail<ArgumentError>("callback: it must return a {}: {}",
                            std::is_same_v<Result, bool> ? "bool" : "Tensor",
                            nb::repr(found.type()).c_str());
      return result;
    }
  };
}
/// An empty function for None.
template <class Called>
Called callback(const std::optional<nb::callable>& f) {
  return f ? callback<Called>(*f) : Called();
}

/// A list that a function of the library changes, as a vector. Afterwards its objects have the
/// vector's elements, and it has new objects for those that were appended.
template <class Element>
class ChangedList {
 public:
  /// Throws ArgumentError for a list of other objects.
  explicit ChangedList(const std::optional<nb::list>& list) : list_(list) {
    if (list && !nb::try_cast(*list, elements_))
      fail<ArgumentError>("list: its elements must be of type {}: {}",
                          nb::cast<std::string>(nb::type<Element>().attr("__name__")),
                          nb::repr(*list).c_str());
  }
  ChangedList(const ChangedList&) = delete;
  ChangedList& operator=(const ChangedList&) = delete;
  ~ChangedList() {
    const std::size_t before = list_ ? nb::len(*list_) : 0;
    for (std::size_t i = 0; i < elements_.size(); ++i)
      if (i < before)
        nb::cast<Element&>((*list_)[i]) = elements_[i];
      else
        list_->append(nb::cast(elements_[i]));
  }
  operator std::vector<Element>*() { return list_ ? &elements_ : nullptr; }

 private:
  std::optional<nb::list> list_;
  std::vector<Element> elements_;
};

/// How the library sees a layer of Python.
struct Seen {
  void (*visit)(Fields& field, nb::handle layer);
  Layer (*copy)(nb::handle layer);  ///< with the same parameters; null if it is no `Layer`
};
/// For each class of layers.
std::map<PyObject*, Seen>& layer_classes();

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
template <class Module>
nb::class_<Module> bind_layer(nb::module_& module, const char* name, const char* documented) {
  nb::class_<Module> bound(module, name, documented);
  Seen& seen = layer_classes()[bound.ptr()];
  if constexpr (requires(const Module& layer, Fields& field) { layer.visit(field); }) {
    seen.visit = [](Fields& field, nb::handle layer) {
      field.walk(nb::cast<const Module&>(layer));
    };
    bound
        .def(
            "parameters", [](const Module& layer) { return parameters(layer); },
            "All of them, each once.")
        .def(
            "fields", [](const Module& layer) { return named_parameters(fields(layer)); },
            "The parameters by their names, such as 'norm.gain'.");
  }
  if constexpr (std::is_invocable_r_v<Tensor, const Module&, const Tensor&>)
    seen.copy = [](nb::handle layer) { return Layer(nb::cast<const Module&>(layer)); };
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
