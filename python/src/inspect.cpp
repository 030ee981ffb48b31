#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {
namespace {

/// The forms of a normalization as texts: its value and gradient with each of the statistics
/// detached, each with the value x and with the factor 1.
std::vector<std::string> forms(const std::string& name) {
  const NormSpec given(name);
  expect<ArgumentError>(name.find(':') == std::string::npos,
                        "forms: give the name alone, without options: '{}'", name);
  if (!given.method->takes_forms) return {name};
  std::vector<std::string> result;
  for (const auto& [preset, settings] : given.method->presets)
    for (const char* options : {"", ":forward=identity", ":factor=1", ":forward=identity,factor=1"})
      if (settings.affine == given.affine) result.push_back(preset + options);
  return result;
}

}  // namespace

void bind_inspect(nb::module_& module) {
  const nb::handle here = module;
  module.def(
      "trace",
      [here](const nb::object& net, const nb::callable& loss) {
        if (nb::hasattr(net, "named_parameters"))  // as a torch.nn.Module
          return nb::cast<Trace>(
              nb::module_::import_("tapegrad.torch").attr("trace")(net, loss, here));
        const Fields found = fields_of(net);
        const Tape tape({.keep_values = true});
        grad(callback<std::function<Tensor()>>(loss)(), parameters(found));
        return trace(tape, found);
      },
      "net"_a, "loss"_a,
      "The trace of a step: of loss(), which has no arguments and calls the net, and of the "
      "gradients of its\nparameters. The net may be a torch.nn.Module; the gradients that it has "
      "already stay as they are.");
  module.attr("diff") = nb::object(module.attr("compare_traces"));
  module.def(
      "forms", &forms, "name"_a,
      "The forms of a normalization as texts for Norm; of layer_simple, the sixteen forms of layer"
      "\nnormalization. They differ in what the sweep treats as constant, in the value (x itself "
      "with\nforward=identity), and in the factor of the gradient (1 rather than 1/s with "
      "factor=1).");
  nb::borrow<nb::class_<Norm>>(module.attr("Norm"))
      .def_prop_ro(
          "has_buffers", [](const Norm& norm) { return !norm.buffers.empty(); },
          "Whether it has running averages.");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
