#include "lab/handwriting_task.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "lab/paper_ba2016.h"
#include "lab/selected_training.h"
#include "support/shuffled_epochs.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

using namespace support;
using Lines = std::vector<WrittenLine>;

// What all trainings on these lines share.
struct HandwritingData {
  HandwritingSets sets;
  bool with_text;
  HandwritingTaskOptions options;

  Lines lines(const Lines& all) const { return with_text ? all : without_text(all); }
};

// The largest norm of gradients, since the last validation and of all.
struct LargestGradient {
  double recent = 0, all = 0;

  void add(const std::vector<Tensor>& gradients) {
    recent = std::max(recent, static_cast<double>(global_norm(gradients)));
    all = std::max(all, recent);
  }
  double take_recent() { return std::exchange(recent, 0); }
};

// Line by line, so that the mean over lines is that over moves.
void enter_costs(Outcome& outcome, const HandwritingNet& net, const Lines& lines) {
  const double mean_moves = moves_of(lines) / static_cast<double>(lines.size());
  for (const WrittenLine& line : lines) outcome.items.push_back(net.cost({&line, 1}) / mean_moves);
  outcome.values["test"] = mean_of_items(outcome);
}

Outcome train_writer(const PaperTask& task, const HandwritingData& data, const TaskTrial& trial) {
  const HandwritingTaskOptions& o = data.options;
  Random random = trial.trial.weights();
  HandwritingSynthesisOptions options = o.model;
  options.net.recurrent.norm = NormSpec(trial.setting.norm);
  const HandwritingNet net(data.with_text, random, options);
  ShuffledEpochs<Lines> batches(trial.trial.seed, [&](Random& order) {
    return line_batches(data.lines(data.sets.train(order)), o.batch_size);
  });
  const Lines validation = data.lines(data.sets.validation);
  LargestGradient largest;
  return train_selected(
      {.net = fields(net),
       .optimizer = {.schedule = "constant", .learning_rate = trial.setting.rate, .clip_norm = 10},
       .steps = o.steps,
       .stretch = o.stretch,
       .loss =
           [&](Index step) {
             return net.nll(handwriting_batch(batches.at(step)), training(random));
           },
       .validate =
           [&] {
             const double nats = net.cost(validation) / moves_of(validation);
             return Validation{nats, nats, {{"gradient_norm", largest.take_recent()}}};
           },
       .test =
           [&](Outcome& outcome) {
             enter_costs(outcome, net, data.lines(data.sets.test));
             outcome.values["largest_gradient"] = largest.all;
           },
       .gradients = [&](const std::vector<Tensor>& gradients) { largest.add(gradients); }},
      task.validation(), trial.tested, trial.seen);
}

Outcome density_without_net(const HandwritingSets& sets, double HandwritingBaselines::*value) {
  Random order = Random(1).stream(1);
  return {.values = {{"test", handwriting_baselines(sets.train(order), sets.test).*value}}};
}

}  // namespace

MatrixTask handwriting_task(const std::string& name, const HandwritingSets& sets,
                            const HandwritingTaskOptions& o) {
  const auto data =
      std::make_shared<const HandwritingData>(HandwritingData{sets, name == "written_digits", o});
  return {.name = name,
          .source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest, sets.test_digest()),
          .configuration = {{"optimizer", "Adam\nconstant rate\nclipped to 10"},
                            {"initial values", "U(+-1/sqrt(inputs))"},
                            {"layers", o.model.net.layers},
                            {"hidden", o.model.net.hidden},
                            {"components", o.model.net.components},
                            {"bumps", o.model.bumps},
                            {"moves", sets.lines.moves},
                            {"batch_size", o.batch_size},
                            {"steps", o.steps},
                            {"stretch", o.stretch}},
          .rate = o.rate,
          .steps = o.steps,
          .seconds = o.seconds,
          .train = [data, &task = ba2016().task(name)](
                       const TaskTrial& trial) { return train_writer(task, *data, trial); },
          .baselines =
              {{"one_density",
                [data] { return density_without_net(data->sets, &HandwritingBaselines::one); }},
               {"by_pen",
                [data] { return density_without_net(data->sets, &HandwritingBaselines::by_pen); }}},
          .systems = ba2016().task(name).systems};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
