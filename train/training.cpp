#include "tapegrad/train/training.h"

#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <utility>

#include "tapegrad/inspect/export.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Calls `body` while the net has other values.
template <class Values>
Metrics with(Values& others, const std::function<Metrics()>& body) {
  others.swap();
  Metrics results = body();
  others.swap();
  return results;
}

}  // namespace

Training::Training(const OptimizerFlags& optimizer, const RunFlags& run, const Fields& net,
                   Index steps)
    : flags_(optimizer),
      net_(net),
      listed_(net),
      check_nan_(run.check_nan),
      dry_run_(run.dry_run),
      keeps_best_(run.keep_best),
      directory_(run.log_dir),
      optimizer_(optimizer.make_optimizer(parameters(net))),
      schedule_(optimizer.make_schedule(steps)),
      probe_(run.probe ? std::make_unique<Probe>(net) : nullptr) {
  if (run.profile) profile_.emplace();
  if (flags_.ema > 0) ema_.emplace(net_, flags_.ema);
  if (flags_.schedule == plateau_name)
    plateau_.emplace(flags_.learning_rate, PlateauOptions{.patience = 2});
}

void Training::carries(const std::function<void(Fields& field)>& carried) {
  struct Module {
    const std::function<void(Fields& field)>& carried;
    void visit(Fields& field) const { carried(field); }
  };
  listed_("carried", Module{carried});
}

void Training::inspect(const Tensor& loss) {
  if (std::exchange(inspected_, !dry_run_)) return;
  const Tape& tape = Tape::required("training");
  try {
    expect_listed(tape, listed_);
  } catch (const Error& error) {
    if (dry_run_) throw;
    write_diagnostic(fmt::format("{}\n", error.what()));
  }
  if (const auto names = unreached(tape, loss, net_); !names.empty())
    write_diagnostic(
        fmt::format("training: the loss of the first step does not depend on these parameters, so "
                    "no gradient reaches them: {}\n",
                    fmt::join(names, ", ")));
}

void Training::explain_zeros(const Tape& tape, const std::vector<Parameter>& parameters) const {
  const std::map<std::int32_t, std::string> why = explain_leaves(tape);
  struct Reason {
    std::string text;
    std::vector<std::string> others = {};  // for which it holds, too
  };
  std::map<std::string, Reason> reasons;  // by what follows the line with the name
  for (const Parameter& parameter : parameters) {
    const std::int32_t node = tape.find(parameter);
    if (node < 0) continue;
    const Tensor gradient = tape.gradient(node);
    const double norm = gradient.defined() ? global_norm({gradient}) : 0;
    if (norm != 0 && std::isfinite(norm)) continue;
    const std::string& text = why.at(node);
    const std::size_t line = text.find('\n') + 1;
    const auto [reason, is_new] =
        reasons.try_emplace(line < text.size() ? text.substr(line) : text, Reason{text});
    if (!is_new) reason->second.others.push_back(parameter.name());
  }
  for (const auto& [key, reason] : reasons) {
    write_diagnostic(reason.text);
    if (!reason.others.empty())
      write_diagnostic(fmt::format("The same holds for {}.\n", fmt::join(reason.others, ", ")));
  }
}

void Training::schedule() {
  optimizer_->set_learning_rate(plateau_ ? plateau_->learning_rate() : schedule_(steps_done()));
}

void Training::update(std::vector<Tensor> gradients) {
  if (watch_) watch_(gradients);
  gradient_norm_ = measures_norm_ ? std::optional(global_norm(gradients)) : std::nullopt;
  optimizer_->step(flags_.clipped(std::move(gradients)));
  if (project_) project_();
}

double Training::step(const std::function<Tensor()>& forward) {
  std::optional<Profile::Scope> measured;
  if (profile_) measured.emplace(*profile_);
  const bool examines = examined_ && steps_done() + 1 == examined_->step;
  if (examines && examined_->probes) probe_ = std::make_unique<Probe>(net_);
  const Tape tape({.keep_values = dry_run_ || examines, .check_finite = check_nan_});
  std::optional<AroundNorms> seen;
  if (probe_) seen.emplace(probe_->around());
  const Tensor loss = forward();
  inspect(loss);
  if (dry_run_) {
    if (!tape.holds(loss)) return loss.item();
    const std::vector<Parameter> used = tape.parameters();
    grad(loss, used);
    explain_zeros(tape, used);
    return loss.item();
  }
  schedule();
  std::vector<Tensor> gradients = grad(loss, optimizer_->parameters());
  if (examines) write_examined(tape);
  if (probe_)
    probe_->around_update(steps_done() + 1, optimizer_->parameters(), gradients,
                          [&] { update(gradients); });
  else
    update(std::move(gradients));
  if (ema_) ema_->update();
  return loss.item();
}

double Training::step(Cluster& cluster, Index rows,
                      const std::function<Tensor(const Shard& shard)>& loss, RunSignals& wanted) {
  std::optional<Profile::Scope> measured;
  if (profile_) measured.emplace(*profile_);
  inspected_ = inspected_ || !cluster.is_first();
  const auto as_number = [](bool value) { return value ? 1.0 : 0.0; };
  Cluster::BatchGradients batch =
      cluster.gradients(net_, rows,
                        [&](const Shard& shard) {
                          Tensor mean = loss(shard);
                          inspect(mean);
                          return mean;
                        },
                        {.tape = {.check_finite = check_nan_},
                         .numbers = {as_number(wanted.stop), as_number(wanted.save)}});
  wanted = {.stop = batch.numbers[0] > 0, .save = batch.numbers[1] > 0};
  schedule();
  update(std::move(batch.gradients));
  if (ema_) ema_->update();
  return batch.loss;
}

Metrics Training::averaged(const std::function<Metrics()>& evaluate) {
  return ema_ ? with(*ema_, evaluate) : evaluate();
}

void Training::keep() {
  if (keeps_best_) best_.emplace(net_);
}

Metrics Training::at_best(const std::function<Metrics()>& finish) {
  return best_ ? with(*best_, finish) : averaged(finish);
}

void Training::resume(const std::string& resume, Index steps_done, Index began,
                      const std::string& log) {
  expect<DataError>(optimizer_->steps() == steps_done - began,
                    "{}: it is damaged: the run has {} steps, its optimizer {}", resume,
                    steps_done - began, optimizer_->steps());
  began_ = began;
  if (probe_) probe_->resume(log, steps_done);
}

void Training::examine(Index step, bool probes) {
  examined_ = {step, probes};
  expect_own_step(directory_);
}

void Training::write_examined(const Tape& tape) const {
  explain_zeros(tape, optimizer_->parameters());
  expect_own_step(directory_);
  make_directory(directory_);
  write_viewer(tape, fmt::format("{}/{}", directory_, tape_file));
  write_trace(tape, net_, fmt::format("{}/{}", directory_, trace_file));
  TensorFile batch;
  for (const NamedConstant& one : tape.constants()) {
    std::string name = one.name;
    for (int i = 1; batch.tensors.contains(name) || batch.indices.contains(name); ++i)
      name = fmt::format("{}.{}", one.name, i);
    if (one.tensor.defined())
      batch.tensors[name] = one.tensor;
    else
      batch.indices[name] = one.indices;
  }
  save_tensors(fmt::format("{}/{}", directory_, batch_file), batch);
}

void Training::write_probe() const {
  if (probe_) probe_->write(directory_);
}

void Training::print_profile() const {
  if (!profile_ || profile_->scopes() == 0) return;
  write_result(
      fmt::format("a step, averaged over {}:\n{}", profile_->scopes(), to_string(*profile_)));
}

void dry_run(const Flags& flags, const Fields& net, const std::function<double()>& step) {
  const Json values = flags.values();
  for (const auto& [name, value] : values.items())
    write_result(fmt::format("  {:16}{}\n", name,
                             value.dump(-1, ' ', false, Json::error_handler_t::replace)));
  for (const auto& [name, parameter] : net.parameters())
    write_result(fmt::format("  {:48}{}\n", name, to_string(parameter.shape())));
  for (const auto& [name, first] : net.shared())
    write_result(fmt::format("  {:48}shared with {}\n", name, first));
  write_result(fmt::format("loss of the first batch: {:.4f}\n", step()));
}

Training probed_training(const Fields& net, Index steps) {
  OptimizerFlags optimizer;
  optimizer.schedule = "constant";
  RunFlags run;
  run.probe = true;
  return Training(optimizer, run, net, steps);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
