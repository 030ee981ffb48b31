#include "tapegrad/inspect/internal/trace_words.h"

#include <fmt/format.h>

#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

bool close(double x, double y) { return std::abs(x - y) <= 2e-5 * std::abs(y); }

}  // namespace

std::optional<std::string> known_factor(double c, const TraceSizes& sizes, const char* other,
                                        bool of_gradients) {
  const auto times = [&](const std::string& words) {
    return fmt::format("{:.6g} times {}: {}", c, other, words);
  };
  if (close(c, -1)) return "the opposite sign";
  for (const Index n : sizes.reduced) {
    const double unbiased = static_cast<double>(n) / static_cast<double>(n - 1);
    for (const auto& [factor, kind] : {std::pair(unbiased, "unbiased"), {1 / unbiased, "biased"}}) {
      if (n < 3) continue;
      if (close(c, factor))
        return times(fmt::format("the {} variance of n = {}, by n/(n-1)", kind, n));
      if (close(c, std::sqrt(factor)))
        return times(fmt::format("the deviation by the {} variance of n = {}", kind, n));
    }
  }
  if (close(c, 2) || close(c, 0.5))
    return times(of_gradients
                     ? "a factor of 2, as where a square loses its half or one of two uses is cut"
                     : "a factor of 2, as of a squared error, or dropout of rate 0.5");
  for (const Index n : sizes.runs) {
    const double size = static_cast<double>(n);
    if (close(c, size)) return times(fmt::format("a sum over {} rather than a mean", n));
    if (close(c, 1 / size)) return times(fmt::format("a mean over {} rather than a sum", n));
  }
  for (const Index n : sizes.extents) {
    const double size = static_cast<double>(n);
    if (close(c, std::sqrt(size)))
      return times(fmt::format("the root of {}: a scale of 1/sqrt({}) is missing", n, n));
    if (close(c, 1 / std::sqrt(size))) return times(fmt::format("a scale of 1/sqrt({})", n));
  }
  for (const double base : {2.0, 10.0})
    if (close(c, 1 / std::log(base))) return times(fmt::format("a logarithm to base {}", base));
  for (int percent = 5; percent <= 60; percent += 5)
    if (close(c, 100.0 / (100 - percent)))
      return times(fmt::format("divided by {0:.2f}, as by dropout of rate {1:.2f}",
                               1 - percent / 100.0, percent / 100.0));
  return {};
}

std::optional<std::string> known_shift(double c, const TraceSizes& sizes) {
  for (const double own : usual_epsilons)
    for (const double other : usual_epsilons)
      if (own != other && std::abs(c - (own - other)) < 1e-3 * std::abs(c))
        return fmt::format("epsilon {} rather than {}", own, other);
  for (const Index n : sizes.extents)
    if (close(std::abs(c), std::log(static_cast<double>(n))))
      return fmt::format("{} by log({}): a sum rather than a mean within a logarithm",
                         c > 0 ? "larger" : "smaller", n);
  return {};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
