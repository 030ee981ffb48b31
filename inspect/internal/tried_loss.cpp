#include "tapegrad/inspect/internal/tried_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/inspect/internal/free_part.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

TriedLoss::TriedLoss(const Fields& net, const Parameter* batch, std::function<Tensor()> loss)
    : kept_(net), batch_(batch), loss_(std::move(loss)) {
  find_slots(net);
  std::vector<Tensor> own, signs;
  for (const NamedParameter& slot : slots_) own.push_back(slot.parameter.value());
  const double first = at(own), again = at(own);
  expect<ArgumentError>(std::isfinite(first), "free directions: the loss is {}", first);
  expect<ArgumentError>(first == again,
                        "free directions: the loss is {} and then, at the same weights, {}; leave "
                        "out dropout, and use one batch",
                        first, again);
  recorded_ = record(own);
  add_point(own);
  for (const Tensor& value : own) signs.push_back(2 * random_.bernoulli(value.shape(), 0.5) - 1);
  for (const double sign : {1.0, -1.0}) {
    std::vector<Tensor> other = own;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (!is_batch(i)) other[i] = sign * signs[i] * own[i] + 0.3 * normal(own[i]);
    if (std::isfinite(at(other))) add_point(other);
  }
}

void TriedLoss::find_slots(const Fields& net) {
  const Tape tape;
  const std::vector<std::string> left_out = unreached(tape, loss_(), net);
  for (const NamedParameter& one : net.parameters())
    if (std::find(left_out.begin(), left_out.end(), one.name) == left_out.end())
      slots_.push_back(one);
}

std::size_t TriedLoss::position(const Parameter& parameter) const {
  const auto own = [&](const NamedParameter& slot) { return same(slot.parameter, parameter); };
  return static_cast<std::size_t>(std::find_if(slots_.begin(), slots_.end(), own) - slots_.begin());
}

bool TriedLoss::is_batch(std::size_t slot) const {
  return batch_ != nullptr && same(slots_[slot].parameter, *batch_);
}

void TriedLoss::go_to(const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].parameter.set(values[i]);
}

double TriedLoss::at(const std::vector<Tensor>& values) {
  go_to(values);
  const NoGrad off;
  return loss_().item();
}

double TriedLoss::size(const Tensor& value) {
  const double rms = std::sqrt(squares(value) / static_cast<double>(value.size()));
  return rms > 0 ? rms : 0.5;
}

void TriedLoss::add_point(const std::vector<Tensor>& values) {
  constexpr double unit = std::numeric_limits<real>::epsilon();
  constexpr int draws = 3;
  Point point{.values = values, .gradients = {}, .loss = at(values), .typical = {}};
  const auto change = [&](const std::vector<Tensor>& near) {
    const double difference = std::abs(at(near) - point.loss);
    return std::isfinite(difference) ? difference : 0;
  };
  point.typical.resize(slots_.size());
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<Tensor> near = values;
    for (Tensor& value : near) value = value + 8 * unit * normal(value);
    point.noise = std::max(point.noise, change(near));
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      std::vector<Tensor> far = values;
      far[i] = far[i] + normal(far[i]);
      point.typical[i] = std::max(point.typical[i], change(far));
    }
  }
  point.noise = 4 * point.noise + 32 * unit * std::abs(point.loss);
  go_to(values);
  std::vector<Parameter> parameters;
  for (const NamedParameter& slot : slots_) parameters.push_back(slot.parameter);
  const Tape tape;
  if (!parameters.empty()) point.gradients = grad(loss_(), parameters);
  points_.push_back(std::move(point));
}

std::vector<TriedLoss::Recorded> TriedLoss::record(const std::vector<Tensor>& values) {
  go_to(values);
  const Tape tape({.keep_values = true});
  loss_();
  std::vector<Recorded> nodes;
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    const Parameter* leaf = tape.parameter(i);
    const std::span inputs(node.inputs, static_cast<std::size_t>(node.input_count));
    nodes.push_back({node.name,
                     node.place,
                     {inputs.begin(), inputs.end()},
                     leaf != nullptr ? leaf->identity() : nullptr,
                     tape.value(i)});
  }
  return nodes;
}

std::string TriedLoss::ends(const std::vector<Tensor>& values) {
  constexpr double equal = 1e-3;  // relative
  const std::vector<Recorded> after = record(values);
  if (after.size() != recorded_.size()) return "operations that are not always the same";
  std::vector<bool> differs;
  bool is_carried = false;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Tensor &a = recorded_[i].value, &b = after[i].value;
    differs.push_back(a.shape() == b.shape() && squares(a - b) > equal * equal * squares(a));
    is_carried |= differs[i] && after[i].parameter == nullptr;
    const auto& inputs = after[i].inputs;
    const bool has_changed_input = std::any_of(inputs.begin(), inputs.end(), [&](auto input) {
      return input >= 0 && differs[static_cast<std::size_t>(input)];
    });
    // A slice may hold another part of its input.
    if (differs[i] || !has_changed_input || std::string_view(after[i].name) == "slice") continue;
    const std::string called = fmt::format("{} at {}", after[i].name, after[i].place);
    if (std::find(found.begin(), found.end(), called) == found.end()) found.push_back(called);
  }
  constexpr std::size_t most = 3;
  if (found.size() > most) found.resize(most);
  if (is_carried && found.empty()) return "a slice";
  return is_carried ? fmt::format("{}", fmt::join(found, ", ")) : "";
}

bool TriedLoss::meet(const Parameter& first, const Parameter& second) const {
  std::set<std::size_t> readers;  // of `first`
  for (std::size_t i = 0; i < recorded_.size(); ++i) {
    bool of_first = false, of_second = false, of_reader = false;
    for (const std::int32_t input : recorded_[i].inputs) {
      if (input < 0) continue;
      const auto from = static_cast<std::size_t>(input);
      of_first |= recorded_[from].parameter == first.identity();
      of_second |= recorded_[from].parameter == second.identity();
      of_reader |= readers.contains(from);
    }
    if (of_second && (of_first || of_reader)) return true;
    if (of_first) readers.insert(i);
  }
  return false;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
