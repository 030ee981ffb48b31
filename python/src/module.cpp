#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {

/// The exceptions of this precision become exceptions of tapegrad.errors, with the library's words.
void bind_errors(nb::module_& module) {
  struct Kind {
    const char* name;
    bool (*is)(const std::exception&);
  };
  static const Kind kinds[] = {
      {"ShapeError",
       [](const std::exception& e) { return dynamic_cast<const ShapeError*>(&e) != nullptr; }},
      {"ArgumentError",
       [](const std::exception& e) { return dynamic_cast<const ArgumentError*>(&e) != nullptr; }},
      {"TapeError",
       [](const std::exception& e) { return dynamic_cast<const TapeError*>(&e) != nullptr; }},
      {"NonFiniteError",
       [](const std::exception& e) { return dynamic_cast<const NonFiniteError*>(&e) != nullptr; }},
      {"MemoryError",
       [](const std::exception& e) { return dynamic_cast<const MemoryError*>(&e) != nullptr; }},
      {"DataError",
       [](const std::exception& e) { return dynamic_cast<const DataError*>(&e) != nullptr; }},
      {"Error", [](const std::exception&) { return true; }},  // what is none of these
  };
  const nb::module_ errors = nb::module_::import_("tapegrad.errors");
  for (const Kind& kind : kinds) module.attr(kind.name) = nb::object(errors.attr(kind.name));
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::module_ known = nb::module_::import_("tapegrad.errors");
      for (const Kind& kind : kinds)
        if (kind.is(error)) {
          PyErr_SetString(nb::object(known.attr(kind.name)).ptr(), error.what());
          return;
        }
    }
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python

NB_MODULE(TAPEGRAD_MODULE, module) {
  using namespace tapegrad::python;
  module.doc() = "The operations of tapegrad on tensors of one type of number.";
  // A graph of PyTorch that lives to the end of the program keeps a Norm, which is no leak.
  nb::set_leak_warnings(false);
  bind_errors(module);
  bind_arrays(module);
  bind_structs_0(module);
  bind_tape(module);
  bind_functions_0(module);
  bind_functions_1(module);
  bind_nets(module);
  bind_layers_0(module);
  bind_layers_1(module);
  bind_training(module);
  bind_optimizers_0(module);
  bind_inspect(module);
}
