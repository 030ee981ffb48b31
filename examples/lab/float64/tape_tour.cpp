// Writes a page that steps through the tape of a layer normalization, forward and backward, with
// its statistics attached and detached side by side, and through a second derivative.

#include <fmt/format.h>

#include "lab/registry.h"
#include "tapegrad/train.h"

using namespace tapegrad;

namespace {

// Layer normalization without gain and bias (Xu et al. 2019, section 3.1), and a loss that makes
// the first entry large. `statistic` is applied to mean and deviation.
std::string normalization(Tensor (*statistic)(const Tensor&)) {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor({1, 4}, {1, 2, 4, 9}));
  const Tensor mu = statistic(mean(x, -1, Keep::yes));
  const Tensor centered = x - mu;
  const Tensor deviation = statistic(sqrt(mean(square(x - mu), -1, Keep::yes)));
  const Tensor y = centered / deviation;
  const Tensor loss = sum(y * Tensor({4}, {1, 0, 0, 0.5}));
  const Tensor gradient = grad(loss, x);
  write_result(
      fmt::format("  dl/dx {}, mean {:.4f}\n", to_string(gradient), mean(gradient).item()));
  return as_json(tape);
}

std::string second_derivative() {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor({3}, {-1, 0, 2}));
  const Tensor loss = sum(tanh(x) * x);
  const Tensor slope = grad(loss, x, {.record = true});
  const Tensor curvature = grad(sum(slope), x);
  write_result(fmt::format("  slope {}, curvature {}\n", to_string(slope), to_string(curvature)));
  return as_json(tape);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  std::string directory = ".";
  flags.setting("--report", directory, "Directory for the pages")->check(file_name());
  return flags.run(argc, argv, [&] {
    make_directory(directory);
    const std::string layer_norm = directory + "/tape_layer_norm.html";
    const std::string second = directory + "/tape_second_derivative.html";
    write_result(fmt::format("layer normalization, attached and detached: {}\n", layer_norm));
    const std::string attached = normalization([](const Tensor& t) { return t; });
    const std::string detached = normalization([](const Tensor& t) { return detach(t); });
    write_viewer({{"Statistics attached", attached}, {"Statistics detached", detached}},
                 layer_norm);
    write_result(fmt::format("a derivative of a derivative: {}\n", second));
    write_viewer({{"sum(x tanh x), differentiated twice", second_derivative()}}, second);
    return 0;
  });
}

const registry::Entry entry({"tape_tour",
                             "Writes pages that step through a tape, to be opened in a browser.",
                             run});

}  // namespace
