#include "experiments/forms.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/matrix.h"
#include "experiments/selected_training.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

double percent_wrong(const Layer& net, const ImageSet& set) {
  return 100 * mean_of_items({.items = support::misclassified(net, set)});
}

// Its validation and its test are errors in percent.
class FormTrainee : public problems::Trainee {
 public:
  FormTrainee(const support::ImageSets& sets, Layer net, Index batch_size, std::uint64_t seed)
      : sets_(sets), net_(std::move(net)), batches_(sets.train, batch_size, seed) {}

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).labels.size(); }
  Tensor loss(Index step, const Shard&, Random&) override {
    const auto& [images, labels] = batches_.at(step);
    return cross_entropy(net_(images), labels);
  }
  problems::Validation validate() override {
    const double error = percent_wrong(net_, sets_.validation);
    return {error, error};
  }
  void test(Outcome& outcome) override { outcome.values["test"] = percent_wrong(net_, sets_.test); }

 private:
  const support::ImageSets& sets_;
  Layer net_;
  EpochBatches<ImageSet> batches_;
};

// The learning rate with which the search begins.
double first_rate(const FormSetting& setting) { return setting.optimizer == "adam" ? 0.001 : 0.01; }

// The error in percent: on the validation set or, if tested, on the test set.
double error_after(const Form& form, const FormSetting& setting, const FormSizes& sizes,
                   const support::ImageSets& sets, double rate, std::uint64_t seed, bool tested) {
  problems::Problem problem{};
  problem.optimizer = {.optimizer = setting.optimizer, .schedule = "constant"};
  problem.steps = problem.eval_interval = sizes.steps;
  problem.trainee = [&](const TaskTrial&, Random& random) {
    return std::make_unique<FormTrainee>(sets, make_form_net(form.norm(), setting, sizes, random),
                                         sizes.batch_size, seed);
  };
  return train_selected(problem, {.value = "validation"}, {{form.norm(), rate}, {seed}, tested})
      .values.at(tested ? "test" : "validation");
}

}  // namespace

std::string Form::name() const {
  static constexpr const char* names[] = {"none", "center", "scale", "both"};
  return fmt::format("{}, {}, {}", normalized ? "z" : "x", divided ? "1/s" : "1",
                     names[static_cast<int>(projection)]);
}

std::string Form::norm() const {
  if (!normalized && !divided && projection == Projection::none) return "none";
  static constexpr const char* names[] = {"detach", "detach_variance", "detach_mean",
                                          "layer_simple"};
  std::string norm = names[static_cast<int>(projection)];
  if (!normalized) norm += ":forward=identity";
  if (!divided) norm += normalized ? ":factor=1" : ",factor=1";
  return norm;
}

const std::vector<Form>& sixteen_forms() {
  static const std::vector<Form> forms = [] {
    std::vector<Form> all;
    for (const bool normalized : {false, true})
      for (const bool divided : {false, true})
        for (const Projection projection :
             {Projection::none, Projection::center, Projection::scale, Projection::both})
          all.push_back({normalized, divided, projection});
    return all;
  }();
  return forms;
}

std::string FormSetting::name() const {
  return fmt::format("{}_{}_{}", optimizer, initial, layers);
}

void initialize_like_he(std::vector<Parameter> parameters, Random& random) {
  for (Parameter& parameter : parameters)
    parameter.set(parameter.shape().rank() == 2 ? kaiming_normal(parameter.shape(), random)
                                                : zeros(parameter.shape()));
}

Layer make_form_net(const std::string& norm, const FormSetting& setting, const FormSizes& sizes,
                    Random& random) {
  std::vector<Index> extents(setting.layers + 2, sizes.width);
  extents.front() = 28 * 28;
  extents.back() = 10;
  const Mlp net(extents, random, {.norm = norm});
  if (setting.initial == "he") initialize_like_he(parameters(net), random);
  return net;
}

Spread FormCell::spread() const {
  std::vector<double> values;
  for (const auto& [seed, error] : errors) values.push_back(error);
  return Spread(values);
}

std::vector<std::string> PassGains::header(const std::string& first) {
  return {first, "layer normalization - backward - forward + none", "backward - none",
          "forward - none", "backward - forward"};
}

std::vector<std::string> PassGains::row(const std::string& name, int decimals) const {
  std::vector<std::string> cells{name};
  for (const Advantage& gain : {interaction, backward, forward, backward_against_forward})
    cells.push_back(std::isfinite(gain.half_width + gain.seeds_width())
                        ? fmt::format("{:+.{}f} +- {:.{}f}\nover seeds {:.{}f}", gain.mean,
                                      decimals, gain.half_width, decimals, gain.seeds_width(),
                                      decimals)
                        : fmt::format("{:+.{}f}\nwithout an interval", gain.mean, decimals));
  return cells;
}

Outcome train_form(const Form& form, const FormSetting& setting, const FormSizes& sizes,
                   const support::ImageSets& sets, const ComparisonFlags& seeds) {
  Outcome cell;
  const RateSearch search = search_rates(first_rate(setting), sizes.most_rates, [&](double rate) {
    return error_after(form, setting, sizes, sets, rate, choosing_seed, false);
  });
  cell.tried = search.errors;
  for (Index i = 0; i < seeds.seeds; ++i) {
    const std::uint64_t seed = seeds.seed + i;
    cell.tested[seed] = error_after(form, setting, sizes, sets, search.best(), seed, true);
  }
  cell.values["test_images"] = sets.test.count();
  return cell;
}

FormCell form_cell(const Outcome& outcome) {
  FormCell cell;
  cell.images = value_of(outcome, "test_images");
  expect_part(!outcome.tried.empty(), outcome, "no rates have been tried");
  for (const auto& [rate, error] : outcome.tried) cell.search.add(rate, error);
  expect_part(!outcome.tested.empty(), outcome, "no seeds have been tested");
  cell.errors = outcome.tested;
  return cell;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
