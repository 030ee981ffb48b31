// Draws the pictures of the course that show numbers: docs/pictures. `./dev pictures` redraws them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/drawing.h"
#include "experiments/study.h"
#include "experiments/tape_pictures.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

// A form of layer normalization: what the backward sweep treats as constants.
struct LayerNormForm {
  const char* name;
  bool detach_mean, detach_scale;

  Tensor operator()(const Tensor& x) const {
    return layer_norm(x, {.epsilon = 0, .detach_mean = detach_mean, .detach_scale = detach_scale});
  }
  Tensor gradient(const Tensor& x, const Tensor& g) const {
    return vjp([this](const std::vector<Tensor>& in) { return (*this)(in[0]); }, {x}, g)[0];
  }
};

constexpr LayerNormForm nothing{"nothing detached", false, false},
    mean_only{"mean detached", true, false};
constexpr LayerNormForm scale_only{"deviation detached", false, true},
    both_parts{"both detached", true, true};

// ---- The gradients of the four forms, as histograms ----

constexpr double least = -6, greatest = 8, bin_width = 0.25;
constexpr int bins = 56;

// The share of each bin among the values.
std::array<double, bins> shares(const Tensor& values) {
  std::array<double, bins> result{};
  for (const real value : values.values()) {
    const int bin = static_cast<int>(std::floor((value - least) / bin_width));
    if (bin >= 0 && bin < bins) result[bin] += 1.0 / values.size();
  }
  return result;
}

// A histogram's place in the drawing.
struct Panel {
  Spot corner;  // lower left
  static constexpr double width = 320, height = 118, greatest_share = 0.105;

  double across(double value) const {
    return corner.x + width * (value - least) / (greatest - least);
  }
  // The outline of the bars, from the left end of the axis to the right one.
  std::vector<Spot> outline(const std::array<double, bins>& tall) const {
    std::vector<Spot> spots{corner};
    for (int bin = 0; bin < bins; ++bin) {
      const double up = corner.y - height * tall[bin] / greatest_share;
      for (const int end : {bin, bin + 1}) spots.push_back({across(least + bin_width * end), up});
    }
    spots.push_back({corner.x + width, corner.y});
    return spots;
  }
};

void draw_form(Drawing& drawing, const Panel& panel, const Tensor& dx, const Tensor& incoming) {
  const double center = mean(dx).item(), middle = panel.corner.y - panel.height;
  drawing.area(panel.outline(shares(dx)), "blue");
  drawing.line(panel.outline(shares(dx)), "blue");
  drawing.line(panel.outline(shares(incoming)), "faint");
  drawing.line({panel.corner, {panel.corner.x + panel.width, panel.corner.y}}, "faint");
  drawing.line({{panel.across(0), panel.corner.y}, {panel.across(0), middle}}, "faint dashed");
  drawing.line({{panel.across(center), panel.corner.y}, {panel.across(center), middle}}, "red");
  for (const int tick : {-5, 0, 5})
    drawing.words({panel.across(tick), panel.corner.y + 17}, fmt::format("{}", tick),
                  "small middle faint");
  const double right = panel.corner.x + panel.width;
  drawing.words({right, middle + 12}, fmt::format("mean {:.2f}", std::abs(center)), "end red");
  drawing.words({right, middle + 31}, fmt::format("variance {:.3f}", mean(var(dx, -1)).item()),
                "end blue");
}

std::string four_forms() {
  Random random(1);
  const Tensor x = random.normal({4096, 64});
  const Tensor g = layer_norm(x) * 1.5 + random.normal({4096, 64}) + 1.0;
  const Tensor incoming = both_parts.gradient(x, g);
  Drawing drawing(800, 432);
  drawing.words({20, 30}, "What layer normalization does to the gradient that passes through it",
                "title");
  drawing.words(
      {20, 54},
      "Grey: the gradient that arrives, g / s. Blue: the one that leaves, dl/dx. Red: its "
      "mean.");
  const std::array<double, 2> left{130, 465};
  drawing.words({left[0] + 160, 88}, "deviation attached: re-scaled", "middle strong");
  drawing.words({left[1] + 160, 88}, "deviation detached: not re-scaled", "middle strong");
  const auto row = [&](double floor, const std::array<const char*, 3>& label,
                       const std::array<LayerNormForm, 2>& forms) {
    for (std::size_t i = 0; i < 3; ++i)
      drawing.words({20, floor - 76 + 20.0 * i}, label[i], i < 2 ? "strong" : "");
    for (std::size_t i = 0; i < 2; ++i)
      draw_form(drawing, {{left[i], floor}}, forms[i].gradient(x, g), incoming);
  };
  row(225, {"mean", "attached:", "re-centered"}, {nothing, scale_only});
  row(385, {"mean", "detached:", "not centered"}, {mean_only, both_parts});
  drawing.words(
      {20, 422},
      "4096 rows of 64 numbers, g = 1 + 1.5 y + noise; mean and variance of a row, averaged",
      "small faint");
  return drawing.svg();
}

// ---- The geometry of the backward pass, for a row of three numbers ----

// Coordinates along 1, along y and along the direction that is left, as a parallel projection.
struct RowAxes {
  Tensor ones_axis, y_axis, rest_axis;  // of length 1
  Spot origin;

  std::array<double, 3> coordinates(const Tensor& v) const {
    return {sum(v * ones_axis).item(), sum(v * y_axis).item(), sum(v * rest_axis).item()};
  }
  Spot at(double along_ones, double along_y, double along_rest) const {
    constexpr double unit = 85;
    return {origin.x + unit * (1.35 * along_ones + 0.95 * along_y),
            origin.y + unit * (0.26 * along_ones - 0.5 * along_y - along_rest)};
  }
};

Tensor unit(const Tensor& v) { return v / norm(v); }

void draw_box(Drawing& drawing, const RowAxes& axes, double a, double b, double c) {
  drawing.area({axes.at(0, 0, 0), axes.at(a, 0, 0), axes.at(a, b, 0), axes.at(0, b, 0)}, "faint");
  const auto edge = [&](Spot from, Spot to) { drawing.line({from, to}, "faint dashed"); };
  for (const double up : {0.0, c}) {
    edge(axes.at(a, 0, up), axes.at(a, b, up));
    edge(axes.at(0, b, up), axes.at(a, b, up));
  }
  edge(axes.at(0, 0, c), axes.at(a, 0, c)), edge(axes.at(0, 0, c), axes.at(0, b, c));
  edge(axes.at(a, 0, 0), axes.at(a, 0, c)), edge(axes.at(0, b, 0), axes.at(0, b, c));
  edge(axes.at(a, b, 0), axes.at(a, b, c));
}

std::string projection() {
  const Tensor x({3}, {1, 2, 6}), g({3}, {3, 0, 4});
  const Tensor y = nothing(x), rest = nothing.gradient(x, g);
  const RowAxes axes{unit(ones({3})), unit(y), unit(rest), {150, 380}};
  const auto [a, b, c] = axes.coordinates(g);
  Drawing drawing(800, 490);
  drawing.words({20, 30}, "Layer normalization removes from g its parts along 1 and along y",
                "title");
  drawing.words({20, 54},
                "Here x = (1, 2, 6) and g = dl/dy = (3, 0, 4). What is left, divided by s, "
                "is dl/dx.");
  draw_box(drawing, axes, a, b, c);
  const Spot origin = axes.at(0, 0, 0);
  drawing.arrow(origin, axes.at(a, 0, 0), "red thick");
  drawing.arrow(origin, axes.at(0, b, 0), "orange thick");
  drawing.words({axes.at(a / 2, 0, 0).x, axes.at(a / 2, 0, 0).y + 30}, "along 1: mean(g) 1",
                "red middle");
  drawing.words({origin.x + 85, origin.y - 1}, "along y: mean(g y) y", "orange");
  const std::array<double, 3> parts[] = {{0, 0, c}, {a, 0, c}, {0, b, c}, {a, b, c}};
  const LayerNormForm forms[] = {nothing, mean_only, scale_only, both_parts};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [along_ones, along_y, along_rest] = parts[i];
    const std::array<double, 3> found =
        axes.coordinates(forms[i].gradient(x, g) * stddev(x, 0, Keep::yes));
    expect<Error>(std::abs(found[0] - along_ones) + std::abs(found[1] - along_y) +
                          std::abs(found[2] - along_rest) <
                      1e-9,
                  "pictures: the sweep and the drawing differ: {}", forms[i].name);
    drawing.arrow(origin, axes.at(along_ones, along_y, along_rest), i == 0 ? "blue thick" : "blue");
  }
  const Spot kept = axes.at(0, 0, c), shifted = axes.at(a, 0, c);
  const Spot turned = axes.at(0, b, c), arriving = axes.at(a, b, c);
  drawing.words({kept.x - 10, kept.y + 12}, "nothing detached", "blue strong end");
  drawing.words({shifted.x + 10, shifted.y + 14}, "mean detached", "blue");
  drawing.words({turned.x + 10, turned.y - 6}, "deviation detached", "blue");
  drawing.words({arriving.x - 55, arriving.y - 24}, "both detached: g", "blue");
  return drawing.svg();
}

// ---- Gradients through depth and time ----

// The gradient of a loss with respect to the state before each block and after the last one. The
// weights are twice as large as in a new stack: the sub-layers count as after some training.
Series through_depth(const std::string& name, const char* norm, NormPlacement placement) {
  constexpr Index channels = 64, tokens = 64, classes = 10;
  Random random(1);
  const TransformerStack stack(
      random, {.layers = 12, .channels = channels, .norm = norm, .placement = placement});
  for (Parameter weight : parameters(stack))
    if (weight.shape().rank() == 2) weight.set(2.0 * weight.value());
  const Tensor reader = random.normal({channels, classes});
  Indices labels = Indices::uninitialized({tokens});
  for (Index i = 0; i < tokens; ++i) labels.mutable_data()[i] = i % classes;

  const Tape tape;
  std::vector<Tensor> states{watch(random.normal({4, 16, channels}))};
  for (const TransformerBlock& block : stack.blocks) states.push_back(block(states.back()));
  const Tensor output = stack.last_norm ? (*stack.last_norm)(states.back()) : states.back();
  const Tensor logits = matmul(reshape(output, {tokens, channels}), reader);
  const std::vector<Tensor> gradients = grad(cross_entropy(logits, labels), states);
  Series series{name, {}};
  for (std::size_t i = 0; i < gradients.size(); ++i)
    series.points.emplace_back(i, std::log10(tapegrad::norm(gradients[i]).item()));
  return series;
}

std::string gradients_through_depth() {
  Diagram diagram{"Gradients through 12 blocks",
                  "blocks below",
                  "log10 |gradient|",
                  {through_depth("post, s detached", "detach_variance", NormPlacement::post),
                   through_depth("post", "layer", NormPlacement::post),
                   through_depth("pre, s detached", "detach_variance", NormPlacement::pre),
                   through_depth("pre", "layer", NormPlacement::pre)}};
  diagram.caption = "The gradient grows towards the first block, on the left.";
  return svg({diagram});
}

// The gradient of the last state with respect to the states before it, in a ReLU net whose
// recurrent weights have the scale q.
Series through_time(const std::string& name, const char* norm, double q) {
  constexpr Index hidden = 64, steps = 30;
  Random random(1);
  RecurrentLayer net(Cell::rnn_relu, 1, hidden, random, {.norm = norm});
  net.weight.set(random.normal({hidden, hidden}, 0, q * std::sqrt(2.0 / hidden)));
  const Tape tape;
  std::vector<Tensor> states{watch(random.normal({1, hidden}))};
  for (Index t = 0; t < steps; ++t)
    states.push_back(net.step(zeros({1, 1}), {states.back(), {}}).h);
  const std::vector<Tensor> gradients = grad(sum(states.back()), states);
  Series series{name, {}};
  for (std::size_t back = 0; back < gradients.size(); ++back)
    series.points.emplace_back(
        back, std::log10(tapegrad::norm(gradients[gradients.size() - 1 - back]).item()));
  return series;
}

std::string gradients_through_time() {
  Diagram diagram{"Gradients through time", "steps back", "log10 |gradient|", {}};
  for (const double q : {2.0, 1.0, 0.5})
    diagram.series.push_back(through_time(fmt::format("plain, q = {}", q), "none", q));
  for (const double q : {2.0, 1.0, 0.5})
    diagram.series.push_back(through_time(fmt::format("LN, q = {}", q), "layer", q));
  diagram.caption =
      "Without normalization gradients grow or vanish with the scale q of the recurrent weights. "
      "With it they stay near 1, and the three curves are nearly the same.";
  return svg({diagram});
}

// ---- The drift of a detached mean ----

// A linear layer before a norm, and what it should give.
struct OneLayer {
  Tensor x, target, initial;

  explicit OneLayer(Random random)
      : x(random.normal({64, 16}) + 0.5),
        target(random.normal({64, 32}) + 0.5),
        initial(random.normal({16, 32}, 0, 0.25)) {}

  Tensor gradient(const Parameter& weight, bool detach_mean) const {
    const Tape tape;
    const Tensor y = layer_norm(matmul(x, weight), {.detach_mean = detach_mean});
    return grad(mean(square(y - target)), std::vector{weight})[0];
  }
};

double root_mean_square(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

// How far the mean over outputs moves, and how far the optimizer would move it alone, along the
// force on it at the weights of a run with an attached mean.
std::pair<Series, Series> measured_and_predicted(const std::string& name, const OneLayer& layer,
                                                 const OptimizerFlags& optimizer) {
  constexpr Index marks[] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  Parameter weight(layer.initial), attached(layer.initial), mode(zeros({16, 1}));
  const auto step = [&](const Parameter& p) { return optimizer.make_optimizer({p}); };
  const auto weight_steps = step(weight), attached_steps = step(attached), mode_steps = step(mode);
  Series measured{name, {}}, predicted{name + ", predicted", {}};
  for (Index done = 1; done <= std::end(marks)[-1]; ++done) {
    weight_steps->step({layer.gradient(weight, true)});
    mode_steps->step({mean(layer.gradient(attached, true), 1, Keep::yes)});
    attached_steps->step({layer.gradient(attached, false)});
    if (std::find(std::begin(marks), std::end(marks), done) == std::end(marks)) continue;
    const Tensor moved = mean(weight.value() - layer.initial, 1);
    measured.points.emplace_back(done, root_mean_square(moved));
    predicted.points.emplace_back(done, root_mean_square(mode));
  }
  return {measured, predicted};
}

// A panel with logarithmic axes, from step 1 to 256 and from 0.001 to 10.
Spot in_panel(double left, const std::pair<double, double>& point) {
  return {left + 26 * std::log2(point.first), 320 - 55 * (std::log10(point.second) + 3)};
}

void draw_drift(Drawing& drawing, double left, const Series& measured, const Series& predicted) {
  const Spot corner = in_panel(left, {1, 0.001}), end = in_panel(left, {256, 10});
  drawing.line({{corner.x, end.y}, corner, {end.x, corner.y}}, "faint");
  for (const double step : {1.0, 4.0, 16.0, 64.0, 256.0})
    drawing.words({in_panel(left, {step, 1}).x, corner.y + 18}, fmt::format("{}", step),
                  "small middle faint");
  for (const double moved : {0.001, 0.01, 0.1, 1.0, 10.0})
    drawing.words({corner.x - 6, in_panel(left, {1, moved}).y + 4}, fmt::format("{}", moved),
                  "small end faint");
  std::vector<Spot> line;
  for (const auto& point : predicted.points) line.push_back(in_panel(left, point));
  drawing.line(line, "orange thick");
  for (const auto& point : measured.points) {
    const auto [x, y] = in_panel(left, point);
    drawing.line({{x - 4, y - 4}, {x + 4, y + 4}}, "blue");
    drawing.line({{x - 4, y + 4}, {x + 4, y - 4}}, "blue");
  }
  const double ratio = measured.points.back().second / predicted.points.back().second;
  drawing.words({corner.x, 84}, measured.name, "strong");
  drawing.words({corner.x + 208, corner.y - 12},
                fmt::format("at the end {:.2f} of the line", ratio), "end small");
}

std::string drift() {
  const OneLayer layer{Random(1)};
  Drawing drawing(800, 375);
  drawing.words({20, 30}, "With a detached mean, the common mode of a weight moves on and on",
                "title");
  drawing.words(
      {20, 54},
      "Line: how far it should move, as predicted from the attached training. Crosses: how "
      "far it moved.");
  double left = 60;
  for (const auto& [name, optimizer, rate] :
       {std::tuple{"SGD", "sgd", 1.0}, {"momentum", "momentum", 0.1}, {"Adam", "adam", 0.01}}) {
    auto [measured, predicted] =
        measured_and_predicted(optimizer, layer, {.optimizer = optimizer, .learning_rate = rate});
    measured.name = name;
    draw_drift(drawing, left, measured, predicted);
    left += 260;
  }
  drawing.words({20, 366},
                "root mean square over inputs; steps from 1 to 144; both axes logarithmic",
                "small faint");
  return drawing.svg();
}

constexpr std::pair<const char*, std::string (*)()> pictures[] = {
    {"four_forms", four_forms},
    {"projection", projection},
    {"tape_graph", tape_graph},
    {"gradients_through_depth", gradients_through_depth},
    {"gradients_through_time", gradients_through_time},
    {"drift", drift},
    {"layer_norm_tapes", layer_norm_tapes},
    {"three_ways", three_ways}};

std::string file_of(const std::string& picture, const std::string& directory) {
  return fmt::format("{}/{}.svg", directory, picture);
}

constexpr const char* picture_mark = "<svg";

std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& [name, picture] : pictures) files.push_back(file_of(name, directory));
  return files;
}

struct PictureFlags {
  std::string directory = ".";

  void add_to(Flags& flags, StudyRun&) {
    flags.output("--report", directory, "Directory for the pictures",
                 {.files = files_in, .begins = picture_mark});
  }
};

void draw(StudyRun&, const PictureFlags& flags) {
  make_directory(flags.directory);
  for (const auto& [name, picture] : pictures) {
    const std::string file = file_of(name, flags.directory), image = picture();
    write_own(file, picture_mark, image);
    write_result(file + "\n");
  }
}

const registry::Entry entry([] {
  return with_flags<PictureFlags>({.name = "pictures",
                                   .summary = "Draws the pictures of the course.",
                                   .title = "",
                                   .has_page = false},
                                  draw);
});

}  // namespace
