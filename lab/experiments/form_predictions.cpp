// The predictions of lab/docs/forms.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

constexpr const char *no_norm = "x, 1, none", *layer_norm = "z, 1/s, both",
                     *backward_alone = "x, 1, both", *forward_alone = "z, 1, none";

}  // namespace

Advantage advantage(const FormCell& a, const FormCell& b) {
  std::vector<double> differences;
  for (const auto& [seed, error] : a.errors)
    if (const auto other = b.errors.find(seed); other != b.errors.end())
      differences.push_back(other->second - error);
  const Spread spread(differences);
  const auto n = static_cast<double>(differences.size());
  if (n < 2) return {spread.mean, INFINITY, differences.size()};
  const double h = t_quantile(std::ssize(differences) - 1) * spread.deviation / std::sqrt(n);
  const auto variance = [](const FormCell& cell) {
    const double share = cell.spread().mean / 100;
    return share * (1 - share) / cell.images;
  };
  const double w = 1.96 * 100 * std::sqrt(variance(a) + variance(b));
  return {spread.mean, std::hypot(h, w), differences.size()};
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
      "With momentum, small initial weights and 6 layers or more, it stays more than a point "
      "behind",
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
        [&](const FormColumn& c) -> std::optional<Judgement> {
          const auto found = ahead(c, form, no_norm, 0);
          if (!found) return {};
          return Judgement{
              found->verdict == Verdict::supported ? Verdict::contradicted : Verdict::supported,
              found->reason};
        });
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
