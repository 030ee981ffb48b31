#include <fmt/format.h>
#include <nanobind/ndarray.h>

#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {
namespace {

using Array = nb::ndarray<nb::ro>;

nb::tuple tuple_of(const Shape& shape) {
  return nb::tuple(nb::cast(std::vector<Index>(shape.begin(), shape.end())));
}

/// Copies the elements of an array of numbers of type From in row-major order, whatever its
/// strides.
template <class From, class To>
void copy(const Array& array, To* out) {
  const From* const first = static_cast<const From*>(array.data());
  std::vector<std::int64_t> position(array.ndim());
  std::int64_t at = 0;
  for (std::size_t done = 0; done < array.size(); ++done) {
    out[done] = static_cast<To>(first[at]);
    for (std::size_t axis = array.ndim(); axis-- > 0;) {
      at += array.stride(axis);
      if (++position[axis] < static_cast<std::int64_t>(array.shape(axis))) break;
      at -= array.stride(axis) * position[axis];
      position[axis] = 0;
    }
  }
}

/// The types of elements that are copied to To; all are rounded to it as C++ does.
template <class To>
bool copy_from_any(const Array& array, To* out) {
  const nb::dlpack::dtype type = array.dtype();
  const auto is = [&]<class From>(const From*) {
    if (type != nb::dtype<From>()) return false;
    copy<From>(array, out);
    return true;
  };
  const auto among = [&]<class... From>(const std::tuple<From...>*) {
    return (is(static_cast<const From*>(nullptr)) || ...);
  };
  using Whole = std::tuple<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                           std::uint8_t, std::uint16_t, std::uint32_t>;
  if (among(static_cast<const Whole*>(nullptr))) return true;
  return std::is_floating_point_v<To> &&
         among(static_cast<const std::tuple<float, double, std::uint64_t>*>(nullptr));
}

/// Why an object does not export its elements, in its own words; "" if it does not know.
std::string reason_of(const nb::object& given) {
  try {
    if (nb::hasattr(given, "__dlpack__")) given.attr("__dlpack__")();
  } catch (const nb::python_error& error) {
    return fmt::format(" ({})", nb::str(error.value()).c_str());
  }
  return "";
}

/// Any array of NumPy or DLPack on this device. Throws ArgumentError for anything else, naming
/// `function` and what it takes.
Array array_of(const char* function, const nb::object& given, const char* taken) {
  Array array;
  if (!nb::try_cast(given, array)) {
    PyErr_Clear();
    fail<ArgumentError>("{}: cannot read: {}{}; give {} with __dlpack__ or the buffer protocol",
                        function, nb::repr(given.type()).c_str(), reason_of(given), taken);
  }
  expect<ArgumentError>(
      array.device_type() == nb::device::cpu::value,
      "{}: the array is on another device: DLPack's number {}; copy it to the CPU first", function,
      array.device_type());
  return array;
}

Shape shape_in(const Array& array) {
  std::vector<Index> extents;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    extents.push_back(static_cast<Index>(array.shape(axis)));
  return shape_of(extents);
}

/// Throws ArgumentError, naming `function` and the type, unless `fits`.
void expect_elements(bool fits, const char* function, const Array& array, const char* remedy) {
  expect<ArgumentError>(fits, "{}: elements of another type: DLPack's code {} of {} bits; {}",
                        function, int{array.dtype().code}, int{array.dtype().bits}, remedy);
}

template <class Result>
Result copied(const char* type, const nb::object& given) {
  const PlaceScope caller(python_line());
  const bool is_list = nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given);
  const Array array =
      array_of(type, is_list ? nb::module_::import_("numpy").attr("asarray")(given) : given,
               "numbers, lists of numbers, or an array of them");
  Result result = Result::uninitialized(shape_in(array));
  expect_elements(copy_from_any(array, result.mutable_data()), type, array,
                  "convert them first, as with astype");
  return result;
}

/// Whether the elements lie one after another in row-major order.
bool is_contiguous(const Array& array) {
  std::int64_t next = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const auto extent = static_cast<std::int64_t>(array.shape(axis));
    if (extent != 1 && array.stride(axis) != next) return array.size() == 0;
    next *= extent;
  }
  return true;
}

Tensor from_dlpack(const nb::object& given) {
  const PlaceScope caller(python_line());
  expect<ArgumentError>(!nb::getattr(given, "requires_grad", nb::none()).is(Py_True),
                        "from_dlpack: the tensor of PyTorch requires a gradient, which would end "
                        "here; give x.detach()");
  Array array = array_of("from_dlpack", given, "an array of numbers");
  expect_elements(array.dtype() == nb::dtype<real>(), "from_dlpack", array, "copy them: Tensor(x)");
  const Shape shape = shape_in(array);
  expect<ArgumentError>(is_contiguous(array),
                        "from_dlpack: not contiguous in row-major order: {}; copy it: Tensor(x)",
                        shape);
  const auto* const values = static_cast<const real*>(array.data());
  return Tensor::sharing(shape, values, std::make_shared<Array>(std::move(array)));
}

/// The elements as an array that Python cannot write to. It shares them, and keeps them alive.
template <class Framework, class Owner>
auto shared(const Owner& owner) {
  using Element = std::remove_pointer_t<decltype(owner.data())>;
  expect_defined("array", owner);
  auto held = std::make_unique<Owner>(owner);
  std::vector<std::size_t> extents(owner.shape().begin(), owner.shape().end());
  const nb::capsule keeper(held.get(),
                           [](void* kept) noexcept { delete static_cast<Owner*>(kept); });
  const Element* const data = held.release()->data();
  return nb::cast(nb::ndarray<Framework, Element>(data, extents.size(), extents.data(), keeper));
}

/// What arrays of every kind have.
template <class Owner>
void bind_exchange(nb::class_<Owner>& bound, const char* type) {
  bound
      .def(
          "__init__",
          [type](Owner* self, const nb::object& values) {
            if constexpr (std::is_same_v<Owner, Tensor>) {
              if (nb::isinstance<nb::float_>(values) || nb::isinstance<nb::int_>(values)) {
                new (self) Tensor(nb::cast<double>(values));
                return;
              }
              if (nb::isinstance<Parameter>(values)) {
                new (self) Tensor(nb::cast<const Parameter&>(values));
                return;
              }
            }
            if (nb::isinstance<Owner>(values)) {
              new (self) Owner(nb::cast<const Owner&>(values));
            } else {
              new (self) Owner(copied<Owner>(type, values));
            }
          },
          "values"_a.none(),
          "A copy of numbers, lists of numbers, or an array of NumPy or any library with DLPack, "
          "of any\nstrides. Numbers of other types are rounded.")
      .def(nb::init<>(), documentation(std::string(type) + "::" + type))
      .def_prop_ro("shape", [](const Owner& x) { return tuple_of(x.shape()); })
      .def_prop_ro("size", &Owner::size, "The number of elements.")
      .def_prop_ro("defined", &Owner::defined)
      .def("__len__",
           [](const Owner& x) {
             if (x.shape().rank() == 0) throw nb::type_error("len() of a scalar");
             return x.shape()[0];
           })
      .def("numpy", &shared<nb::numpy, Owner>,
           "The elements as an array of NumPy, without a copy. It is read-only, and keeps them "
           "alive.")
      .def(
          "__array__",
          [](const Owner& x, const nb::object& dtype, const nb::object& copy) {
            const nb::object array = shared<nb::numpy>(x);
            if (!dtype.is_none()) return array.attr("astype")(dtype);
            return copy.is_none() || !nb::cast<bool>(copy) ? array : array.attr("copy")();
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack__",
           [](const Owner& x, const nb::kwargs& options) {
             return shared<nb::array_api>(x).attr("__dlpack__")(**options);
           })
      .def("__dlpack_device__",
           [](const Owner&) { return std::make_pair(int{nb::device::cpu::value}, 0); });
  bound.attr("__array_ufunc__") = nb::none();  // so that `array + x` asks this class
}

AxisIndex axis_index(const nb::handle& part) {
  if (part.is_none()) return new_axis;
  if (part.is(nb::ellipsis())) return ellipsis;
  const auto whole = [](const nb::handle& number) {
    Index result = 0;
    if (!nb::try_cast(number, result))
      fail<ArgumentError>("at: an index is a whole number, a slice, None or ...: {}",
                          nb::repr(number).c_str());
    return result;
  };
  if (!nb::isinstance<nb::slice>(part)) return whole(part);
  Slice slice;
  const nb::object begin = part.attr("start"), end = part.attr("stop"), step = part.attr("step");
  if (!begin.is_none()) slice.begin = whole(begin);
  if (!end.is_none()) slice.end = whole(end);
  if (!step.is_none()) slice.step = whole(step);
  return slice;
}

Tensor item_of(const Tensor& x, const nb::object& index) {
  const PlaceScope caller(python_line());
  std::vector<AxisIndex> parts;
  if (nb::isinstance<nb::tuple>(index)) {
    for (const nb::handle part : index) parts.push_back(axis_index(part));
  } else {
    parts.push_back(axis_index(index));
  }
  const Unlocked call;
  return at(x, parts);
}

using Binary = Tensor (*)(const Tensor&, const Tensor&, Place);

void bind_operators(nb::class_<Tensor>& tensor) {
  struct Operator {
    const char *name, *reversed;
    Binary apply;
  };
  const Binary product = [](const Tensor& a, const Tensor& b, Place place) {
    return matmul(a, b, {}, place);
  };
  const Operator operators[] = {{"__add__", "__radd__", add}, {"__sub__", "__rsub__", sub},
                                {"__mul__", "__rmul__", mul}, {"__truediv__", "__rtruediv__", div},
                                {"__pow__", "__rpow__", pow}, {"__matmul__", nullptr, product},
                                {"__lt__", nullptr, less},    {"__le__", nullptr, less_equal},
                                {"__gt__", nullptr, greater}, {"__ge__", nullptr, greater_equal}};
  for (const auto& [name, reversed, apply] : operators) {
    const Binary chosen = apply;
    const auto add = [&](const char* bound, const auto& call) {
      const std::string types =
          fmt::format("def {}(self, arg: Tensor | Parameter | float, /) -> Tensor", bound);
      tensor.def(bound, call, nb::call_guard<Unlocked>(), nb::is_operator(),
                 nb::sig(types.c_str()));
    };
    add(name, [chosen](const Tensor& a, const Tensor& b) { return chosen(a, b, Place::here()); });
    if (reversed != nullptr)
      add(reversed,
          [chosen](const Tensor& b, const Tensor& a) { return chosen(a, b, Place::here()); });
  }
  tensor.def(
      "__neg__", [](const Tensor& x) { return neg(x); }, nb::call_guard<Unlocked>());
  tensor.def(
      "__abs__", [](const Tensor& x) { return abs(x); }, nb::call_guard<Unlocked>());
}

}  // namespace

void bind_arrays(nb::module_& module) {
  nb::class_<Tensor> tensor(module, "Tensor", documentation("Tensor"));
  bind_exchange(tensor, "Tensor");
  bind_operators(tensor);
  tensor.def_prop_ro("rank", &Tensor::rank, "The number of axes.")
      .def(
          "item", [](const Tensor& x) { return x.item(); }, nb::call_guard<InPlace>(),
          documentation("Tensor::item"))
      .def("__float__", [](const Tensor& x) { return double{x.item(python_line())}; })
      .def("__bool__", [](const Tensor& x) { return x.item(python_line()) != 0; })
      .def("__iter__",
           [](const Tensor& x) {
             nb::list parts;
             for (Index i = 0; i < x.shape()[0]; ++i) parts.append(nb::cast(select(x, i)));
             return nb::iter(parts);
           })
      .def("__getitem__", &item_of, documentation("at"))
      .def("__repr__", [](const Tensor& x) { return to_string(x); });

  module.def("from_dlpack", &from_dlpack, "array"_a.none(),
             "A tensor that shares the elements of an array of NumPy or any library with DLPack, "
             "which it\nkeeps alive. They have the type of this module and lie on the CPU in "
             "row-major order. Whoever\nchanges them changes the tensor, and makes gradients of "
             "operations recorded before wrong.");

  nb::class_<Indices> indices(module, "Indices", documentation("Indices"));
  bind_exchange(indices, "Indices");
  indices.def(
      "reshape",
      [](const Indices& x, const std::vector<Index>& extents) {
        return x.reshape(extents_of(extents));
      },
      nb::call_guard<InPlace>(), "extents"_a, documentation("Indices::reshape"));

  nb::class_<Parameter>(module, "Parameter", documentation("Parameter"))
      .def(
          "__init__",
          [](Parameter* self, const Tensor& value, const std::string& name) {
            new (self) Parameter(value, name);
          },
          "value"_a, "name"_a = "")
      .def_prop_ro("value", &Parameter::value, documentation("Parameter::value"))
      .def_prop_ro("shape", [](const Parameter& x) { return tuple_of(x.shape()); })
      .def_prop_rw("name", &Parameter::name, &Parameter::set_name, documentation("Parameter::name"))
      .def("set", &Parameter::set, nb::call_guard<InPlace>(), "value"_a,
           documentation("Parameter::set"))
      .def("__repr__",
           [](const Parameter& x) { return "Parameter " + x.name() + " " + to_string(x.value()); });
  nb::implicitly_convertible<double, Tensor>();
  nb::implicitly_convertible<Parameter, Tensor>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
