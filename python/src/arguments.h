#pragma once

#include <nanobind/nanobind.h>
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
void bind_layers(nb::module_& module);
void bind_functions_0(nb::module_& module);  // generated, as are the next two
void bind_functions_1(nb::module_& module);
void bind_optimizers(nb::module_& module);

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
