// Which normalizations are invariant to which changes of weights and data: table 1 of Ba et al.
// 2016, "Layer Normalization", measured, with RMS, group and divisive normalization, combinations,
// and the convolutional counterpart. A cell is the largest change of the outputs, relative to the
// largest output.

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

constexpr double invariant_below = 1e-9;
const NormOptions sharp{.epsilon = 0};
const NormFields rows = both({.axes = {1}});

double change(const Tensor& found, const Tensor& before) {
  return max(abs(found - before)).item() / max(abs(before)).item();
}

std::string cell(double change) {
  return change < invariant_below ? "invariant" : fmt::format("{:.2f}", change);
}

/// From weights v and inputs x to normalized sums.
using LayerOf = std::function<Tensor(const Tensor& weight, const Tensor& x)>;

/// A normalized layer, with its row in the paper's table ('y': invariant), or "".
struct Method {
  std::string name;
  LayerOf layer;
  std::string printed;
};

LayerOf normalized(const Normalizations& subject, const NormFields& fields,
                   const NormOptions& options = sharp) {
  return [=](const Tensor& w, const Tensor& x) {
    return subject.normalize(matmul(x, w), fields, options);
  };
}

LayerOf weight_normalized(const Normalizations& subject, const Tensor& gain, bool then_layer) {
  return [=](const Tensor& w, const Tensor& x) {
    const Tensor a = matmul(x, subject.weight_norm(w, gain));
    return then_layer ? subject.normalize(a, rows, sharp) : a;
  };
}

// 1 except at one position.
Tensor one_other(const Shape& shape, Index position, double value) {
  Tensor factors = ones(shape);
  factors.mutable_data()[position] = static_cast<real>(value);
  return factors;
}

/// A change of weights or data.
struct Change {
  std::string name;
  std::function<std::pair<Tensor, Tensor>(const Tensor& w, const Tensor& x)> apply;
};

/// One line per method: its response to each change. Returns the sizes of the responses.
std::vector<std::vector<double>> measure(const std::vector<Method>& methods,
                                         const std::vector<Change>& changes, const Tensor& w,
                                         const Tensor& x) {
  std::vector<std::vector<double>> sizes;
  for (const Method& method : methods) {
    const Tensor before = method.layer(w, x);
    sizes.emplace_back();
    for (const Change& each : changes) {
      const auto [weight, data] = each.apply(w, x);
      sizes.back().push_back(change(method.layer(weight, data), before));
    }
  }
  return sizes;
}

Table as_table(const std::string& title, const std::vector<Method>& methods,
               const std::vector<Change>& changes, const std::vector<std::vector<double>>& sizes) {
  Table table{title, {"method"}, {}};
  for (const Change& each : changes) table.columns.push_back(each.name);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    table.rows.push_back({methods[i].name});
    for (const double size : sizes[i]) table.rows.back().push_back(cell(size));
  }
  return table;
}

HeatMap as_map(const std::string& title, const std::vector<Method>& methods,
               const std::vector<Change>& changes, const std::vector<std::vector<double>>& sizes) {
  HeatMap map{.title = title,
              .rows = {},
              .columns = {},
              .values = sizes,
              .unit = "log10 of the largest relative change",
              .caption = "Pale cells are invariant up to rounding; blue cells are not."};
  for (const Method& method : methods) map.rows.push_back(method.name);
  for (const Change& each : changes) map.columns.push_back(each.name);
  for (auto& row : map.values)
    for (double& size : row) size = std::log10(size);
  return map;
}

/// How many of the printed cells the measurement confirms, and how many there are.
std::pair<int, int> agreement(const std::vector<Method>& methods,
                              const std::vector<std::vector<double>>& sizes) {
  int right = 0, all = 0;
  for (std::size_t i = 0; i < methods.size(); ++i)
    for (std::size_t j = 0; j < methods[i].printed.size(); ++j, ++all)
      right += (methods[i].printed[j] == 'y') == (sizes[i][j] < invariant_below) ? 1 : 0;
  return {right, all};
}

// What table 1 of the paper lists. w: (in, out)   x: (cases, in)
std::vector<Change> linear_changes(const Tensor& w, const Tensor& x, Random& random) {
  const Index in = w.shape()[0], out = w.shape()[1], cases = x.shape()[0];
  const Tensor shift = random.normal({in, 1}), move = random.normal({in});
  return {
      {"matrix scaled", [](const Tensor& v, const Tensor& d) { return std::pair(v * 3.0, d); }},
      {"matrix centered",
       [=](const Tensor& v, const Tensor& d) { return std::pair(v + shift, d); }},
      {"vector scaled",
       [=](const Tensor& v, const Tensor& d) {
         return std::pair(v * one_other({1, out}, 2, 3), d);
       }},
      {"data scaled", [](const Tensor& v, const Tensor& d) { return std::pair(v, d * 3.0); }},
      {"data centered", [=](const Tensor& v, const Tensor& d) { return std::pair(v, d + move); }},
      {"case scaled",
       [=](const Tensor& v, const Tensor& d) {
         return std::pair(v, d * one_other({cases, 1}, 1, 3));
       }},
  };
}

void added_constants(Report& report, const Normalizations& subject, const Tensor& w,
                     const Tensor& x) {
  const Tensor a = matmul(x, w), constant = one_other({x.shape()[0], 1}, 1, 3) - 1.0;
  const Tensor before = subject.normalize(a, rows, sharp);
  const double sums = change(subject.normalize(a + constant, rows, sharp), before);
  const double raw = change(subject.normalize(matmul(x + constant, w), rows, sharp), before);
  report.claim(
      "A constant added to all sums of a case changes nothing; added to its raw inputs, as "
      "the conclusion of the paper may be read, it does.",
      fmt::format("sums {:.1e}, inputs {:.2f}", sums, raw), sums < invariant_below && raw > 0.01,
      "sums below 1e-9, inputs above 0.01");
}

// The first three are from table 1 of the paper; the others are similar systems.
std::vector<Method> linear_methods(const Normalizations& subject, const Tensor& gain) {
  const NormField column{.axes = {0}}, window{.window = {1}, .radius = 4};
  return {
      {"batch", normalized(subject, both(column)), "y-yyy-"},
      {"weight", weight_normalized(subject, gain, false), "y-y---"},
      {"layer", normalized(subject, rows), "yy-y-y"},
      {"rms", normalized(subject, {.center = {}, .scale = {.axes = {1}}}), ""},
      {"group of 10", normalized(subject, both({.axes = {1}, .groups = 3})), ""},
      {"divisive", normalized(subject, both(window)), ""},
      {"divisive, sigma 1", normalized(subject, both(window), {.epsilon = 1}), ""},
      {"weight, then layer", weight_normalized(subject, gain, true), ""},
      {"none", [](const Tensor& v, const Tensor& d) { return matmul(d, v); }, ""},
  };
}

void fully_connected(Report& report, const Normalizations& subject, Random& random) {
  constexpr Index in = 20, out = 30, cases = 16;
  const Tensor w = random.normal({in, out}), x = random.normal({cases, in}, 0.5);
  const std::vector<Change> changes = linear_changes(w, x, random);
  const Tensor gain = random.uniform({1, out}, 0.5, 2);
  const std::vector<Method> methods = linear_methods(subject, gain);
  const auto sizes = measure(methods, changes, w, x);
  report.table(as_table("A linear layer: largest relative change of the normalized sums", methods,
                        changes, sizes));
  report.heat_map("linear",
                  as_map("Which changes of weights or data affect the sums of a linear layer",
                         methods, changes, sizes),
                  Talk::yes);
  const auto [right, all] = agreement(methods, sizes);
  report.claim("Table 1 of Ba et al.: invariance of batch, weight and layer normalization.",
               fmt::format("{} of its {} cells are as measured", right, all), right == all,
               "invariant: below 1e-9");
  const double weight_scaled_data = sizes[1][3];
  report.claim(
      "Section 5.1 states that all three are invariant to a scaling of the data; by table 1, "
      "weight normalization is not. The table is right.",
      fmt::format("weight normalization changes by {:.2f}", weight_scaled_data),
      weight_scaled_data > 0.1 && sizes[0][3] < invariant_below && sizes[2][3] < invariant_below,
      "above 0.1; batch and layer normalization below 1e-9");
  const double alone = sizes[2][2], combined = sizes[7][2];
  report.claim(
      "Weight normalization followed by layer normalization also undoes a scaled vector, "
      "which layer normalization alone does not.",
      fmt::format("change {:.2f} alone, {:.1e} together", alone, combined),
      alone > 0.1 && combined < invariant_below, "above 0.1 alone, below 1e-9 together");
  added_constants(report, subject, w, x);
}

// Changes of 6 filters of 3 x 3 for 3 channels, and of 4 cases.
std::vector<Change> convolution_changes(Random& random) {
  const Tensor bank = random.normal({1, 3, 3, 3}), channel = random.normal({1, 3, 1, 1});
  return {
      {"bank scaled", [](const Tensor& v, const Tensor& d) { return std::pair(v * 3.0, d); }},
      {"bank centered", [=](const Tensor& v, const Tensor& d) { return std::pair(v + bank, d); }},
      {"filter scaled",
       [](const Tensor& v, const Tensor& d) {
         return std::pair(v * one_other({6, 1, 1, 1}, 1, 3), d);
       }},
      {"data scaled", [](const Tensor& v, const Tensor& d) { return std::pair(v, d * 3.0); }},
      {"data centered",
       [=](const Tensor& v, const Tensor& d) { return std::pair(v, d + channel); }},
      {"case scaled",
       [](const Tensor& v, const Tensor& d) {
         return std::pair(v, d * one_other({4, 1, 1, 1}, 1, 3));
       }},
      {"case centered",
       [](const Tensor& v, const Tensor& d) {
         return std::pair(v, d + one_other({4, 1, 1, 1}, 1, 3) - 1.0);
       }},
  };
}

void convolution(Report& report, const Normalizations& subject, Random& random) {
  const Tensor w = random.normal({6, 3, 3, 3}), x = random.normal({4, 3, 8, 8}, 0.4);
  const std::vector<Change> changes = convolution_changes(random);
  const auto by = [&](const NormField& field) -> LayerOf {
    return [=, &subject](const Tensor& v, const Tensor& d) {
      return subject.normalize(conv2d(d, v), both(field), sharp);
    };
  };
  const std::vector<Method> methods{{"batch", by({.axes = {0, 2, 3}}), "y-yyy--"},
                                    {"layer, all of an image", by({.axes = {1, 2, 3}}), "y--y-y-"},
                                    {"layer, each position", by({.axes = {1}}), "yy-y-y-"},
                                    {"instance", by({.axes = {2, 3}}), "y-yyyyy"},
                                    {"group", by({.axes = {1, 2, 3}, .groups = 2}), "y--y-y-"}};
  const auto sizes = measure(methods, changes, w, x);
  report.table(as_table("A convolution without padding", methods, changes, sizes));
  report.heat_map("convolution", as_map("Which changes affect the outputs of a convolution",
                                        methods, changes, sizes));
  report.claim(
      "Layer normalization loses its invariance to a centered bank of filters when its "
      "statistics are pooled over positions, and keeps it position by position.",
      fmt::format("change {:.2f} pooled, {:.1e} by position", sizes[1][1], sizes[2][1]),
      sizes[1][1] > 0.01 && sizes[2][1] < invariant_below,
      "above 0.01 pooled, below 1e-9 by position");
  double worst = 0;
  for (std::size_t j = 0; j < changes.size(); ++j)
    if (j != 1) worst = std::max(worst, sizes[3][j]);
  report.claim("Instance normalization has every invariance except to a centered bank.",
               fmt::format("largest other change {:.1e}; centered bank {:.2f}", worst, sizes[3][1]),
               worst < invariant_below && sizes[3][1] > 0.01,
               "others below 1e-9, centered bank above 0.01");
}

void epsilon_curve(Report& report, const Normalizations& subject, Random& random) {
  const Tensor a = random.normal({200, 256});
  const auto with = [&](double epsilon, const Tensor& x) {
    return subject.normalize(x, rows, {.epsilon = epsilon});
  };
  Diagram diagram{
      "What epsilon 1e-5 does to scale invariance", "log10 of 1 / factor", "change", {}};
  Series measured{"measured", {}}, formula{"1 - s / sqrt(s^2 + eps)", {}};
  double largest = 0, recentered = 0;
  for (int i = 0; i <= 16; ++i) {
    const double power = i / 4.0, factor = std::pow(10, -power);
    const double size = 1 - norm(with(1e-5, a * factor)).item() / norm(with(0, a)).item();
    const Tensor deviation = stddev(a, -1) * factor;
    const double expected =
        1 - std::sqrt(mean(square(deviation) / (square(deviation) + 1e-5)).item());
    measured.points.emplace_back(power, size);
    formula.points.emplace_back(power, expected);
    largest = std::max(largest, std::abs(size - expected));
    recentered =
        std::max(recentered, change(with(1e-5, a * factor + 2.0 * factor), with(1e-5, a * factor)));
  }
  diagram.series = {measured, formula};
  diagram.caption =
      "The curves coincide. Epsilon does not affect inputs of the usual size, on the left; inputs "
      "much smaller than its root, on the right, are lost.";
  report.figure("epsilon", diagram);
  report.claim(
      "With epsilon the invariances to centering stay exact, and those to scaling fail by "
      "1 - s / sqrt(s^2 + epsilon): a hundredth of the usual size costs much.",
      fmt::format("largest distance from the formula {:.1e}, largest change when recentered "
                  "{:.1e}, change at a factor of 1/100 {:.2f}",
                  largest, recentered, measured.points[8].second),
      largest < 1e-9 && recentered < 1e-9 && measured.points[8].second > 0.01,
      "distance and recentered change below 1e-9; change at 1/100 above 0.01");
}

}  // namespace

void lab::measure_invariance(Report& report, const Normalizations& subject, Random random) {
  fully_connected(report, subject, random);
  convolution(report, subject, random);
  epsilon_curve(report, subject, random);
}

namespace {

const registry::Entry entry([] {
  return Study{
      .name = "invariance",
      .summary = "Measures which normalizations undo which changes.",
      .title = "Which normalizations undo which changes",
      .introduction =
          "Every cell is measured: the largest change of the outputs, relative to the largest "
          "output, when weights or data are scaled by 3 or moved; \"invariant\" is below 1e-9. "
          "Normalizations are without epsilon unless it is named.",
      .seed = "Seed of weights and data",
      .run = [](StudyRun& run) { measure_invariance(run.report, {}, run.random()); }};
});

}  // namespace
