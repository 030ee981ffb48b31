// Theorem 2 of Xu et al. 2019: a factor phi, the same function for every row, with mean C over
// every normalized row y and a bounded mean output mean(phi(y) y) must be C (1 - k y). The first
// condition is linear in phi. In a basis of functions it is a system of equations, one for each
// row, whose solutions are C and the null space.

#include <algorithm>
#include <cmath>

#include "experiments/float64/subjects.h"
#include "experiments/study.h"
#include "tapegrad/linalg.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

constexpr double zero_below = 1e-9;
constexpr Index degree = 8;

/// Normal, skewed and heavy-tailed rows, normalized: (rows, length).
Tensor normalized_rows(const NormalizedRows& subject, Index length, Random& random) {
  const Tensor normal = random.normal({200, length});
  const Tensor heavy = normal / (0.01 + abs(random.normal({200, length})));
  return subject.normalize(concat({normal, exp(normal), heavy}));
}

/// Chebyshev polynomials of y over its largest size: (rows, length, degree + 1).
Tensor polynomials(const Tensor& y) {
  const Tensor t = y / max(abs(y)).item();
  std::vector<Tensor> list{ones(y.shape()), t};
  while (list.size() <= degree) list.push_back(2.0 * t * list.back() - list[list.size() - 2]);
  return stack(list, -1);
}

/// Functions that are 1 at one whole number and fall to 0 at its neighbours. Their sums are all
/// piecewise linear functions with kinks at whole numbers.
Tensor piecewise_linear(const Tensor& y) {
  std::vector<Tensor> list;
  const double last = std::ceil(max(y).item());
  for (double peak = std::floor(min(y).item()); peak <= last; ++peak)
    list.push_back(relu(1 - abs(y - peak)));
  return stack(list, -1);
}

/// The functions in the span of a basis whose mean over each row is 0.
struct Solutions {
  Index functions;     ///< in the basis
  Index free;          ///< how many independent ones have mean 0 over all rows
  double least_break;  ///< the least mean of any function that is orthogonal to them, relative to
                       ///< its size; both are root mean squares, over rows and over elements
};

/// basis: (rows, length, functions), the values of the functions
Solutions solve(const Tensor& basis) {
  const Index rows = basis.shape()[0], length = basis.shape()[1], functions = basis.shape()[2];
  const double count = rows * length;
  const Tensor orthonormal = qr(reshape(basis, {rows * length, functions})).q * std::sqrt(count);
  const Tensor means = mean(reshape(orthonormal, basis.shape()), 1);
  const Tensor sizes = svd(means).s / std::sqrt(rows);
  Index broken = functions;
  while (broken > 0 && sizes.data()[broken - 1] < zero_below) --broken;
  return {functions, functions - broken, broken > 0 ? sizes.data()[broken - 1] : 0.0};
}

double largest_mean(const Tensor& values) { return max(abs(mean(values, -1))).item(); }

void polynomial_factors(Report& report, const NormalizedRows& subject, Random& random) {
  const Tensor y = normalized_rows(subject, 64, random);
  const Solutions found = solve(polynomials(y));
  const double family = std::max(largest_mean(y), largest_mean(square(y) - 1));
  report.claim(
      "Polynomials of degree 8 or less: the first condition leaves C (1 - k y) + b (y^2 - 1), and "
      "nothing else.",
      fmt::format(
          "rows of 64: {} of {} directions are free; the means of y and y^2 - 1 are 0 to "
          "{:.0e}; a step of size 1 in any other direction moves the mean by {:.2f} or more",
          found.free, found.functions, family, found.least_break),
      found.free == 2 && family < zero_below && found.least_break > 0.01,
      "two free directions, means below 1e-9, other moves above 0.01");
}

void piecewise_linear_factors(Report& report, const NormalizedRows& subject, Random& random) {
  const Tensor y = normalized_rows(subject, 64, random);
  const Solutions found = solve(piecewise_linear(y));
  report.claim(
      "Piecewise linear functions with kinks at the whole numbers: C (1 - k y), and nothing else.",
      fmt::format("{} of {} directions is free; the mean of y is 0 to {:.0e}; a step of size 1 in "
                  "any other direction moves the mean by {:.4f} or more",
                  found.free, found.functions, largest_mean(y), found.least_break),
      found.free == 1 && largest_mean(y) < zero_below && found.least_break > 1e-3,
      "one free direction, mean below 1e-9, other moves above 0.001");
}

void short_rows(Report& report, const NormalizedRows& subject, Random& random) {
  Table table{"Polynomials of degree 8 or less, by the length of the rows",
              {"H", "free directions", "least move of the mean in the others"},
              {}};
  Index free_of_four = 0, most_of_longer = 0;
  for (const Index length : {3, 4, 5, 8, 64, 512}) {
    const Solutions found = solve(polynomials(normalized_rows(subject, length, random)));
    if (length == 4) free_of_four = found.free;
    if (length > 4) most_of_longer = std::max(most_of_longer, found.free);
    table.rows.push_back({fmt::format("{}", length), fmt::format("{}", found.free),
                          fmt::format("{:.3f}", found.least_break)});
  }
  report.table(table);
  const Tensor four = normalized_rows(subject, 4, random);
  const Tensor cube = four * square(four);
  const double quintic = largest_mean(cube * square(four) - 10.0 / 3 * cube);
  report.claim(
      "The rows must have five elements: with four, y^5 - 10/3 y^3 has mean 0, too. (By Newton's "
      "identities, since the fifth symmetric polynomial of four values is 0.)",
      fmt::format(
          "free directions: {} with four elements, {} at most with five or more; the mean of "
          "that function over four elements is 0 to {:.0e}",
          free_of_four, most_of_longer, quintic),
      free_of_four == 3 && most_of_longer == 2 && quintic < zero_below,
      "three and two free directions, mean below 1e-9");
}

void bounded_output(Report& report, const NormalizedRows& subject) {
  constexpr double k = 0.1, b = 0.05;
  Series attached{"b = 0.05", {}}, without{"b = 0", {}}, formula{"b (H - 2) / sqrt(H - 1) - k", {}};
  double distance = 0;
  for (const Index length : {4, 16, 64, 256, 1024, 4096}) {
    // A row with a single 1 has the largest mean of y^3.
    const Tensor y = subject.normalize(one_hot(Indices({1}, {0}), length));
    const double H = length;
    const double linear = mean((1 - k * y) * y).item();
    const double found = linear + b * mean((square(y) - 1) * y).item();
    const double expected = b * (H - 2) / std::sqrt(H - 1) - k;
    distance = std::max({distance, std::abs(found - expected), std::abs(linear + k)});
    attached.points.emplace_back(std::log2(H), found);
    without.points.emplace_back(std::log2(H), linear);
    formula.points.emplace_back(std::log2(H), expected);
  }
  report.figure("output",
                {"Mean output on a row with a single 1, C = 1, k = 1/10",
                 "log2 H",
                 "mean of z",
                 {attached, without, formula},
                 false,
                 "The term b (y^2 - 1) keeps the mean factor, but the mean output grows "
                 "with the length of the row."},
                Talk::yes);
  report.claim(
      "The second condition excludes b (y^2 - 1), if the bound on the mean output may not depend "
      "on H: the mean grows like b sqrt(H). Without that term it is -C k.",
      fmt::format("{:.2f} at H = 4, {:.2f} at H = 4096; from the formulas by {:.1e}",
                  attached.points.front().second, attached.points.back().second, distance),
      distance < zero_below && attached.points.back().second > 2, "formulas within 1e-9");
}

}  // namespace

void lab::measure_theorem2(Report& report, const NormalizedRows& subject, Random random) {
  polynomial_factors(report, subject, random);
  piecewise_linear_factors(report, subject, random);
  short_rows(report, subject, random);
  bounded_output(report, subject);
}

namespace {

const registry::Entry entry([] {
  return Study{
      .name = "theorem2",
      .summary = "Seeks all factors that Theorem 2 allows AdaNorm.",
      .title = "Which factors Theorem 2 allows",
      .introduction =
          "AdaNorm multiplies a normalized row y by phi(y) = C (1 - k y). Theorem 2 of Xu et al. "
          "states that no other function has mean C over every row and a bounded mean output. The "
          "first condition is linear in phi, so it is solved here in two bases of functions, for "
          "600 rows at a time: normal, skewed and heavy-tailed ones, without epsilon.",
      .seed = "Seed of the rows",
      .run = [](StudyRun& run) { measure_theorem2(run.report, {}, run.random()); }};
});

}  // namespace
