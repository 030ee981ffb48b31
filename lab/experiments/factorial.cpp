#include "experiments/factorial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/condition_tasks.h"
#include "experiments/forms.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

constexpr const char* rms_norm = "rms_simple";

std::vector<std::string> systems_where(bool (*wanted)(const Form& form)) {
  std::vector<std::string> systems;
  for (const Form& form : sixteen_forms())
    if (wanted(form)) systems.push_back(form.norm());
  systems.push_back(rms_norm);
  return systems;
}

bool any(const Form&) { return true; }

// Whether it is one of the arms that are compared for confirmation.
bool is_arm(const Form& form) {
  return !form.divided || (form.normalized && (form.projection == Projection::none ||
                                               form.projection == Projection::both));
}

PaperTask lstm(const std::string& optimizer) {
  return {.name = "lstm_" + optimizer,
          .title = "LSTM, nats",
          .of_paper = "",
          .unit = "nats per move",
          .loss = "nats",
          .metric = {.value = "test"},
          .decimals = 3,
          .systems = systems_where(is_arm)};
}

std::vector<ConditionTask> factorial_conditions() {
  std::vector<ConditionTask> all;
  const auto add = [&](const std::string& name, const std::string& title,
                       const Condition& condition, double seconds, bool (*wanted)(const Form&)) {
    all.push_back({fmt::format("{}_{}", name, condition.optimizer), title, condition, seconds,
                   systems_where(wanted), false});
  };
  for (const std::string optimizer : {"adam", "momentum"})
    for (const auto& [layers, placement] :
         {std::pair{2, "pre"}, std::pair{6, "pre"}, std::pair{2, "post"}})
      all.push_back(small_transformer(layers, placement, optimizer, layers == 2 ? 0.5 : 1,
                                      systems_where(any), false));
  for (const std::string optimizer : {"adam", "momentum"}) {
    for (const std::string placement : {"pre", "post"})
      add(placement + "_6x64", fmt::format("Transformer of 6 x 64, {}-norm", placement),
          {"grammar", optimizer, {.placement = placement, .layers = 6, .channels = 64}, 1200}, 20,
          is_arm);
    for (const std::string initial : {"library", "he"})
      add("perceptron_" + initial,
          fmt::format("perceptron, 12 layers, {} weights", initial == "he" ? "He's" : "small"),
          {"mnist", optimizer, {.initial = initial, .layers = 12}, 3000, 64}, 4, is_arm);
    add("conv_net", "ConvNet", {"cnn", optimizer, {}, 5160}, 30, is_arm);
  }
  return all;
}

}  // namespace

const Paper& factorial_paper() {
  static const Paper paper =
      paper_of("factorial", factorial_conditions(), {lstm("adam"), lstm("momentum")});
  return paper;
}

std::vector<MatrixTask> factorial_tasks(const std::vector<std::string>& names,
                                        const problems::Origin& origin, problems::Size size) {
  return condition_tasks(factorial_conditions(), names, origin, size);
}

std::vector<Claim> factorial_claims(const Matrix& matrix) {
  double apart = 0, least = INFINITY;
  for (const MatrixColumn& column : matrix)
    for (const Form& form : sixteen_forms()) {
      // The whole form of the same value: layer normalization, or none.
      const std::string whole = (form.normalized ? layer_norm_form : no_norm_form).norm();
      const Results *one = column.of(form.norm()), *other = column.of(whole);
      if (!one || !other || form.norm() == whole) continue;
      double trained = 0;
      for (std::size_t i = 0; i < one->runs.size(); ++i) {
        const auto distance = [&](const CurvePoint& (*point)(const Outcome&)) {
          const double expected = point(other->runs[i]).training;
          return std::abs(point(one->runs[i]).training - expected) / expected;
        };
        apart = std::max(apart, distance(first_point));
        trained = std::max(trained, distance(last_point));
      }
      least = std::min(least, trained);
    }
  return {{"Before training, a form with the value x has the loss of a net without norms, and one "
           "with the value z the loss of layer normalization",
           fmt::format("{:.1e} apart at most", apart), apart < 1e-5, "below 1e-5"},
          {"Each of them is trained to another loss", fmt::format("{:.1e} apart at least", least),
           least > 0, "above 0"}};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
