#include "experiments/gradient_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// Calls visit(first, end) for the records of each step, in order.
template <class Visit>
void each_step(const Course& course, const Visit& visit) {
  const auto& records = course.norms;
  for (auto first = records.begin(); first != records.end();) {
    const auto end = std::find_if(first, records.end(),
                                  [&](const NormRecord& r) { return r.step != first->step; });
    visit(first, end);
    first = end;
  }
}

double ratio_of_sums(auto first, auto end) {
  double before = 0, after = 0;
  for (; first != end; ++first) {
    before += first->variance_ratio * first->variance_after;
    after += first->variance_after;
  }
  return before / after;
}

const Metric scale{.value = "scale", .higher_is_better = true};  // log10 of the last s

Results last_scales(const std::vector<Course>& courses) {
  Results results{courses.front().norm};
  for (const Course& course : courses)
    results.runs.push_back(
        {.curve = {{1, 0}}, .values = {{scale.value, scale_curve(course).points.back().second}}});
  return results;
}

// The mean of a curve over a tenth of its points, which begins there.
double tenth(const Series& curve, std::size_t begin) {
  const std::size_t count = std::max<std::size_t>(1, curve.points.size() / 10);
  double sum = 0;
  for (std::size_t i = begin; i < begin + count; ++i) sum += curve.points[i].second;
  return sum / count;
}

}  // namespace

bool mean_attached(const std::string& norm) { return !NormSpec(norm).statistics.detach_mean; }
bool scale_attached(const std::string& norm) { return !NormSpec(norm).statistics.detach_scale; }

Summary::Summary(const Course& course)
    : ratio(ratio_of_sums(course.norms.begin(), course.norms.end())) {
  double variance = 0;
  for (const NormRecord& r : course.norms) {
    variance += r.variance_after;
    mean_after += r.mean_after * r.mean_after;
    mean_before += r.mean_scaled * r.mean_scaled;
    const double expected = mean_attached(course.norm) ? 0 : r.mean_after;
    greatest_error =
        std::max(greatest_error, std::abs(r.mean_scaled - expected) / std::sqrt(r.variance_after));
    greatest_ratio = std::max(greatest_ratio, r.greatest_ratio);
    least_ratio = std::min(least_ratio, r.variance_ratio);
  }
  mean_after = std::sqrt(mean_after / variance);
  mean_before = std::sqrt(mean_before / variance);
}

double drift(const Course& course) {
  std::map<std::string, std::vector<const NormRecord*>> by_norm;
  for (const NormRecord& r : course.norms) by_norm[r.norm].push_back(&r);
  double total = 0;
  for (const auto& [norm, records] : by_norm) {
    double least = INFINITY, greatest = -INFINITY, deviation = 0;
    for (const NormRecord* r : records) {
      least = std::min(least, r->input_mean);
      greatest = std::max(greatest, r->input_mean);
      deviation += std::sqrt(r->input_variance) / records.size();
    }
    total += (greatest - least) / deviation / by_norm.size();
  }
  return total;
}

double radial_part(const Course& course, const std::string& weight) {
  double sum = 0, count = 0;
  for (const WeightRecord& r : course.weights) {
    if (r.weight != weight) continue;
    sum += std::abs(r.radial) / (r.norm * r.gradient_norm);
    ++count;
  }
  return sum / count;
}

Series ratio_curve(const Course& course) {
  Series series{course.norm, {}};
  each_step(course, [&](auto first, auto end) {
    series.points.emplace_back(first->step, ratio_of_sums(first, end));
  });
  return series;
}

Series scale_curve(const Course& course) {
  Series series{course.norm, {}};
  each_step(course, [&](auto first, auto end) {
    double sum = 0;
    for (auto r = first; r != end; ++r) sum += std::log10(r->input_variance) / 2;
    series.points.emplace_back(first->step, sum / (end - first));
  });
  return series;
}

Series gradient_by_depth(const Course& course) {
  std::vector<double> sums;
  double steps = 0;
  const Index half = course.norms.back().step / 2;
  each_step(course, [&](auto first, auto end) {
    if (first->step <= half) return;
    ++steps;
    sums.resize(end - first);
    for (double& sum : sums) sum += std::log10((first++)->variance_before);
  });
  Series series{course.norm, {}};
  for (const double sum : sums) series.points.emplace_back(series.points.size(), sum / steps);
  return series;
}

Claim recentering(const std::string& net, const std::vector<Course>& courses, double tolerance) {
  double attached = 0, detached = 0;
  for (const Course& course : courses) {
    double& error = mean_attached(course.norm) ? attached : detached;
    error = std::max(error, Summary(course).greatest_error);
  }
  return {net +
              ": an attached mean takes the mean out of every gradient; with the mean detached it "
              "passes, divided by s.",
          fmt::format("largest distances from 0 and from the mean after, in deviations: {:.1e} and "
                      "{:.1e}",
                      attached, detached),
          attached < tolerance && detached < tolerance, fmt::format("{:g} deviations", tolerance)};
}

Claim rescaling(const std::string& net, const std::vector<Course>& courses, double tolerance) {
  double greatest = 0, attached = 0, detached = 0;
  for (const Course& course : courses) {
    const Summary summary(course);
    greatest = std::max(greatest, summary.greatest_ratio);
    if (scale_attached(course.norm))
      attached = std::max(attached, summary.ratio);
    else
      detached = std::max({detached, summary.greatest_ratio - 1, 1 - summary.least_ratio});
  }
  return {
      net +
          ": an attached deviation shrinks the variance of the gradient by more than a division by "
          "s; a detached one only divides.",
      fmt::format("ratio at most {:.4f} attached; detached 1 to within {:.1e}; largest of all 1 "
                  "{:+.1e}",
                  attached, detached, greatest - 1),
      greatest < 1 + tolerance && attached < 1 - tolerance && detached < tolerance,
      fmt::format("{:g}", tolerance)};
}

Claim orthogonality(const Course& attached, const Course& detached, const std::string& weight) {
  const double without = radial_part(attached, weight), with = radial_part(detached, weight);
  return {
      "The loss does not depend on the size of a weight before a normalization, so the gradient "
      "has no radial part <W, dL/dW>; with a detached deviation it has.",
      fmt::format("|<W, dL/dW>| / (|W| |dL/dW|) of the first layer: {:.1e} attached, {:.1e} "
                  "detached",
                  without, with),
      without < 0.01 && with > 10 * without, "below 0.01 attached, ten times that detached"};
}

Series first_gradient(const Course& course) {
  Series series{course.norm, {}};
  each_step(course, [&](auto first, auto) {
    series.points.emplace_back(first->step, std::log10(first->variance_before));
  });
  return series;
}

Claim scale_grows(const std::vector<Course>& attached, const std::vector<Course>& detached) {
  const Results whole = last_scales(attached), cut = last_scales(detached);
  const Judgement found = better(scale, cut, whole);
  return {fmt::format("Without the gradient through the scale, s runs away: after the last step it "
                      "is larger with {} than with {}, by more than the 95 % interval over seeds.",
                      cut.system, whole.system),
          fmt::format("s in the geometric mean over norms and seeds: {:.3g} against {:.3g}; its "
                      "log10: {}",
                      std::pow(10, cut.spread(scale).mean), std::pow(10, whole.spread(scale).mean),
                      found.reason),
          found.verdict == Verdict::supported, "the 95 % interval over seeds"};
}

std::string gradient_sizes(const std::vector<Course>& attached,
                           const std::vector<Course>& detached) {
  std::vector<double> early, late;  // log10 of the ratios, seed by seed
  for (std::size_t i = 0; i < attached.size(); ++i) {
    const Series whole = first_gradient(attached[i]), cut = first_gradient(detached[i]);
    const std::size_t last =
        whole.points.size() - std::max<std::size_t>(1, whole.points.size() / 10);
    early.push_back(tenth(cut, 0) - tenth(whole, 0));
    late.push_back(tenth(cut, last) - tenth(whole, last));
  }
  return fmt::format(
      "The variance of the gradient before the first norm, {} divided by {}: its log10 is {} in "
      "the "
      "first tenth of the run and {} in the last ({} seeds).",
      detached.front().norm, attached.front().norm, Spread(early).to_string(2),
      Spread(late).to_string(2), attached.size());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
