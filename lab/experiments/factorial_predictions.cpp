// The endpoints of "factorial" and their predictions, see lab/docs/factorial.md.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/condition_tasks.h"
#include "experiments/factorial.h"
#include "experiments/forms.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The forward pass with the factor 1 and both projections, as the crossed design has it.
constexpr Form whole_form{true, false, Projection::both};

// Each setting is a run of this: an effect in margins.
const Metric effect{.value = "effect", .higher_is_better = true};

// The probability that at least `of_one_sign` of so many fair signs agree, in either direction.
double sign_test(Index signs, Index of_one_sign) {
  double tail = 0, choices = 1;  // of k among all
  for (Index k = 0; k <= signs - of_one_sign; ++k) {
    tail += choices;
    choices *= static_cast<double>(signs - k) / (k + 1);
  }
  return std::min(1.0, 2 * tail / std::pow(2.0, signs));
}

// What is compared in each setting, and is positive where the statement is true.
struct Endpoint {
  const char* statement;
  Advantage (*of)(const MatrixColumn&);
};

const Results& cell(const MatrixColumn& column, const Form& form) {
  return *column.of(form.norm());
}

const Endpoint endpoints[] = {
    {"the passes of layer normalization gain more together than the sum of what each gains alone",
     [](const MatrixColumn& c) {
       return interaction(c.task.metric, cell(c, whole_form), cell(c, backward_form),
                          cell(c, forward_form), cell(c, no_norm_form));
     }},
    {"the backward pass alone is ahead of the forward pass alone",
     [](const MatrixColumn& c) {
       return advantage(c.task.metric, cell(c, backward_form), cell(c, forward_form));
     }},
    {"the backward pass alone is behind no norm", [](const MatrixColumn& c) {
       return advantage(c.task.metric, cell(c, no_norm_form), cell(c, backward_form));
     }}};

bool has_all(const MatrixColumn& column) {
  for (const Form& form : {whole_form, backward_form, forward_form, no_norm_form, layer_norm_form})
    if (const Results* found = column.of(form.norm()); !found || found->at_edge) return false;
  return true;
}

}  // namespace

double assay(const MatrixColumn& column) {
  const auto of = [&](const Form& form) {
    RunningMean mean;
    const bool is_loss = column.task.unit != "% errors";
    for (const Outcome& run : column.cells.at(form.norm()).choosing)
      mean.add(value_of(run, is_loss ? "validation" : "validation_loss"));
    return mean.value();
  };
  return (of(no_norm_form) - of(layer_norm_form)) / margin_of(column.task);
}

Purpose purpose_of(const MatrixColumn& column) {
  const std::string& name = column.task.name;
  if (name.starts_with("perceptron_he") || name.starts_with("conv_net")) return Purpose::control;
  return name.starts_with("perceptron") || name.starts_with("lstm") ||
                 name.find("_6x64_") != std::string::npos
             ? Purpose::confirmation
             : Purpose::exploration;
}

std::vector<JudgedClaim> factorial_predictions(const Matrix& matrix, const std::string& optimizer) {
  std::vector<JudgedClaim> claims;
  for (const Endpoint& endpoint : endpoints) {
    Results effects{endpoint.statement}, none{"0"};
    Index positive = 0;
    for (const MatrixColumn& column : matrix) {
      if (purpose_of(column) != Purpose::confirmation || !has_all(column) || assay(column) < 3)
        continue;
      const double mean = endpoint.of(column).mean / margin_of(column.task);
      positive += mean > 0;
      effects.runs.push_back({.curve = {{1, 0}}, .values = {{effect.value, mean}}});
      none.runs.push_back({.curve = {{1, 0}}, .values = {{effect.value, 0}}});
    }
    if (effects.runs.empty()) return {};
    const auto count = std::ssize(effects.runs);
    claims.push_back({"", fmt::format("With {}, {}", optimizer, endpoint.statement),
                      fmt::format("positive in {} of {} settings, sign test p {:.2g}", positive,
                                  count, sign_test(count, std::max(positive, count - positive))),
                      better(effect, effects, none)});
  }
  // Holm: the k-th smallest p counts as often as there are others that are no smaller.
  const auto level = [](const JudgedClaim* claim) { return claim->judgement.p.value_or(1); };
  std::vector<JudgedClaim*> order;
  for (JudgedClaim& claim : claims) order.push_back(&claim);
  std::ranges::sort(order, {}, level);
  double adjusted = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    adjusted = std::max(adjusted, (order.size() - k) * level(order[k]));
    Judgement& judgement = order[k]->judgement;
    if (judgement.p) judgement.p = std::min(1.0, adjusted);
    if (adjusted > 0.05) judgement.verdict = Verdict::inconclusive;
  }
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
