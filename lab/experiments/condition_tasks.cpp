#include "experiments/condition_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// A few steps of a small net of the same form.
Condition small(Condition condition) {
  condition.steps = 20;
  condition.images = 16;
  condition.net.layers = condition.net.layers == 2 ? 1 : 2;
  condition.net.channels = 8;
  return condition;
}

std::string initial_values(const Condition& condition) {
  if (condition.is_text()) return "N(0, 0.02)";
  return condition.net.initial == "he" ? "N(0, 2/inputs)" : "U(+-1/sqrt(inputs))";
}

std::string optimizer_in_words(const std::string& optimizer) {
  return (optimizer == "adam" ? "Adam" : optimizer) + "\nwarmup and cosine";
}

Json configuration_of(const Condition& condition) {
  return {{"optimizer", optimizer_in_words(condition.optimizer)},
          {"initial values", initial_values(condition)},
          {"task", condition.task},
          {"placement", condition.net.placement},
          {"axes", condition.net.axes},
          {"layers", condition.net.layers},
          {"channels", condition.net.channels},
          {"steps", condition.steps},
          {"images", condition.images}};
}

// Draws the text and draws or reads the images, whatever the seeds of the runs are.
std::shared_ptr<const DriftData> make_data(const problems::Origin& origin, bool is_report) {
  DriftData data = make_drift_data(ConditionLists().tasks, "", origin.directory, 1);
  if (!is_report) {
    data.images->validation = support::first_images(data.images->validation, 100);
    data.images->test = support::first_images(data.images->test, 100);
  }
  return std::make_shared<const DriftData>(std::move(data));
}

// The number to six significant digits.
double rounded(double x) { return std::stod(fmt::format("{:.6g}", x)); }

// What a record of a study needs of a run: no traces where a rate is chosen, else those over the
// whole run, to six digits, since every further digit is a byte in thousands of records.
Outcome shortened(Outcome outcome, bool is_tested) {
  // Rates are chosen by "validation", which is the loss here; the error stays in the other value.
  std::swap(outcome.values.at("validation"), outcome.values.at("validation_loss"));
  if (!is_tested) {
    outcome.values.erase("test");
    outcome.traces.clear();
  }
  std::erase_if(outcome.traces, [](const auto& trace) { return trace.second.size() == 1; });
  for (auto& [name, trace] : outcome.traces)
    for (auto& [step, value] : trace) value = rounded(value);
  for (CurvePoint& point : outcome.curve) point.training = rounded(point.training);
  return outcome;
}

// Trains the systems of a task, as a `MatrixTask` asks for it.
std::function<Outcome(const TaskTrial&)> training_of(const LearnerOfSystem& make,
                                                     const std::string& optimizer,
                                                     bool is_watched) {
  return [make, optimizer, is_watched](const TaskTrial& trial) {
    Index step = 0;
    const auto seen = [&](double loss) {
      if (trial.seen) trial.seen(++step, loss);
    };
    return shortened(train(make, optimizer, trial.setting.norm, trial.setting.rate, trial.trial,
                           seen, is_watched),
                     trial.tested);
  };
}

Learner learner_of(const problems::Problem& problem, const std::string& system,
                   const Trial& trial) {
  Random random = trial.weights();
  const std::shared_ptr<problems::Trainee> trainee =
      problem.trainee({{system, problem.rate}, trial, true}, random);
  return {.net = trainee->net(),
          .steps = RunSteps::epochs(1, problem.steps),
          .loss = trainee->batch_loss(),  // `validate` keeps the trainee
          .seed = trial.seed,
          .validate =
              [trainee] {
                const problems::Validation found = trainee->validate();
                return Metrics{{"validation", found.value}, {"validation_loss", found.loss}};
              },
          .test =
              [trainee] {
                Outcome tested;
                trainee->test(tested);
                return Metrics{{"test", tested.values.at("test")}};
              }};
}

// Bits per character, or errors in %.
PaperTask column_of(const ConditionTask& task) {
  const bool text = task.condition.is_text();
  return {.name = task.name,
          .title = fmt::format("{}, {}", task.title, text ? "bits" : "%"),
          .of_paper = "",
          .unit = text ? "bits per character" : "% errors",
          .loss = text ? "bits" : "nats",
          .metric = text ? Metric{.value = "test"} : Metric{.value = "test", .worst = 100},
          .decimals = text ? 3 : 2,
          .systems = task.systems};
}

}  // namespace

ConditionTask small_transformer(Index layers, const std::string& placement,
                                const std::string& optimizer, double seconds,
                                const std::vector<std::string>& systems, bool is_watched) {
  return {fmt::format("{}_{}_{}", placement, layers, optimizer),
          fmt::format("Transformer, {} layers, {}-norm", layers, placement),
          {"grammar", optimizer, {.placement = placement, .layers = layers}, 300},
          seconds,
          systems,
          is_watched};
}

Paper paper_of(const std::string& name, const std::vector<ConditionTask>& tasks,
               const std::vector<PaperTask>& problems) {
  Paper paper{.name = name, .tasks = {}, .most_rates = 8, .first_seed = 201, .seeds = 10};
  for (const ConditionTask& task : tasks) paper.tasks.push_back(column_of(task));
  paper.tasks.insert(paper.tasks.end(), problems.begin(), problems.end());
  for (PaperTask& task : paper.tasks) {
    task.chosen_by_loss = true;
    task.choosing_seeds = 2;
  }
  return paper;
}

double margin_of(const PaperTask& task) {
  if (task.unit == "bits per character" || task.unit == "nats per move") return equality_margin;
  if (task.name.starts_with("ud_ewt")) return 0.5;
  return task.name.starts_with("conv_net") ? 0.3 : 1;
}

std::vector<MatrixTask> condition_tasks(const std::vector<ConditionTask>& all,
                                        const std::vector<std::string>& names,
                                        const problems::Origin& origin, problems::Size size) {
  const bool is_report = size == problems::Size::report;
  const auto data = make_data(origin, is_report);
  std::vector<MatrixTask> tasks;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &ConditionTask::name);
    expect<ArgumentError>(found != all.end(), "condition_tasks: there is no task {}", name);
    const ConditionTask& task = *found;
    const Condition condition = is_report ? task.condition : small(task.condition);
    const auto make = [data, condition](const std::string& system, const Trial& trial) {
      return make_task(condition, norm_and_constraints(system).norm, *data, trial);
    };
    tasks.push_back({.name = name,
                     .source = condition.is_text() ? "drawn text" : data->images->source,
                     .data = data->digest(),
                     .configuration = configuration_of(condition),
                     .rate = condition.usual_rate(),
                     .steps = condition.steps,
                     .seconds = task.seconds,
                     .train = training_of(make, condition.optimizer, task.is_watched),
                     .systems = task.systems});
  }
  return tasks;
}

MatrixTask problem_task(const PaperTask& task, const problems::Problem& problem,
                        const std::string& optimizer, bool is_watched) {
  MatrixTask result = task_of(task, problem);
  result.configuration["optimizer"] = optimizer_in_words(optimizer);
  result.train =
      training_of([problem](const std::string& system,
                            const Trial& trial) { return learner_of(problem, system, trial); },
                  optimizer, is_watched);
  result.baselines.clear();
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
