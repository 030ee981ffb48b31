#include "tapegrad/ops/recompute.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/interlude.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/internal/reverse_sweep.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

thread_local bool recomputation_active = false;
thread_local std::uint64_t changed_computation = 0;
std::atomic<std::uint64_t> next_changed_computation{1};

// A hash of everything added to it, in order.
class Fingerprint {
 public:
  void add(std::uint64_t value) { state_ = (std::rotl(state_, 5) ^ value) * 0x9E3779B97F4A7C15; }
  void add(const void* identity) { add(reinterpret_cast<std::uintptr_t>(identity)); }
  // Shape and every bit of the values.
  void add(const Tensor& x) {
    using Bits = std::conditional_t<sizeof(real) == 4, std::uint32_t, std::uint64_t>;
    for (const Index extent : x.shape()) add(static_cast<std::uint64_t>(extent));
    std::uint64_t sum = 0, factor = 1;
    for (const real value : x.values())
      sum += std::bit_cast<Bits>(value) * (factor += 0x9E3779B97F4A7C16);  // always odd
    add(sum);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

// A fingerprint of y and of how it was computed since the tape had `begin` nodes: the operations
// and what they read. Leaves count by their parameters, since the first run enters leaves that the
// second finds.
std::uint64_t fingerprint_of(const Tape& tape, std::int32_t begin, const Tensor& y) {
  Fingerprint print;
  print.add(y);
  if (!tape.holds(y)) return print.value();
  const auto inputs = [&](std::int32_t i) {
    return std::span(tape.node(i).inputs, static_cast<std::size_t>(tape.node(i).input_count));
  };
  const std::int32_t size = std::max(0, y.node() + 1 - begin);
  std::vector<bool> leads_to_y(size);
  if (size > 0) leads_to_y.back() = true;
  for (std::int32_t i = size - 1; i >= 0; --i)
    for (const std::int32_t input : inputs(begin + i))
      if (leads_to_y[i] && input >= begin) leads_to_y[input - begin] = true;

  std::vector<std::uint64_t> numbers(size);
  std::uint64_t operations = 0;
  const auto number_of = [&](std::int32_t node) -> std::uint64_t {
    if (node < 0) return 0;
    if (const Parameter* parameter = tape.parameter(node))
      return reinterpret_cast<std::uintptr_t>(parameter->identity());
    return node < begin ? 2 * static_cast<std::uint64_t>(node) + 1 : numbers[node - begin];
  };
  for (std::int32_t i = 0; i < size; ++i) {
    if (!leads_to_y[i] || tape.parameter(begin + i) != nullptr) continue;
    numbers[i] = 2 * ++operations;
    print.add(tape.node(begin + i).name);
    for (const std::int32_t input : inputs(begin + i)) print.add(number_of(input));
  }
  print.add(number_of(y.node()));
  return print.value();
}

// f(xs), which can be computed again under the conditions of the first time.
class Repeatable {
 public:
  Repeatable(const Function& f, const std::vector<Tensor>& xs)
      : f_(f),
        xs_(xs),
        composite_(Composite::active()),
        precision_(PrecisionScope::active()),
        changed_computation_(ChangedComputation::innermost()) {}

  Tensor first(const Tape& tape) {
    const std::int32_t begin = tape.size();
    const RandomJournal journal;
    const Tensor y = f_(xs_);
    expect<TapeError>(y.defined(), "recompute: the function returned an undefined tensor");
    for (const RandomJournal::Entry& entry : journal.entries())
      if (*entry.random != nullptr) drawn_.push_back(entry);  // the others belonged to f
    fingerprint_ = fingerprint_of(tape, begin, y);
    return y;
  }
  // The parameters that were read the first time.
  void read(const Parameter& parameter) { read_.emplace_back(parameter, parameter.changes()); }

  Tensor again(const Tape& tape) const {
    for (const auto& [parameter, changes] : read_)
      expect<TapeError>(parameter.changes() == changes,
                        "recompute: parameter {} of shape {} has changed since it was read; "
                        "differentiate before the step of the optimizer",
                        parameter.name().empty() ? "without a name" : parameter.name(),
                        parameter.shape());
    expect<TapeError>(changed_computation_ == ChangedComputation::innermost(),
                      "recompute: an AroundNorms or a scope like it was in force only the first "
                      "time or only now; let it last from the function's call to the sweep");
    for (const RandomJournal::Entry& entry : drawn_)
      expect<TapeError>(*entry.random != nullptr,
                        "recompute: a Random that the function drew from has ended; let it live "
                        "until the sweep");
    const std::int32_t begin = tape.size();
    const Restored restored(drawn_, composite_, precision_);
    const Tensor y = f_(xs_);
    expect<TapeError>(fingerprint_of(tape, begin, y) == fingerprint_,
                      "recompute: the function did something else the second time, with a result "
                      "of shape {}; what it captures must not change before the sweep",
                      y.shape());
    return y;
  }

 private:
  // While in scope, restores the conditions of the first time.
  class Restored {
   public:
    Restored(const std::vector<RandomJournal::Entry>& drawn, bool composite, Precision precision)
        : recomputation_(recomputation_active), composite_(composite), precision_(precision) {
      now_.reserve(drawn.size());  // nothing fails from here on
      recomputation_active = true;
      for (const auto& [random, state] : drawn) {
        now_.push_back({random, (*random)->state()});
        (*random)->restore(state);
      }
    }
    ~Restored() {
      recomputation_active = recomputation_;
      for (const auto& [random, state] : now_)
        if (*random != nullptr) (*random)->restore(state);
    }
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

   private:
    bool recomputation_;
    Composite composite_;
    PrecisionScope precision_;
    std::vector<RandomJournal::Entry> now_;
  };

  Function f_;
  std::vector<Tensor> xs_;
  bool composite_;
  Precision precision_;
  std::uint64_t changed_computation_;
  std::vector<RandomJournal::Entry> drawn_;  // from these, in these states
  std::vector<std::pair<Parameter, std::uint64_t>> read_;
  std::uint64_t fingerprint_ = 0;
};

// The rule that `recompute` puts on the tape.
struct RecomputeRule final : Rule {
  Repeatable f;

  RecomputeRule(const Function& function, const std::vector<Tensor>& xs) : f(function, xs) {}
  void pull(Tensor& g, const Tensor&, Sweep& outer) override {
    const bool recorded = recording();
    const EnableGrad enable;
    Tape& tape = *Tape::active();
    std::optional<Interlude> forgotten;
    if (!recorded) forgotten.emplace(tape);
    const std::int32_t before = tape.size();
    const Tensor y = f.again(tape);
    const GradOptions options{.record = recorded};
    std::optional<NoGrad> pause;
    if (!recorded) pause.emplace();
    ReverseSweep inner(tape, before, y.node(), options, &outer);
    inner.mark_dependents();
    if (!inner.wants(y.node())) return;
    inner.add(y.node(), g);
    inner.run();
  }
  void census() const override { [[maybe_unused]] const Repeatable held = f; }
};

void expect_function(bool present, const Place& place) {
  const PlaceScope caller(place);
  expect<TapeError>(present, "recompute: the function is empty");
}

}  // namespace

Tensor recompute(const Function& f, const std::vector<Tensor>& xs, Place place) {
  expect_function(f != nullptr, place);
  Tape* tape = Tape::active();
  if (tape == nullptr || tape->options().keep_values) {
    const Tensor y = f(xs);
    expect<TapeError>(y.defined(), "recompute: the function returned an undefined tensor");
    return y;
  }
  const PlaceScope caller(place);
  // Constructed in its final place: a Random that f holds must not move.
  const auto destroy = [](RecomputeRule* rule) { rule->~RecomputeRule(); };
  std::unique_ptr<RecomputeRule, decltype(destroy)> rule(
      detail::Recorder::make<RecomputeRule>(*tape, f, xs));
  std::set<std::int32_t> outside;  // nodes that f reads
  std::vector<Parameter> read;
  Tensor result;
  {
    const Interlude forgotten(*tape);
    const std::int32_t before = tape->size();
    const Tensor y = rule->f.first(*tape);
    if (!tape->holds(y, "recompute", 0, place) || y.node() < before) return y;  // nothing to keep
    for (std::int32_t i = before; i < tape->size(); ++i) {
      const Node& node = tape->node(i);
      for (const std::int32_t input : std::span(node.inputs, node.inputs + node.input_count))
        if (input >= 0 && input < before) outside.insert(input);
      if (const Parameter* parameter = tape->parameter(i)) read.push_back(*parameter);
    }
    result = detach(y);
  }
  for (const Parameter& parameter : read) outside.insert(tape->leaf(parameter).node());
  for (const std::int32_t node : outside)
    if (const Parameter* parameter = tape->parameter(node)) rule->f.read(*parameter);

  detail::Recorder recorder(tape, "recompute", place, static_cast<int>(outside.size()));
  for (const std::int32_t node : outside) recorder.add_input(node);
  recorder.add_rule(rule.release());
  recorder.finish(result);
  return result;
}

namespace {

std::vector<Tensor> expect_all_there(std::vector<Tensor> results) {
  expect<TapeError>(!results.empty(), "recompute: the function has no results");
  for (std::size_t i = 0; i < results.size(); ++i)
    expect<TapeError>(results[i].defined(), "recompute: result {} is undefined", i);
  return results;
}

}  // namespace

std::vector<Tensor> recompute(const ManyFunction& f, const std::vector<Tensor>& xs, Place place) {
  expect_function(f != nullptr, place);
  const Tape* tape = Tape::active();
  if (tape == nullptr || tape->options().keep_values) return expect_all_there(f(xs));
  const PlaceScope caller(place);
  const auto shapes = std::make_shared<std::vector<Shape>>();
  const Function joined = [f, shapes](const std::vector<Tensor>& in) {
    std::vector<Tensor> flat;
    shapes->clear();
    for (const Tensor& y : expect_all_there(f(in))) {
      shapes->push_back(y.shape());
      flat.push_back(reshape(y, {y.size()}));
    }
    return concat(flat);
  };
  const Tensor all = recompute(joined, xs, place);
  std::vector<Tensor> results;
  Index begin = 0;
  for (const Shape& shape : *shapes) {
    results.push_back(reshape(slice(all, 0, begin, begin + shape.size()), shape));
    begin += shape.size();
  }
  return results;
}

bool recomputing() { return recomputation_active; }

ChangedComputation::ChangedComputation()
    : innermost_(changed_computation, next_changed_computation++) {}
std::uint64_t ChangedComputation::innermost() { return changed_computation; }

}  // namespace tapegrad::TAPEGRAD_SCALAR
