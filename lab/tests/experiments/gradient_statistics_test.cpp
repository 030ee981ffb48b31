#include "experiments/gradient_statistics.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using Catch::Contains;

namespace {

constexpr double tolerance = 1e-3;

/// Ten steps of two norms, as in theorem 1. s grows by `growth` in each step.
Course course(const std::string& norm, double growth = 1) {
  Course course{norm, {}, {}};
  const double ratio = scale_attached(norm) ? 0.9 : 1;
  for (Index step = 1; step <= 10; ++step)
    for (const char* name : {"first", "second"}) {
      const double variance = std::pow(growth, 2 * static_cast<double>(step));  // s^2
      course.norms.push_back({.step = step,
                              .norm = name,
                              .input_mean = 0,
                              .input_variance = variance,
                              .mean_after = 0.1,
                              .mean_before = 0,
                              .variance_after = 1,
                              .variance_before = ratio / variance,
                              .variance_ratio = ratio,
                              .greatest_ratio = ratio,
                              .mean_scaled = mean_attached(norm) ? 0 : 0.1});
    }
  return course;
}

std::vector<Course> forms() {
  return {course("layer_simple"), course("detach_mean"), course("detach_variance"),
          course("detach")};
}

/// The four forms with one value of one record changed.
std::vector<Course> planted(std::size_t form, double NormRecord::*member, double value) {
  std::vector<Course> courses = forms();
  courses[form].norms[7].*member = value;
  return courses;
}

std::vector<Course> seeds(const std::string& norm, const std::vector<double>& growths) {
  std::vector<Course> courses;
  for (const double growth : growths) courses.push_back(course(norm, growth));
  return courses;
}

}  // namespace

TEST_CASE("the claim about re-centering fails if a mean stays or is lost") {
  CHECK(recentering("net", forms(), tolerance).holds);
  for (const std::size_t attached : {0u, 2u})
    CHECK_FALSE(
        recentering("net", planted(attached, &NormRecord::mean_scaled, 0.01), tolerance).holds);
  for (const std::size_t detached : {1u, 3u})
    CHECK_FALSE(
        recentering("net", planted(detached, &NormRecord::mean_scaled, 0.09), tolerance).holds);
}

TEST_CASE(
    "the claim about re-scaling fails if a variance grows, or shrinks with a detached scale") {
  CHECK(rescaling("net", forms(), tolerance).holds);
  for (const std::size_t form : {0u, 1u, 2u, 3u})
    CHECK_FALSE(
        rescaling("net", planted(form, &NormRecord::greatest_ratio, 1.01), tolerance).holds);
  for (const std::size_t detached : {2u, 3u})
    CHECK_FALSE(
        rescaling("net", planted(detached, &NormRecord::variance_ratio, 0.98), tolerance).holds);
  std::vector<Course> courses = forms();
  for (NormRecord& record : courses[0].norms) record.variance_ratio = 1;
  CHECK_FALSE(rescaling("net", courses, tolerance).holds);
}

TEST_CASE("the claim about the radial part fails with either form in the place of the other") {
  Course attached = course("layer_simple"), detached = course("detach");
  attached.weights = {
      {.step = 1, .weight = "w", .norm = 2, .gradient_norm = 3, .radial = 1e-4, .angle = 0}};
  detached.weights = {
      {.step = 1, .weight = "w", .norm = 2, .gradient_norm = 3, .radial = -0.6, .angle = 0}};
  CHECK(orthogonality(attached, detached, "w").holds);
  CHECK_FALSE(orthogonality(detached, detached, "w").holds);
  CHECK_FALSE(orthogonality(attached, attached, "w").holds);
}

TEST_CASE("the claim that s runs away fails if it does not, or with some seeds only") {
  const auto attached = seeds("layer_simple", {1, 1.02, 0.98});
  CHECK(scale_grows(attached, seeds("detach", {1.5, 1.6, 1.4})).holds);
  for (const std::vector<double>& growths :
       std::vector<std::vector<double>>{{1, 1.02, 0.98}, {0.5, 0.6, 0.7}, {1.5, 0.9, 0.9}})
    CHECK_FALSE(scale_grows(attached, seeds("detach", growths)).holds);
}

TEST_CASE("gradients are compared at the first norm, early and late") {
  // s is 10 to the power of the step: the variance falls by 2 decades more in each of ten steps.
  const std::string sentence =
      gradient_sizes(seeds("layer_simple", {1, 1}), seeds("detach", {10, 10}));
  const double lost = std::log10(0.9);  // with the scale attached
  CHECK_THAT(sentence, Contains(fmt::format("{:.2f} +- 0.00 in the first tenth", -2 - lost)));
  CHECK_THAT(sentence, Contains(fmt::format("{:.2f} +- 0.00 in the last (2 seeds)", -20 - lost)));
}

TEST_CASE("ratios of records are weighted by the variance of their gradients") {
  Course mixed = course("layer_simple");
  mixed.norms.resize(2);
  mixed.norms[0].variance_ratio = 0.5;
  mixed.norms[1].variance_after = 9;
  mixed.norms[1].variance_ratio = 1;
  CHECK(Summary(mixed).ratio == Approx(0.95));
  CHECK(ratio_curve(mixed).points[0].second == Approx(0.95));
  CHECK(Summary(mixed).mean_after == Approx(0.1 / std::sqrt(5.0)));
}

TEST_CASE("a probe weights the ratios of rows by the variance of their gradients") {
  Random random(1);
  struct Net {
    Norm norm{"layer_simple", 8};
    void visit(Fields& field) const { field("norm", norm); }
  };
  const Net net;
  const Tensor rows = random.normal({2, 8}), noise = random.normal({2, 8});
  Parameter x(rows);
  // Along the output in the first row, which has small gradients, and beside it in the second.
  const Tensor g =
      tapegrad::layer_norm(rows) * Tensor({2, 1}, {0.1, 0.0}) + noise * Tensor({2, 1}, {0.01, 1.0});
  Probe probe(fields(net));
  const Tape tape;
  const AroundNorms seen(probe.around());
  const std::vector<Tensor> gradients = grad(sum(net.norm(x) * g), std::vector<Parameter>{x});
  probe.around_update(1, {x}, gradients, [] {});
  REQUIRE(probe.norms().size() == 1);

  const Tensor before = var(gradients[0], 1) * (var(rows, 1) + 1e-5), after = var(g, 1);
  CHECK(probe.norms()[0].variance_ratio == Approx((sum(before) / sum(after)).item()).epsilon(1e-3));
  // The mean of the ratios is another number.
  CHECK(mean(before / after).item() < 0.9 * probe.norms()[0].variance_ratio);
}
