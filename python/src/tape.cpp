#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {
namespace {

template <class Object>
nb::class_<Scope<Object>> bind_scope(nb::module_& module, const char* name) {
  return nb::class_<Scope<Object>>(module, name, documentation(name), nb::dynamic_attr())
      .def("__enter__",
           [](const nb::object& self) {
             nb::cast<Scope<Object>&>(self).enter();
             return self;
           })
      .def(
          "__exit__",
          [](const nb::object& self, const nb::args&) {
            auto& scope = nb::cast<Scope<Object>&>(self);
            if constexpr (std::is_same_v<Object, Tape>)
              if (scope.get().options().keep_values) self.attr("_json") = as_json(scope.get());
            scope.leave();
          },
          nb::sig("def __exit__(self, *args) -> None"));
}

/// The page of the viewer. A tape that has ended and has kept its values has left its JSON behind.
std::string page_of(const nb::object& self) {
  const auto& tape = nb::cast<const Scope<Tape>&>(self);
  expect<TapeError>(tape.is_open() || nb::hasattr(self, "_json"),
                    "show: the tape has ended and has not kept its values; begin it with "
                    "keep_values=True, or show it inside of `with`");
  const std::string json =
      tape.is_open() ? as_json(tape.get()) : nb::cast<std::string>(self.attr("_json"));
  const nb::object folder = nb::module_::import_("tempfile").attr("TemporaryDirectory")();
  const auto file = nb::cast<std::string>(folder.attr("name")) + "/tape.html";
  write_viewer({{"", json}}, file);
  std::string page = read_text(file);
  folder.attr("cleanup")();
  return page;
}

}  // namespace

void bind_tape(nb::module_& module) {
  bind_scope<Tape>(module, "Tape")
      .def(
          "__init__",
          [](Scope<Tape>* self, bool keep_values, bool check_finite) {
            new (self) Scope<Tape>("Tape", TapeOptions{keep_values, check_finite});
          },
          nb::kw_only(), "keep_values"_a = false, "check_finite"_a = false)
      .def_prop_ro(
          "size", [](const Scope<Tape>& tape) { return tape.get().size(); }, "The number of nodes.")
      .def("__str__", [](const Scope<Tape>& tape) { return to_string(tape.get()); })
      .def_prop_ro("is_open", &Scope<Tape>::is_open,
                   "Whether operations are recorded, or only paused.")
      .def(
          "parameters", [](const Scope<Tape>& tape) { return tape.get().parameters(); },
          documentation("Tape::parameters"))
      .def(
          "bytes", [](const Scope<Tape>& tape) { return tape.get().bytes(); },
          documentation("Tape::bytes"))
      .def(
          "show",
          [](const nb::object& self) {
            return nb::module_::import_("tapegrad.viewer").attr("Page")(page_of(self));
          },
          documentation("write_viewer"))
      .def("_repr_html_",
           [](const nb::object& self) { return self.attr("show")().attr("_repr_html_")(); })
      .def(
          "gradient",
          [](const Scope<Tape>& tape, const Tensor& x) {
            const Tape& held = tape.get();
            expect<TapeError>(held.holds(x), "gradient: x is not on this tape");
            return held.gradient(x.node());
          },
          "x"_a, documentation("Tape::gradient"));
  bind_scope<NoGrad>(module, "NoGrad").def("__init__", [](Scope<NoGrad>* self) {
    new (self) Scope<NoGrad>("NoGrad");
  });
  module.attr("no_grad") = nb::object(module.attr("NoGrad"));
  module.def(
      "explain", [](const Tensor& x) { return explain(Tape::required("explain"), x); },
      nb::call_guard<Unlocked>(), "x"_a, documentation("explain"));
  module.def(
      "explain", [](const Parameter& x) { return explain(Tape::required("explain"), x); },
      nb::call_guard<Unlocked>(), "x"_a);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
