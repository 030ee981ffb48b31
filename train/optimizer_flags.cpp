#include "tapegrad/train/optimizer_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/named_options.h"
#include "tapegrad/nn/optimizers/gradients.h"
#include "tapegrad/nn/optimizers/lamb.h"
#include "tapegrad/nn/optimizers/muon.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// "beta1, beta2"
template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) names += (names.empty() ? "" : ", ") + name;
  return names;
}

OptionSetter centering_option(Centering& target) {
  return choice_option(
      target,
      {{"none", Centering::none}, {"inputs", Centering::inputs}, {"outputs", Centering::outputs}});
}

using Maker =
    std::function<std::unique_ptr<Optimizer>(const std::vector<Parameter>&, const OptimizerFlags&)>;

// Makes an optimizer with these options, the flags of all, and what --optimizer gives: these
// numbers by their names, and centering.
// of_flag: the option that --beta2 sets, if any
template <class Made, class Options>
Maker maker(Options options, std::map<std::string, double Options::*> numbers,
            double Options::*of_flag = nullptr) {
  return [=](const auto& list, const OptimizerFlags& flags) {
    Options chosen = options;
    chosen.learning_rate = flags.learning_rate;
    chosen.weight_decay = flags.weight_decay;
    if (of_flag != nullptr) chosen.*of_flag = flags.beta2;
    OptionSetters setters{{"center_gradients", centering_option(chosen.center_gradients)},
                          {"center_weights", centering_option(chosen.center_weights)}};
    for (const auto& [name, number] : numbers) setters[name] = number_option(chosen.*number);
    set_options("optimizer", flags.optimizer, setters);
    return std::make_unique<Made>(list, chosen);
  };
}

const std::map<std::string, Maker>& makers() {
  using S = SgdOptions;
  using A = AdamOptions;
  using W = AdamWOptions;
  using R = RmsPropOptions;
  using L = LambOptions;
  using M = MuonOptions;
  static const std::map<std::string, Maker> all{
      {"sgd", maker<Sgd>(S{.momentum = 0}, {})},
      {"momentum", maker<Sgd>(S{.momentum = 0.9}, {{"momentum", &S::momentum}})},
      {"nesterov", maker<Sgd>(S{.momentum = 0.9, .nesterov = true}, {{"momentum", &S::momentum}})},
      {"adam", maker<Adam>(A{}, {{"beta1", &A::beta1}, {"epsilon", &A::epsilon}}, &A::beta2)},
      {"adamw", maker<AdamW>(W{.matrices_only = true},
                             {{"beta1", &W::beta1}, {"epsilon", &W::epsilon}}, &W::beta2)},
      {"rmsprop",
       maker<RmsProp>(
           R{}, {{"alpha", &R::alpha}, {"epsilon", &R::epsilon}, {"momentum", &R::momentum}})},
      {"adagrad", maker<Adagrad>(AdagradOptions{}, {{"decay", &AdagradOptions::learning_rate_decay},
                                                    {"epsilon", &AdagradOptions::epsilon}})},
      {"adadelta", maker<Adadelta>(AdadeltaOptions{}, {{"rho", &AdadeltaOptions::rho},
                                                       {"epsilon", &AdadeltaOptions::epsilon}})},
      {"lion", maker<Lion>(LionOptions{},
                           {{"beta1", &LionOptions::beta1}, {"beta2", &LionOptions::beta2}})},
      {"lamb",
       maker<Lamb>(L{}, {{"beta1", &L::beta1}, {"beta2", &L::beta2}, {"epsilon", &L::epsilon}})},
      {"muon", maker<Muon>(M{}, {{"momentum", &M::momentum},
                                 {"vector_factor", &M::vector_factor},
                                 {"beta1", &M::beta1},
                                 {"beta2", &M::beta2},
                                 {"epsilon", &M::epsilon}})},
  };
  return all;
}

// A schedule of a sequence, and the step at which it begins.
struct SchedulePart {
  std::string name;
  Index start = 0;
};

// Throws ArgumentError for unknown names and starts that do not increase.
std::vector<SchedulePart> parts_of(const std::string& text) {
  static const std::set<std::string> known{"constant", "cosine",      "one_cycle", "warmup",
                                           "step",     "exponential", plateau_name};
  static const std::string names = fmt::format("{}", fmt::join(known, ", "));
  std::vector<SchedulePart> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t at = part.find('@');
    const std::string name = part.substr(0, at);
    expect<ArgumentError>(known.contains(name), "unknown schedule {}; available: {}",
                          beginning(name), names);
    const bool is_first = parts.empty(), has_start = at != std::string::npos;
    const std::optional<Index> start = has_start ? whole_number<Index>(part.substr(at + 1)) : 0;
    const bool is_later = start && (is_first || *start > parts.back().start);
    expect<ArgumentError>(is_first != has_start && is_later,
                          "{}: only the schedules after the first begin at a step, each later than "
                          "the one before, as in constant,cosine@100",
                          beginning(text));
    parts.push_back({name, *start});
    begin = end + 1;
  }
  expect<ArgumentError>(parts.size() == 1 || text.find(plateau_name) == std::string::npos,
                        "{}: {} stands alone", beginning(text), plateau_name);
  return parts;
}

Schedule make_part(const std::string& name, const OptimizerFlags& flags, Index steps) {
  const double rate = flags.learning_rate;
  if (name == "cosine")
    return cosine(rate, steps, flags.final_rate, std::min(flags.warmup, steps / 2));
  if (name == "one_cycle") return one_cycle(rate, steps);
  if (name == "warmup")
    return warmup_inverse_sqrt(rate,
                               flags.warmup > 0 ? flags.warmup : std::max<Index>(1, steps / 10));
  if (name == "step") return step_decay(rate, std::max<Index>(1, (steps + 2) / 3));
  if (name == "exponential")
    return exponential(rate, std::pow(0.01, 1 / static_cast<double>(steps)));
  return constant(rate);
}

// A check of a flag: the message of the error of `read(text)`, or "".
template <class Read>
auto readable_by(Read read) {
  return [read](const std::string& text) -> std::string {
    try {
      read(text);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
}

}  // namespace

void OptimizerFlags::add_to(Flags& flags) {
  flags
      .training(
          "--optimizer", optimizer,
          fmt::format("Optimizer: {}; with options as in lion:beta1=0.95,center_gradients=outputs",
                      names_of(makers())))
      .check(readable_by([](const std::string& text) {
        OptimizerFlags{.optimizer = text}.make_optimizer({Parameter(zeros({}))});
      }));
  flags.training("--lr", learning_rate, "Peak learning rate").check(positive());
  flags
      .training("--schedule", schedule,
                "Learning rate schedule: constant; cosine rises for --warmup steps, then falls to "
                "--final-lr; one_cycle rises for three tenths of the steps, then falls to almost "
                "0; warmup rises for --warmup steps, or a tenth of all, then falls as "
                "1 / sqrt(step); step "
                "falls tenfold after each third; exponential falls a hundredfold in all; plateau "
                "falls tenfold when the validation loss, or without one the training loss, has not "
                "fallen in three reports; or a sequence as in constant,cosine@100, where the "
                "second begins at step 100")
      .check(readable_by(parts_of));
  flags.training("--final-lr", final_rate, "Final learning rate of cosine").check(not_negative());
  flags
      .training("--warmup", warmup,
                "Steps in which the rate rises: before cosine at most half of all; of "
                "warmup, 0 stands for a tenth of all")
      .check(not_negative());
  flags.training("--beta2", beta2, "Decay of the mean square of adam and adamw")
      .check(between(0.0, 0.9999999));
  flags.training("--weight-decay", weight_decay, "Weight decay (adamw: decoupled, matrices only)")
      .check(not_negative());
  flags.training("--clip-norm", clip_norm, "Limit of the gradients' global norm; 0: none")
      .check(not_negative());
  flags
      .training(
          "--clip-each", clip_each,
          "Limit of the norm of each parameter's gradient, applied before --clip-norm; 0: none")
      .check(not_negative());
  flags
      .training(
          "--ema", ema,
          "Evaluate with averages of the weights that have this decay, such as 0.999; 0: without")
      .check(between(0.0, 0.9999999));
}

void OptimizerFlags::check(const Flags& given) const {
  const auto expect_effect = [&](const char* flag, bool has_effect, const std::string& other) {
    if (given.given(flag) && !has_effect)
      throw FlagError(flag, fmt::format("has no effect with {}; leave it out", other));
  };
  const std::string kind = optimizer.substr(0, optimizer.find(':'));
  const bool is_adam = kind == "adam" || kind == "adamw";
  const std::vector<SchedulePart> parts = parts_of(schedule);
  const auto has = [&](const std::string& name) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const auto& part) { return part.name == name; });
  };
  expect_effect("--warmup", has("cosine") || has("warmup"), "--schedule " + schedule);
  expect_effect("--final-lr", has("cosine"), "--schedule " + schedule);
  expect_effect("--beta2", is_adam, "--optimizer " + optimizer);
}

std::unique_ptr<Optimizer> OptimizerFlags::make_optimizer(
    const std::vector<Parameter>& parameters) const {
  const std::string name = optimizer.substr(0, optimizer.find(':'));
  const auto kind = makers().find(name);
  expect<ArgumentError>(kind != makers().end(), "unknown optimizer {}; available: {}",
                        beginning(name), names_of(makers()));
  return kind->second(parameters, *this);
}

Schedule OptimizerFlags::make_schedule(Index steps) const {
  const std::vector<SchedulePart> parts = parts_of(schedule);
  std::vector<Schedule> schedules;
  std::vector<Index> starts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Index end = i + 1 < parts.size() ? parts[i + 1].start : steps;
    schedules.push_back(make_part(parts[i].name, *this, std::max<Index>(1, end - parts[i].start)));
    if (i > 0) starts.push_back(parts[i].start);
  }
  return sequential(schedules, starts);
}

bool OptimizerFlags::depends_on_length() const {
  const std::string last = parts_of(schedule).back().name;
  return last != "constant" && last != plateau_name;
}

std::vector<Tensor> OptimizerFlags::clipped(std::vector<Tensor> gradients) const {
  if (clip_each > 0) clip_by_norm(gradients, clip_each);
  if (clip_norm > 0) clip_by_global_norm(gradients, clip_norm);
  return gradients;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
