#include "tapegrad/train/internal/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::detail {

double Axis::at(double value) const {
  const auto place = [&](double v) { return logarithmic ? std::log(v) : v; };
  const double first = place(ticks.front().value), last = place(ticks.back().value);
  return (place(value) - first) / (last - first);
}

Axis linear_axis(double least, double greatest) {
  const double smallest_span = 1e-9 * std::max({std::abs(least), std::abs(greatest), 1e-90});
  const double span = std::max(greatest > least ? greatest - least : 1, smallest_span);
  const double power = std::pow(10, std::floor(std::log10(span / 5)));
  const double count = span / 5 / power;
  const double step = power * (count < 1.5 ? 1 : count < 3.5 ? 2 : count < 7.5 ? 5 : 10);
  const double first = std::floor(least / step) * step;
  const double last = std::max(std::ceil(greatest / step) * step, first + step);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  constexpr double most_digits = 1e7;
  const bool exponents = std::max(std::abs(first), std::abs(last)) >= most_digits;
  Axis axis;
  for (int i = 0; i <= std::lround((last - first) / step); ++i) {
    const double value = first + i * step + 0.0;
    axis.ticks.push_back(
        {value, exponents ? fmt::format("{:g}", value) : fmt::format("{:.{}f}", value, decimals)});
  }
  return axis;
}

Axis logarithmic_axis(double least, double greatest, bool doublings) {
  const bool between = !doublings && greatest / least <= 2000;
  const double base = doublings ? 2 : 10, close = 1 + 1e-9;
  std::vector<double> values;
  for (double exponent = std::floor(std::log(least) / std::log(base) + 1e-9);
       values.size() < 2 || values.back() * close < greatest; ++exponent)
    for (const double factor : between ? std::vector<double>{1, 2, 5} : std::vector<double>{1})
      values.push_back(factor * std::pow(base, exponent));
  Axis axis{.ticks = {}, .logarithmic = true};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool before = i + 2 < values.size() && values[i + 1] <= least * close;
    const bool behind = axis.ticks.size() >= 2 && axis.ticks.back().value * close >= greatest;
    if (!before && !behind) axis.ticks.push_back({values[i], fmt::format("{:.12g}", values[i])});
  }
  return axis;
}

std::size_t label_stride(const Axis& axis, const std::vector<double>& sizes, double length) {
  constexpr double gap = 6;
  const auto fits = [&](std::size_t stride) {
    double end = -INFINITY;  // of the label before
    for (std::size_t i = 0; i < sizes.size(); i += stride) {
      const double middle = axis.at(axis.ticks[i].value) * length;
      if (middle - sizes[i] / 2 < end + gap) return false;
      end = middle + sizes[i] / 2;
    }
    return true;
  };
  std::size_t stride = 1;
  while (!fits(stride)) ++stride;
  return stride;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
