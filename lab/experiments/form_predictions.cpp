// The predictions of lab/docs/forms.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiments/forms.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// Points of error within which forms are called equal.
constexpr double margin = 1, wide_margin = 2;

// The verdict of a prediction on one column, if the prediction is about it.
using ColumnJudge = std::function<std::optional<Judgement>(const FormColumn&)>;

const FormCell* find(const FormColumn& column, const std::string& form) {
  const auto found = column.cells.find(form);
  return found == column.cells.end() ? nullptr : &found->second;
}

std::string to_string(const Advantage& found) {
  return fmt::format("{:+.2f} +- {:.2f}", found.mean, found.half_width);
}

// That `a` is at least `least` points ahead of `b`: for a negative number, at most so far behind.
std::optional<Judgement> ahead(const FormColumn& column, const std::string& a, const std::string& b,
                               double least) {
  const FormCell *one = find(column, a), *other = find(column, b);
  if (!one || !other) return {};
  const Advantage found = advantage(*one, *other);
  const bool for_it = found.mean - found.half_width > least,
             against_it = found.mean + found.half_width < least;
  return Judgement{for_it       ? Verdict::supported
                   : against_it ? Verdict::contradicted
                                : Verdict::inconclusive,
                   to_string(found)};
}

std::optional<Judgement> within(const FormColumn& column, const std::string& a,
                                const std::string& b, double most) {
  const FormCell *one = find(column, a), *other = find(column, b);
  if (!one || !other) return {};
  const Advantage found = advantage(*one, *other);
  const double distance = std::abs(found.mean);
  return Judgement{distance + found.half_width < most   ? Verdict::supported
                   : distance - found.half_width > most ? Verdict::contradicted
                                                        : Verdict::inconclusive,
                   to_string(found)};
}

bool learns(const FormColumn& column, const std::string& form) {
  const FormCell* cell = find(column, form);
  return cell && cell->has_learned();
}

bool is(const FormColumn& column, const char* optimizer, const char* initial, Index least_layers) {
  return column.setting.optimizer == optimizer && column.setting.initial == initial &&
         column.setting.layers >= least_layers;
}

// That the worst of several forms is within `wide_margin` of the best.
std::optional<Judgement> close_together(const FormColumn& column,
                                        const std::vector<std::string>& forms) {
  std::string best, worst;
  for (const std::string& form : forms) {
    const FormCell* cell = find(column, form);
    if (!cell) return {};
    const double error = cell->spread().mean;
    if (best.empty() || error < find(column, best)->spread().mean) best = form;
    if (worst.empty() || error > find(column, worst)->spread().mean) worst = form;
  }
  return within(column, best, worst, wide_margin);
}

std::vector<std::string> forms_of_factor_one() {
  std::vector<std::string> names;
  for (const Form& form : sixteen_forms())
    if (!form.divided) names.push_back(form.name());
  return names;
}

// Nothing if no column was trained of which the prediction speaks.
std::optional<JudgedClaim> judge(const std::string& statement,
                                 const std::vector<FormColumn>& columns,
                                 const ColumnJudge& of_column) {
  std::vector<std::pair<std::string, Judgement>> parts;
  for (const FormColumn& column : columns)
    if (const std::optional<Judgement> found = of_column(column))
      parts.emplace_back(column.setting.name(), *found);
  if (parts.empty()) return {};
  return JudgedClaim{"", statement, fmt::format("in {} settings", parts.size()), all_of(parts)};
}

const std::string no_norm = no_norm_form.name(), layer_norm = layer_norm_form.name(),
                  backward_alone = backward_form.name(), forward_alone = forward_form.name();

// What some forms misread beyond others, in points of error, seed by seed.
Advantage errors_beyond(const std::vector<const FormCell*>& forms,
                        const std::vector<const FormCell*>& others) {
  std::map<std::uint64_t, std::vector<double>> by_seed;
  double variance = 0;  // over test images
  for (const auto& [cells, sign] : {std::pair{forms, 1.0}, std::pair{others, -1.0}})
    for (const FormCell* cell : cells) {
      const double share = cell->spread().mean / 100;
      variance += share * (1 - share) / cell->images;
      for (const auto& [seed, error] : cell->errors) by_seed[seed].push_back(sign * error);
    }
  std::vector<double> differences;
  for (const auto& [seed, errors] : by_seed)
    if (errors.size() == forms.size() + others.size())
      differences.push_back(std::accumulate(errors.begin(), errors.end(), 0.0));
  const Spread spread(differences);
  const std::size_t n = differences.size();
  if (n < 2) return {spread.mean, INFINITY, n};
  Advantage found{spread.mean, 0, n, spread.deviation / std::sqrt(n),
                  1.96 * 100 * std::sqrt(variance)};
  found.half_width = std::hypot(found.seeds_width(), found.items_width);
  return found;
}

}  // namespace

Advantage advantage(const FormCell& a, const FormCell& b) { return errors_beyond({&b}, {&a}); }

Advantage interaction(const FormCell& whole, const FormCell& backward, const FormCell& forward,
                      const FormCell& none) {
  return errors_beyond({&backward, &forward}, {&whole, &none});
}

std::vector<JudgedClaim> form_predictions(const std::vector<FormColumn>& columns) {
  std::vector<JudgedClaim> claims;
  const auto predict = [&](const std::string& statement, const ColumnJudge& of_column) {
    if (const auto claim = judge(statement, columns, of_column)) claims.push_back(*claim);
  };
  const auto unless = [](bool silent, const auto& judgement) {
    return silent ? std::optional<Judgement>() : judgement();
  };
  predict(
      "With Adam, wherever a net without norms learns, the backward pass of layer normalization "
      "alone comes within a point of it",
      [&](const FormColumn& c) {
        return unless(c.setting.optimizer != "adam" || !learns(c, no_norm),
                      [&] { return within(c, backward_alone, layer_norm, margin); });
      });
  predict(
      "With momentum, small initial weights and 6 layers or more, the backward pass alone stays "
      "more than a point behind",
      [&](const FormColumn& c) {
        return unless(!is(c, "momentum", "uniform", 6),
                      [&] { return ahead(c, layer_norm, backward_alone, margin); });
      });
  predict(
      "With Adam, small initial weights and 6 layers or more, the forward pass alone stays more "
      "than a point behind layer normalization",
      [&](const FormColumn& c) {
        return unless(!is(c, "adam", "uniform", 6),
                      [&] { return ahead(c, layer_norm, forward_alone, margin); });
      });
  predict(
      "With Adam, small initial weights and 6 layers or more, the backward pass alone is ahead "
      "of the forward pass alone",
      [&](const FormColumn& c) {
        return unless(!is(c, "adam", "uniform", 6),
                      [&] { return ahead(c, backward_alone, forward_alone, 0); });
      });
  predict(
      "With momentum, small initial weights and 6 layers or more, the forward pass alone is "
      "ahead of the backward pass alone",
      [&](const FormColumn& c) {
        return unless(!is(c, "momentum", "uniform", 6),
                      [&] { return ahead(c, forward_alone, backward_alone, 0); });
      });
  predict(
      "With He's initial weights, wherever a net without norms learns, the forms of factor 1 "
      "lie within two points of each other",
      [&](const FormColumn& c) {
        return unless(c.setting.initial != "he" || !learns(c, no_norm),
                      [&] { return close_together(c, forms_of_factor_one()); });
      });
  for (const char* form : {"x, 1/s, none", "x, 1/s, center", "x, 1/s, scale", "x, 1/s, both"})
    predict(
        fmt::format("The factor 1/s without a normalized forward pass never pays: {} is nowhere "
                    "ahead of no norm",
                    form),
        [&](const FormColumn& c) { return ahead(c, no_norm, form, 0); });
  predict(
      "With small initial weights and 24 layers, layer normalization learns where a net without "
      "norms does not",
      [&](const FormColumn& c) -> std::optional<Judgement> {
        if (c.setting.initial != "uniform" || c.setting.layers < 24) return {};
        if (!find(c, no_norm) || !find(c, layer_norm)) return {};
        const bool as_said = learns(c, layer_norm) && !learns(c, no_norm);
        return Judgement{as_said ? Verdict::supported : Verdict::contradicted,
                         fmt::format("{:.1f} % and {:.1f} %", find(c, layer_norm)->spread().mean,
                                     find(c, no_norm)->spread().mean)};
      });
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
