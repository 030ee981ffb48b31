#include "tapegrad/core/tape.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/interlude.h"
#include "tapegrad/core/internal/recorder.h"
#include "tapegrad/core/range.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::atomic<std::uint64_t> next_id{1};
const std::string no_label;

std::string input_text(std::int32_t input) {
  if (input == -1) return "constant";
  return input < 0 ? fmt::format("detached %{}", detached_input(input)) : fmt::format("%{}", input);
}

}  // namespace

const Tensor Tape::undefined_;
const detail::Observed Tape::nothing_observed_;
constinit thread_local Tape::Ambient Tape::ambient_;

Tape::Tape(TapeOptions options) : options_(options) {
  expect<TapeError>(ambient_.tape == nullptr,
                    "tape: this thread has a tape already; end its scope first, or record on it");
  options_.keep_values |= options_.check_finite;
  if (options_.keep_values) observed_ = std::make_unique<detail::Observed>();
  id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  ambient_.tape = this;
}

Tape::~Tape() {
  for (std::int32_t i = 0; i < size_; ++i) {
    release(node(i));
    forget_value(node(i));
  }
  if (ambient_.tape == this) ambient_.tape = nullptr;  // unless it ends on another thread
  Storage::end_step();
}

Tape& Tape::required(const char* operation) {
  expect<TapeError>(ambient_.tape != nullptr,
                    "{}: no tape is in scope; begin one with `Tape tape;`", operation);
  expect<TapeError>(!ambient_.paused, "{}: NoGrad pauses the tape; end its scope first", operation);
  return *ambient_.tape;
}

Node& Tape::enter(const char* name, Tensor& value, const Place& place, bool keep_value) {
  if (static_cast<std::size_t>(size_) == chunks_.size() * chunk_nodes) {
    chunk_storage_.push_back(Storage::allocate(sizeof(Node) * chunk_nodes));
    chunks_.push_back(static_cast<Node*>(chunk_storage_.back().data()));
  }
  void* kept =
      keep_value || options_.keep_values ? allocate(sizeof(Tensor), alignof(Tensor)) : nullptr;
  value.tape_id_ = id_;
  value.node_ = size_;
  Node& entered = *new (&node(size_++)) Node;
  entered.name = name;
  entered.shape = value.shape();
  entered.place = place;
  if (kept != nullptr) entered.value = new (kept) Tensor(value);
  return entered;
}

Tensor Tape::gradient(std::int32_t index) const {
  const Tensor found = observed().gradient(index);
  return found.defined() ? detach(found) : found;
}

std::int32_t Tape::observed_constant(const Tensor& tensor) const {
  return observed_->input(tensor);
}

const Parameter* Tape::parameter(std::int32_t index) const {
  if (index < 0 || index >= size_) return nullptr;
  if (node(index).input_count > 0) return nullptr;
  for (const auto& [identity, leaf] : leaves_)
    if (leaf.node == index) return &leaf.parameter;
  return nullptr;
}

const std::string& Tape::label(std::int32_t index) const {
  if (const auto given = labels_.find(index); given != labels_.end()) return given->second;
  const Parameter* found = parameter(index);
  return found == nullptr ? no_label : found->name();
}

std::size_t Tape::bytes() const {
  StorageCensus census;
  for (std::int32_t i = 0; i < size_; ++i) {
    [[maybe_unused]] const Tensor held = value(i);
    for (const Rule* rule = node(i).rules; rule != nullptr; rule = rule->next) rule->census();
  }
  return census.bytes();
}

bool Tape::holds_outside(const Tensor& tensor) const {
  return std::find(outer_ids_.begin(), outer_ids_.end(), tensor.tape_id()) != outer_ids_.end();
}

bool Tape::holds_outside_or_refuse(const Tensor& tensor, const char* operation, int input,
                                   const Place& place) const {
  if (holds_outside(tensor)) return true;
  const PlaceScope caller(place);
  const bool forgotten =
      std::binary_search(interlude_ids_.begin(), interlude_ids_.end(), tensor.tape_id());
  fail<TapeError>(
      "{}: input {} was recorded {}", operation, input,
      forgotten
          ? "inside of a function given to recompute, or under NoGrad to vjp, jacobian or hvp, "
            "and the tape has forgotten it; make it a result of the function, detach() it, or "
            "do without recompute"
          : "on a tape that has ended or belongs to another thread; detach() it to carry its "
            "value into this one");
}

Tensor Tape::leaf(const Parameter& parameter) {
  expect_defined("leaf", parameter);
  const auto [entry, is_new] =
      leaves_.try_emplace(parameter.identity(), Leaf{id_, size_, parameter});
  Tensor leaf = parameter.value();
  if (is_new) try {
      enter("parameter", leaf, {}, false);
    } catch (...) {
      leaves_.erase(entry);
      throw;
    }
  leaf.tape_id_ = entry->second.id;
  leaf.node_ = entry->second.node;
  return leaf;
}

std::int32_t Tape::find(const Parameter& parameter) const {
  const auto found = leaves_.find(parameter.identity());
  return found == leaves_.end() ? -1 : found->second.node;
}

std::vector<Parameter> Tape::parameters() const {
  std::vector<Parameter> used;
  for (const auto& [identity, leaf] : leaves_) used.push_back(leaf.parameter);
  std::sort(used.begin(), used.end(),
            [this](const Parameter& a, const Parameter& b) { return find(a) < find(b); });
  return used;
}

void* Tape::extend_arena(std::size_t bytes) {
  arena_.push_back(Storage::allocate(std::max(arena_bytes, bytes)));
  auto* begin = static_cast<std::byte*>(arena_.back().data());
  arena_end_ = begin + arena_.back().capacity();
  return begin;
}

void Tape::release(Node& node) {
  if (node.rules != nullptr) node.released = true;
  destroy(std::exchange(node.rules, nullptr));
  if (!options_.keep_values) forget_value(node);
}

void Tape::destroy(Rule* rules) {
  while (rules != nullptr) {
    Rule* next = rules->next;
    rules->~Rule();
    rules = next;
  }
}

void Tape::rewind(std::int32_t size) {
  std::erase_if(leaves_, [&](const auto& entry) { return entry.second.node >= size; });
  std::erase_if(labels_, [&](const auto& entry) { return entry.first >= size; });
  if (observed_ != nullptr) observed_->rewind(size);
  while (size_ > size) {
    Node& last = node(--size_);
    release(last);
    forget_value(last);
  }
}

void detail::check_finite(const Tape& tape, const char* name, const Place& place,
                          const Tensor& value, std::span<const Tensor* const> inputs) {
  if (range(value).non_finite == 0) return;
  std::string message =
      fmt::format("{}: the result is not finite at {}: {} {}", name, to_string(place),
                  to_string(value.shape()), to_string(range(value)));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->defined()) continue;
    message += fmt::format("\n  input {}: {} {}", i, to_string(inputs[i]->shape()),
                           to_string(range(*inputs[i])));
    if (tape.holds(*inputs[i]) && !tape.label(inputs[i]->node()).empty())
      message += fmt::format(" ({})", tape.label(inputs[i]->node()));
  }
  throw NonFiniteError(message);
}

Interlude::Interlude(Tape& tape) : tape_(tape), size_(tape.size_) {
  tape_.interlude_ids_.push_back(next_id.fetch_add(1, std::memory_order_relaxed));
  tape_.outer_ids_.push_back(tape_.id_);
  tape_.id_ = tape_.interlude_ids_.back();
}

Interlude::~Interlude() {
  tape_.rewind(size_);
  tape_.id_ = tape_.outer_ids_.back();
  tape_.outer_ids_.pop_back();
}

Tensor watch(const Tensor& x, Place place) {
  const PlaceScope caller(place);
  Tape& tape = Tape::required("watch");
  expect_defined("watch", x);
  if (tape.holds(x)) return x;
  Tensor leaf = x.view(x.shape());
  detail::Recorder(&tape, "watch", place, 0).finish(leaf);
  return leaf;
}

Tensor detach(const Tensor& x, Place place) {
  const OperationScope scope("detach", place, x);
  if (Tape* tape = Tape::active(); tape != nullptr && tape->holds(x))
    if (detail::Observed* observed = detail::Recorder::observed(*tape)) observed->keep_detached(x);
  return x.view(x.shape());
}

Tensor named(const Tensor& x, const std::string& name) {
  Tape* tape = Tape::active();
  if (tape == nullptr) return x;
  if (tape->holds(x))
    detail::Recorder::label(*tape, x.node(), name);
  else if (detail::Observed* observed = detail::Recorder::observed(*tape))
    observed->keep({name, x, {}});
  return x;
}

Indices named(const Indices& x, const std::string& name) {
  Tape* tape = Tape::active();
  if (tape == nullptr) return x;
  if (detail::Observed* observed = detail::Recorder::observed(*tape)) observed->keep({name, {}, x});
  return x;
}

std::string to_string(const Tape& tape) {
  std::string program;
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    const std::string& label = tape.label(i);
    std::string line = fmt::format("%{}{}{} = {}", i, label.empty() ? "" : " ", label, node.name);
    for (int input = 0; input < node.input_count; ++input)
      line += ' ' + input_text(node.inputs[input]);
    line += " : " + to_string(node.shape);
    if (node.place.line > 0) line = fmt::format("{:<48}  # {}", line, to_string(node.place));
    program += line + '\n';
  }
  return program;
}

void print(const Tape& tape) { std::fputs(to_string(tape).c_str(), stdout); }

}  // namespace tapegrad::TAPEGRAD_SCALAR
