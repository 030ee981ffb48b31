#include "tapegrad/ops/internal/reverse_sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Counts the sweeps over a tape one after another that have had no operation in common, as of a
// loop whose steps share one tape, and warns once of such a tape, which only grows.
void count_apart(const Tape& tape, std::int32_t first, std::int32_t last) {
  struct Sweeps {
    std::uint64_t tape = 0;
    std::int32_t last = 0;  // of the operations of the sweep before
    int apart = 0;
  };
  static thread_local Sweeps before;
  const bool is_apart = before.tape == tape.id() && before.last < first;
  before = {tape.id(), last, is_apart ? before.apart + 1 : 0};
  constexpr int many = 1000;
  static std::atomic_flag warned;
  if (before.apart == many && !warned.test_and_set())
    fmt::print(stderr,
               "tape: {} sweeps over one tape had no operation in common, and it has kept all {} "
               "of its nodes; begin a tape in each step, inside of the loop\n",
               many, tape.size());
}

}  // namespace

ReverseSweep::ReverseSweep(Tape& tape, std::int32_t first, std::int32_t last,
                           const GradOptions& options, Sweep* outer)
    : tape_(tape),
      first_(first),
      options_(options),
      outer_(outer),
      slots_(last - first + 1),
      number_(tape.observed_ == nullptr ? 0 : tape.observed_->begin_sweep()) {}

void ReverseSweep::keep(std::int32_t node) {
  slots_[node - first_].reached = slots_[node - first_].kept = true;
}

void ReverseSweep::mark_dependents() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const Node& node = tape_.node(first_ + static_cast<std::int32_t>(i));
    for (int input = 0; input < node.input_count && !slot.reached; ++input)
      slot.reached = wants(node.inputs[input]);
  }
}

// zeros + all parts as one operation, so that a recorded sweep over T slices costs T, not T
// squared.
Tensor ReverseSweep::assemble(const Shape& shape, const Slot& slot) {
  Tensor whole = zeros(shape);
  std::vector<Tensor> inputs;
  for (const auto& [gradient, part] : slot.parts) {
    part->add_to(whole, gradient);
    inputs.push_back(gradient);
  }
  const Tensor parts = record_each("assemble", whole, {}, inputs, [&](std::size_t i) {
    return [part = slot.parts[i].second](const Tensor& g) { return part->extract(g); };
  });
  return slot.total.defined() ? tapegrad::add(slot.total, parts) : parts;
}

inline void ReverseSweep::keep_flow(std::int32_t to, const Tensor& added, const Tensor& total) {
  if (tape_.observed_ != nullptr)
    tape_.observed_->keep({number_, pulled_, to, tape_.size(), added, total});
}

// Adds a gradient, and moves it if the caller allows.
template <class Given>
void ReverseSweep::add_any(std::int32_t node, Given&& gradient) {
  if (node < first_) return outer_->add(node, std::forward<Given>(gradient));
  if (!gradient.defined()) [[unlikely]]
    refuse_undefined(node);
  const Shape& shape = tape_.node(node).shape;
  if (gradient.shape() != shape) return add_any(node, sum_to(gradient, shape));
  Tensor& total = slots_[node - first_].total;
  if (!total.defined()) {
    total = std::forward<Given>(gradient);
    return keep_flow(node, total, total);
  }
  if (!options_.record && total.unique())
    add_in_place(total, gradient);
  else
    total = tapegrad::add(total, gradient);
  keep_flow(node, gradient, total);
}

void ReverseSweep::add(std::int32_t node, const Tensor& gradient) { add_any(node, gradient); }
void ReverseSweep::add(std::int32_t node, Tensor&& gradient) { add_any(node, std::move(gradient)); }

void ReverseSweep::add_part(std::int32_t node, Tensor gradient, std::shared_ptr<const Part> part) {
  if (node < first_) return outer_->add_part(node, std::move(gradient), std::move(part));
  Slot& slot = slots_[node - first_];
  if (options_.record) {
    slot.parts.emplace_back(std::move(gradient), std::move(part));
    return;
  }
  if (!slot.total.defined())
    slot.total = zeros(tape_.node(node).shape);
  else if (!slot.total.unique())
    slot.total = Tensor(slot.total.shape(), slot.total.values());
  part->add_to(slot.total, gradient);
  keep_flow(node, gradient, slot.total);
}

inline bool ReverseSweep::leads_on(const Node& node) const {
  return std::any_of(node.inputs, node.inputs + node.input_count,
                     [this](std::int32_t input) { return wants(input); });
}

inline void ReverseSweep::pull(Node& node, std::int32_t index, Tensor g) {
  const ProfileSpan span(node.name, true);
  const Tensor seen = tape_.options().check_finite ? g : Tensor();
  pulled_ = index;
  for (Rule* rule = node.rules; rule != nullptr; rule = rule->next)
    rule->pull(g, tape_.value(index), *this);
  if (tape_.options().check_finite) check_inputs(node, seen);
}

void ReverseSweep::run(
    const std::function<void(std::int32_t node, const Tensor& gradient)>& ready) {
  std::int32_t lowest = tape_.size();  // of the operations of this sweep
  for (auto i = static_cast<std::int32_t>(slots_.size()) - 1; i >= 0; --i) {
    Slot& slot = slots_[i];
    if (!slot.reached || (!slot.total.defined() && slot.parts.empty())) continue;
    const std::int32_t index = first_ + i;
    Node& node = tape_.node(index);
    const PlaceScope differentiated(node.place);
    if (!slot.parts.empty()) {
      slot.total = assemble(node.shape, slot);
      slot.parts.clear();
      pulled_ = -1;
      keep_flow(index, slot.total, slot.total);
    }
    if (slot.kept && ready) ready(index, slot.total);
    if (slot.kept && !leads_on(node)) continue;
    expect<TapeError>(!node.released,
                      "grad: the rules of {} were used up by an earlier sweep; give that one "
                      ".keep = true",
                      node.name);
    pull(node, index, slot.kept ? slot.total : std::move(slot.total));
    if (!options_.keep && !options_.record) tape_.release(node);
    if (node.input_count > 0) lowest = index;
  }
  if (outer_ == nullptr)
    count_apart(tape_, lowest, first_ + static_cast<std::int32_t>(slots_.size()) - 1);
}

void ReverseSweep::check_inputs(const Node& node, const Tensor& g) const {
  for (int i = 0; i < node.input_count; ++i) {
    const std::int32_t input = node.inputs[i];
    if (!wants(input) || !slots_[input - first_].total.defined()) continue;
    const Tensor& value = tape_.value(input);
    const Tensor* seen[] = {&g, &value};
    const std::string name = std::string("gradient of ") + node.name;
    detail::check_finite(tape_, name.c_str(), node.place, slots_[input - first_].total,
                         std::span(seen, value.defined() ? 2 : 1));
  }
}

void ReverseSweep::refuse_undefined(std::int32_t input) const {
  const Node& node = tape_.node(pulled_);
  fail<TapeError>("grad: the rule of {} returned an undefined gradient for an input of shape {}",
                  node.name, tape_.node(input).shape);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
