#include "lab/forms.h"

#include <fmt/format.h>

#include <charconv>

#include "lab/matrix.h"
#include "lab/selected_training.h"
#include "tapegrad/core/beginning.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

Layer make_net(const Form& form, const FormSetting& setting, const FormSizes& sizes,
               Random& random) {
  std::vector<Index> extents(static_cast<std::size_t>(setting.layers) + 2, sizes.width);
  extents.front() = 28 * 28;
  extents.back() = 10;
  const Mlp net(extents, random, {.norm = form.norm()});
  if (setting.initial == "he")
    for (Parameter parameter : parameters(net))
      parameter.set(parameter.shape().rank() == 2 ? kaiming_normal(parameter.shape(), random)
                                                  : zeros(parameter.shape()));
  return net;
}

double percent_wrong(const Layer& net, const ImageSet& set) {
  return 100 * mean_of_items({.items = support::misclassified(net, set)});
}

// The learning rate with which the search begins.
double first_rate(const FormSetting& setting) { return setting.optimizer == "adam" ? 0.001 : 0.01; }

// The name of a validation error among the values of an outcome.
constexpr std::string_view before_rate = "validation at the rate ";

// Values "validation" and, if tested, "test": errors in percent, infinite if the loss diverged.
Outcome train_once(const Form& form, const FormSetting& setting, const FormSizes& sizes,
                   const support::ImageSets& sets, double rate, std::uint64_t seed, bool tested) {
  Random random(seed);
  const Layer net = make_net(form, setting, sizes, random);
  EpochBatches batches(sets.train, sizes.batch_size, seed);
  Outcome outcome = train_selected(
      {.net = fields(net),
       .optimizer = {.optimizer = setting.optimizer, .schedule = "constant", .learning_rate = rate},
       .steps = sizes.steps,
       .eval_interval = sizes.steps,
       .loss =
           [&](Index step) {
             const auto& [images, labels] = batches.at(step);
             return cross_entropy(net(images), labels);
           },
       .validate =
           [&] {
             const double error = percent_wrong(net, sets.validation);
             return Validation{error, error};
           },
       .test = [&](Outcome& found) { found.values["test"] = percent_wrong(net, sets.test); }},
      {.value = "validation"}, tested, {});
  return outcome;
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

Spread FormCell::spread() const {
  std::vector<double> values;
  for (const auto& [seed, error] : errors) values.push_back(error);
  return Spread(values);
}

Outcome train_form(const Form& form, const FormSetting& setting, const FormSizes& sizes,
                   const support::ImageSets& sets, const ComparisonFlags& seeds) {
  Outcome cell;
  const RateSearch search = search_rates(first_rate(setting), sizes.most_rates, [&](double rate) {
    return train_once(form, setting, sizes, sets, rate, choosing_seed, false)
        .values.at("validation");
  });
  for (const auto& [rate, error] : search.errors)
    cell.values[fmt::format("{}{:.6g}", before_rate, rate)] = error;
  for (Index i = 0; i < seeds.seeds; ++i) {
    const std::uint64_t seed = seeds.seed + static_cast<std::uint64_t>(i);
    cell.traces["test"].emplace_back(
        static_cast<Index>(seed),
        train_once(form, setting, sizes, sets, search.best(), seed, true).values.at("test"));
  }
  cell.values["test_images"] = static_cast<double>(sets.test.count());
  return cell;
}

FormCell form_cell(const Outcome& outcome) {
  FormCell cell;
  cell.images = value_of(outcome, "test_images");
  for (const auto& [name, value] : outcome.values) {
    if (!name.starts_with(before_rate)) continue;
    double rate = 0;
    const std::string_view text = std::string_view(name).substr(before_rate.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    expect_part(error == std::errc() && end == text.data() + text.size(), outcome,
                fmt::format("\"{}\" names no rate", beginning(name)));
    cell.search.errors[rate] = value;
  }
  expect_part(!cell.search.errors.empty(), outcome, "its values have no validation");
  for (const auto& [seed, error] : trace_of(outcome, "test"))
    cell.errors[static_cast<std::uint64_t>(seed)] = error;
  return cell;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
