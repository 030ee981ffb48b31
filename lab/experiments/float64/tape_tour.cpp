// Writes pages that step through a tape, forward and backward: one with the four forms of a layer
// normalization side by side, with mean and deviation attached and detached, and one with a second
// derivative.

#include <fmt/format.h>

#include "experiments/study.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

// Layer normalization without gain and bias (Xu et al. 2019, section 3.1), and a loss that makes
// the first entry large.
ExportedTape normalization(const std::string& title, bool detach_mean, bool detach_scale) {
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(Tensor({1, 3}, {1, 2, 6})), "x");
  const Tensor mu = named(mean(x, -1, Keep::yes), "mu");
  const Tensor s = named(sqrt(mean(square(x - mu), -1, Keep::yes)), "s");
  const Tensor centered = x - (detach_mean ? detach(mu) : mu);
  const Tensor y = named(centered / (detach_scale ? detach(s) : s), "y");
  const Tensor loss = named(sum(y * Tensor({3}, {1, 0, 0})), "loss");
  const Tensor gradient = grad(loss, x);
  write_result(fmt::format("  {:20} dl/dx {}, mean {:.4f}, variance {:.4f}\n", title,
                           to_string(gradient), mean(gradient).item(), var(gradient).item()));
  return {title, as_json(tape)};
}

std::string second_derivative() {
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(Tensor({3}, {-1, 0, 2})), "x");
  const Tensor loss = named(sum(tanh(x) * x), "loss");
  const Tensor slope = named(grad(loss, x, {.record = true}), "slope");
  const Tensor curvature = grad(sum(slope), x);
  write_result(fmt::format("  slope {}, curvature {}\n", to_string(slope), to_string(curvature)));
  return as_json(tape);
}

constexpr const char* layer_norm_page = "/tape_layer_norm.html";
constexpr const char* second_page = "/tape_second_derivative.html";

struct TourFlags {
  std::string directory = ".";

  void add_to(Flags& flags, StudyRun&) {
    flags.output("--report", directory, "Directory for the pages",
                 {.files = [](const std::string& in) {
                   return std::vector{in + layer_norm_page, in + second_page};
                 }});
  }
};

void write_pages(StudyRun&, const TourFlags& flags) {
  make_directory(flags.directory);
  const std::string layer_norm = flags.directory + layer_norm_page,
                    second = flags.directory + second_page;
  for (const std::string& file : {layer_norm, second}) expect_own(file, tape_mark);
  write_result(fmt::format("layer normalization, attached and detached: {}\n", layer_norm));
  write_viewer(
      {normalization("nothing detached", false, false), normalization("mean detached", true, false),
       normalization("deviation detached", false, true),
       normalization("both detached", true, true)},
      layer_norm);
  write_result(fmt::format("a derivative of a derivative: {}\n", second));
  write_viewer({{"sum(x tanh x), differentiated twice", second_derivative()}}, second);
}

const registry::Entry entry([] {
  return with_flags<TourFlags>(
      {.name = "tape_tour",
       .summary = "Writes pages that step through a tape, to be opened in a browser.",
       .title = "",
       .has_page = false},
      write_pages);
});

}  // namespace
