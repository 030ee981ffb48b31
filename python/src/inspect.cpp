#include <cmath>

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

/// The loss of a step. Of an output it is by default a mean with the weights cos(i), along which no
/// norm is constant: the gradients of its mean square would be rounding.
Tensor loss_of(const nb::callable& step, const std::optional<nb::callable>& loss, bool is_output) {
  if (loss) return callback<std::function<Tensor(const nb::object&)>>(*loss)(nb::object(step()));
  const Tensor found = callback<std::function<Tensor()>>(step)();
  if (!is_output || found.rank() == 0) return found;
  Tensor weights = Tensor::uninitialized(found.shape());
  for (Index i = 0; i < weights.size(); ++i)
    weights.mutable_data()[i] = static_cast<real>(std::cos(static_cast<double>(i)));
  const PlaceScope caller(python_line());
  return mean(found * weights);
}

}  // namespace

void bind_inspect(nb::module_& module) {
  const nb::handle here = module;
  module.def(
      "trace",
      [here](const nb::object& net, const nb::object& batch,
             const std::optional<nb::callable>& loss) {
        if (nb::hasattr(net, "named_parameters"))  // as a torch.nn.Module
          return nb::cast<Trace>(
              nb::module_::import_("tapegrad.torch").attr("trace")(net, batch, loss, here));
        const Fields found = fields_of(net);
        const auto step = nb::cast<nb::callable>(
            nb::module_::import_("tapegrad.steps").attr("of_ours")(net, batch, loss, here));
        const Tape tape({.keep_values = true});
        grad(loss_of(step, loss, !step.is(batch)), parameters(found));
        return trace(tape, found);
      },
      "net"_a, "batch"_a, "loss"_a = nb::none(),
      "The trace of a step: of loss(net(batch)), and of the gradients of the net's parameters.\n"
      "  batch: an array, or a tuple of the arguments of the net. Arrays of other libraries and "
      "lists become\n    a Tensor, or Indices if they hold whole numbers\n"
      "  loss: a function of what the net returns; by default its mean with the weights cos(0), "
      "cos(1), ..., or\n    itself if it has no axes\n"
      "In place of the batch, a function without arguments may call the net and return the loss. "
      "The net\nmay be a torch.nn.Module, which gets tensors of PyTorch; the gradients that it has "
      "already stay as\nthey are.");
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
