#include "experiments/matrix_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/drawing.h"
#include "experiments/verdict.h"
#include "tapegrad/io/csv.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using support::Drawing;
using support::Spot;

struct DetachedForm {
  const char* system;
  const char* title;
  const char* color;
};
constexpr DetachedForm detached_forms[] = {{"detach_mean", "mean detached", "blue"},
                                           {"detach_variance", "scale detached", "orange"},
                                           {"detach", "both detached", "red"}};

// What a system costs against layer_simple, in percent of its value.
struct Measured {
  double mean, half_width;
};
struct Cost {
  DetachedForm form;
  std::optional<Measured> measured;  ///< none if the system has not learned
  std::optional<double> published;   ///< none if a system diverged
  std::string words;                 ///< the same, measured in the unit of the task
};

struct Row {
  const MatrixColumn& column;
  std::vector<Cost> costs;
};

std::optional<double> published_cost(const PaperTask& task, const char* system) {
  const double attached = task.published_of("layer_simple"), detached = task.published_of(system);
  if (!std::isfinite(attached) || !std::isfinite(detached)) return {};
  return 100 * task.metric.advantage(attached, detached) / attached;
}

Row costs_of(const MatrixColumn& column) {
  Row row{column, {}};
  const PaperTask& task = column.task;
  const Results* attached = column.of("layer_simple");
  if (attached == nullptr || !has_learned(task.metric, *attached)) return row;
  const double whole = attached->spread(task.metric).mean;
  for (const DetachedForm& form : detached_forms) {
    const Results* detached = column.of(form.system);
    if (detached == nullptr) continue;
    Cost cost{form, {}, published_cost(task, form.system), "not learned"};
    if (has_learned(task.metric, *detached)) {
      const Advantage found = advantage(task.metric, *attached, *detached);
      cost.measured = {100 * found.mean / whole, 100 * found.half_width / whole};
      cost.words = fmt::format("{:+.{}f}", found.mean, task.decimals);
    }
    row.costs.push_back(cost);
  }
  return row;
}

// Percents across the page.
struct Axis {
  static constexpr double left = 190, right = 690;
  double least = -1, greatest = 1;

  void include(double percent) {
    least = std::min(least, percent);
    greatest = std::max(greatest, percent);
  }
  double at(double percent) const {
    return left + (right - left) * (percent - least) / (greatest - least);
  }
  // Between two ticks: 1, 2, 5, 10, ... percent, so that there are at most eight.
  double spacing() const {
    double step = 1;
    for (int i = 0; (greatest - least) / step > 8; ++i) step *= i % 3 == 1 ? 2.5 : 2;
    return step;
  }
};

constexpr double top = 112, row_height = 74, line_height = 17;

void draw_axis(Drawing& drawing, const Axis& axis, double bottom) {
  const double step = axis.spacing();
  for (double tick = std::ceil(axis.least / step) * step; tick <= axis.greatest; tick += step) {
    drawing.line({{axis.at(tick), top - 12}, {axis.at(tick), bottom}},
                 tick == 0 ? "faint" : "faint dashed");
    drawing.words({axis.at(tick), bottom + 18}, fmt::format("{:g} %", tick), "small middle faint");
  }
}

void draw_cost(Drawing& drawing, const Axis& axis, const Cost& cost, double y) {
  const auto level = [&](double from, double to) {
    return std::vector<Spot>{{axis.at(from), y}, {axis.at(to), y}};
  };
  if (cost.measured) {
    const auto [mean, half_width] = *cost.measured;
    drawing.line(level(mean - half_width, mean + half_width), cost.form.color);
    drawing.box({axis.at(mean) - 4, y - 4}, 8, 8, std::string("thick ") + cost.form.color);
  }
  if (cost.published) {
    const double x = axis.at(*cost.published);
    drawing.line({{x, y - 6}, {x, y + 6}}, "faint thick");
  }
  drawing.words({Axis::right + 90, y + 4}, cost.words, std::string("small end ") + cost.form.color);
}

std::string values_of(const std::vector<Row>& rows) {
  using Cells = std::vector<std::string>;
  std::string text;
  for (const Row& row : rows)
    for (const Cost& cost : row.costs)
      text += csv_line(Cells{row.column.task.name, cost.form.system,
                             cost.measured ? fmt::format("{}", cost.measured->mean) : cost.words,
                             cost.measured ? fmt::format("{}", cost.measured->half_width) : "",
                             cost.published ? fmt::format("{}", *cost.published) : ""});
  if (text.empty()) return text;
  return csv_line(Cells{"task", "system", "cost in percent", "half width", "published"}) + text;
}

}  // namespace

Picture detaching_costs(const Matrix& matrix) {
  std::vector<Row> rows;
  Axis axis;
  for (const MatrixColumn& column : matrix) {
    const Row row = costs_of(column);
    for (const Cost& cost : row.costs) {
      const auto [mean, half_width] = cost.measured.value_or(Measured{});
      axis.include(mean - half_width);
      axis.include(mean + half_width);
      axis.include(cost.published.value_or(0));
    }
    if (!row.costs.empty()) rows.push_back(row);
  }
  const double bottom = top + row_height * rows.size();
  Drawing drawing(800, bottom + 60);
  drawing.words({20, 30}, "What it costs to detach the statistics of layer normalization", "title");
  drawing.words(
      {20, 54},
      "How much worse the result on the test set is, in percent of the result with both attached.");
  for (std::size_t i = 0; i < std::size(detached_forms); ++i)
    drawing.words({20 + 140.0 * i, 78}, detached_forms[i].title,
                  std::string("strong ") + detached_forms[i].color);
  draw_axis(drawing, axis, bottom);
  double y = top;
  for (const Row& row : rows) {
    const PaperTask& task = row.column.task;
    drawing.words({20, y + 14}, task.title, "strong");
    drawing.words({20, y + 32},
                  fmt::format("{:.{}f} {}", row.column.of("layer_simple")->spread(task.metric).mean,
                              task.decimals, task.unit),
                  "small faint");
    for (std::size_t i = 0; i < row.costs.size(); ++i)
      draw_cost(drawing, axis, row.costs[i], y + 8 + line_height * i);
    y += row_height;
  }
  drawing.words({20, bottom + 46},
                "Lines: 95 %. Grey bars: published. Right: the cost in the unit of the task. A "
                "positive cost: attached is better.",
                "small faint");
  return {drawing.svg(), values_of(rows)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
