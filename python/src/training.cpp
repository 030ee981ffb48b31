#include "arguments.h"

namespace tapegrad::TAPEGRAD_SCALAR::python {
namespace {

using Notes = std::map<std::string, std::string>;

/// A checkpoint of objects that Python holds.
Checkpoint checkpoint_of(const nb::object& net, Optimizer* optimizer, const nb::dict& random,
                         Ema* ema, Plateau* plateau) {
  Checkpoint result{.net = fields_of(net), .optimizer = optimizer, .ema = ema, .plateau = plateau};
  for (const auto& [name, stream] : random)
    result.random[nb::cast<std::string>(name)] = nb::cast<Random*>(stream);
  return result;
}

void bind_checkpoints(nb::module_& module) {
  using Path = const std::filesystem::path&;
  const nb::call_guard<InPlace> guard{};
  module.def(
      "save_checkpoint",
      [](Path path, const nb::object& net, Optimizer* optimizer, const nb::dict& random,
         const Notes& notes, Ema* ema, Plateau* plateau) {
        Checkpoint saved = checkpoint_of(net, optimizer, random, ema, plateau);
        saved.notes = notes;
        save_checkpoint(path, saved);
      },
      guard, "path"_a, "net"_a, "optimizer"_a = nb::none(), "random"_a = nb::dict(),
      "notes"_a = Notes(), "ema"_a = nb::none(), "plateau"_a = nb::none(),
      documentation("save_checkpoint"));
  module.def(
      "load_checkpoint",
      [](Path path, const nb::object& net, Optimizer* optimizer, const nb::dict& random, Ema* ema,
         Plateau* plateau) {
        Checkpoint loaded = checkpoint_of(net, optimizer, random, ema, plateau);
        load_checkpoint(path, loaded);
        return loaded.notes;
      },
      guard, "path"_a, "net"_a, "optimizer"_a = nb::none(), "random"_a = nb::dict(),
      "ema"_a = nb::none(), "plateau"_a = nb::none(),
      (std::string(documentation("load_checkpoint")) + "\n\nReturns the notes.").c_str());
  module.def(
      "load_fitting",
      [](Path path, const nb::object& net, Optimizer* optimizer) {
        Checkpoint loaded = checkpoint_of(net, optimizer, {}, nullptr, nullptr);
        return load_fitting(path, loaded);
      },
      guard, "path"_a, "net"_a, "optimizer"_a = nb::none(), documentation("load_fitting"));
}

void bind_clipping(nb::module_& module) {
  using Tensors = std::vector<Tensor>;
  const nb::call_guard<Unlocked> guard{};
  const auto documented = [](const char* name, const char* returns) {
    return std::string(documentation(name)) + "\n\n" + returns;
  };
  const char* const clipped = "The list that is given stays as it is; returns the clipped one.";
  module.def(
      "clip_by_global_norm",
      [](Tensors gradients, double limit) {
        const double norm = clip_by_global_norm(gradients, limit);
        return std::make_pair(gradients, norm);
      },
      guard, "gradients"_a, "limit"_a,
      documented("clip_by_global_norm",
                 "The list that is given stays as it is; returns the clipped one and the norm.")
          .c_str());
  module.def(
      "clip_by_norm",
      [](Tensors gradients, double limit) {
        clip_by_norm(gradients, limit);
        return gradients;
      },
      guard, "gradients"_a, "limit"_a, documented("clip_by_norm", clipped).c_str());
  module.def(
      "clip_by_value",
      [](Tensors gradients, double limit) {
        clip_by_value(gradients, limit);
        return gradients;
      },
      guard, "gradients"_a, "limit"_a, documented("clip_by_value", clipped).c_str());
}

}  // namespace

void bind_training(nb::module_& module) {
  const nb::call_guard<InPlace> guard{};
  nb::class_<Optimizer>(module, "Optimizer", documentation("Optimizer"))
      .def("step", &Optimizer::step, guard, "gradients"_a, documentation("Optimizer::step"))
      .def("parameters", &Optimizer::parameters)
      .def_prop_rw("learning_rate", &Optimizer::learning_rate, &Optimizer::set_learning_rate,
                   documentation("Optimizer::set_learning_rate"))
      .def_prop_ro("steps", &Optimizer::steps);
  nb::class_<Ema>(module, "Ema", documentation("Ema"))
      .def(
          "__init__",
          [](Ema* self, const nb::object& net, double decay) {
            new (self) Ema(fields_of(net), decay);
          },
          guard, "net"_a, "decay"_a = 0.999)
      .def("update", &Ema::update, guard, documentation("Ema::update"))
      .def("swap", &Ema::swap, guard, documentation("Ema::swap"))
      .def("values", &Ema::values, documentation("Ema::values"))
      .def_prop_ro("updates", &Ema::updates);
  nb::class_<Plateau>(module, "Plateau", documentation("Plateau"))
      .def(
          "__init__",
          [](Plateau* self, double learning_rate, double factor, Index patience, double threshold,
             Index cooldown, double least) {
            new (self) Plateau(learning_rate, {factor, patience, threshold, cooldown, least});
          },
          guard, "learning_rate"_a, nb::kw_only(), "factor"_a = 0.1, "patience"_a = 10,
          "threshold"_a = 1e-4, "cooldown"_a = 0, "least"_a = 0)
      .def("next", &Plateau::next, guard, "measure"_a, documentation("Plateau::next"))
      .def_prop_ro("learning_rate", &Plateau::learning_rate);
  bind_checkpoints(module);
  bind_clipping(module);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::python
