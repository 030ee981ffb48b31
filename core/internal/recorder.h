#pragma once

// Turns edges into Rules in the tape's arena, and an operation into a node.

#include <span>

#include "tapegrad/core/edge.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

template <class F>
struct EdgeRule final : Rule {
  static constexpr bool needs_value = std::invocable<F&, const Tensor&, const Tensor&>;
  F rule;

  template <class G>
  explicit EdgeRule(Edge<G>& edge) : rule(std::forward<G>(edge.rule)) {}
  void pull(Tensor& g, const Tensor& y, Sweep& sweep) override {
    if (!sweep.wants(inputs[0])) return;
    if constexpr (needs_value)
      sweep.add(inputs[0], rule(g, y));
    else
      sweep.add(inputs[0], rule(g));
  }
  void census() const override { [[maybe_unused]] const F held = rule; }
};

struct PassingRule final : Rule {
  static constexpr bool needs_value = false;

  explicit PassingRule(PassingEdge&) {}
  void pull(Tensor& g, const Tensor&, Sweep& sweep) override {
    if (!sweep.wants(inputs[0])) return;
    if (next == nullptr)
      sweep.add(inputs[0], std::move(g));
    else
      sweep.add(inputs[0], g);
  }
  void census() const override {}
};

template <int N, class F>
struct JointRule final : Rule {
  static constexpr bool needs_value =
      std::invocable<F&, const Tensor&, const Tensor&, const Wanted<N>&>;
  F rule;

  template <class G>
  explicit JointRule(JointEdge<N, G>& edge) : rule(std::forward<G>(edge.rule)) {}
  void pull(Tensor& g, const Tensor& y, Sweep& sweep) override {
    Wanted<N> wanted;
    bool any = false;
    for (int i = 0; i < N; ++i) any |= wanted[i] = inputs[i] >= 0 && sweep.wants(inputs[i]);
    if (!any) return;
    Gradients<N> gradients;
    if constexpr (needs_value)
      gradients = rule(g, y, wanted);
    else
      gradients = rule(g, wanted);
    for (int i = 0; i < N; ++i)
      if (wanted[i]) sweep.add(inputs[i], std::move(gradients[i]));
  }
  void census() const override { [[maybe_unused]] const F held = rule; }
};

struct PartRule final : Rule {
  static constexpr bool needs_value = false;
  std::shared_ptr<const Part> part;

  explicit PartRule(PartEdge& edge) : part(std::move(edge.part)) {}
  void pull(Tensor& g, const Tensor&, Sweep& sweep) override {
    if (sweep.wants(inputs[0])) sweep.add_part(inputs[0], g, part);
  }
  void census() const override {}
};

template <class F>
constexpr int input_count(const Edge<F>&) {
  return 1;
}
template <int N, class F>
constexpr int input_count(const JointEdge<N, F>&) {
  return N;
}
constexpr int input_count(const PassingEdge&) { return 1; }
constexpr int input_count(const PartEdge&) { return 1; }

template <class F>
const Tensor* input(const Edge<F>& edge, int) {
  return &edge.input;
}
template <int N, class F>
const Tensor* input(const JointEdge<N, F>& edge, int i) {
  return edge.inputs[i];
}
inline const Tensor* input(const PassingEdge& edge, int) { return &edge.input; }
inline const Tensor* input(const PartEdge& edge, int) { return &edge.input; }

// The type of the rule made from an edge; declared, never defined.
template <class F>
EdgeRule<std::decay_t<F>> rule_from(const Edge<F>&);
template <int N, class F>
JointRule<N, std::decay_t<F>> rule_from(const JointEdge<N, F>&);
PassingRule rule_from(const PassingEdge&);
PartRule rule_from(const PartEdge&);

/// Throws NonFiniteError, which names the operation and its inputs, if the value is not finite.
void check_finite(const Tape& tape, const char* name, const Place& place, const Tensor& value,
                  std::span<const Tensor* const> inputs);

// Builds one node of a tape: collects the nodes of the operation's inputs, then its rules.
class Recorder {
 public:
  Recorder(Tape* tape, const char* name, const Place& place, int capacity)
      : tape_(tape), name_(name), place_(place) {
    nodes_ = static_cast<std::int32_t*>(tape->allocate(
        sizeof(std::int32_t) * static_cast<std::size_t>(capacity), alignof(std::int32_t)));
  }
  // Destroys rules that did not reach the tape.
  ~Recorder() {
    if (rules_ != nullptr) [[unlikely]]
      Tape::destroy(rules_);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // A rule in the arena of a tape, whose node will destroy it.
  template <class MadeRule, class... Arguments>
  static MadeRule* make(Tape& tape, Arguments&&... arguments) {
    return new (tape.allocate(sizeof(MadeRule), alignof(MadeRule)))
        MadeRule(std::forward<Arguments>(arguments)...);
  }

  // What a tape with `keep_values` keeps for viewing; null on another tape.
  static Observed* observed(Tape& tape) { return tape.observed_.get(); }
  static void label(Tape& tape, std::int32_t node, const std::string& name) {
    tape.labels_[node] = name;
  }

  // For every operand of every operation: a call would be a part of what a small one costs.
  [[gnu::always_inline]] void add_input(const Tensor& tensor) {
    add_input(tape_->holds(tensor, name_, count_, place_) ? tensor.node()
                                                          : tape_->constant(tensor));
  }
  // Negative: a constant.
  void add_input(std::int32_t node) {
    nodes_[count_++] = node;
    any_ |= node >= 0;
  }
  bool any() const { return any_; }

  template <class E>
  void add_rule(E& edge) {
    const std::int32_t* inputs = nodes_ + used_;
    const int inputs_here = input_count(edge);
    used_ += inputs_here;
    bool held = false;
    for (int i = 0; i < inputs_here; ++i) held |= inputs[i] >= 0;
    if (!held) return;
    auto* rule = make<decltype(rule_from(edge))>(*tape_, edge);
    own(rule, inputs);
    needs_value_ |= rule->needs_value;
  }
  // Adds a rule from the arena that covers all inputs.
  void add_rule(Rule* rule) { own(rule, nodes_); }

  void finish(Tensor& value) {
    expect_defined(name_, value);
    Node& node = tape_->enter(name_, value, PlaceScope::current(place_), needs_value_);
    node.rules = std::exchange(rules_, nullptr);
    node.inputs = nodes_;
    node.input_count = count_;
  }

 private:
  void own(Rule* rule, const std::int32_t* inputs) {
    rule->inputs = inputs;
    rule->next = rules_;
    rules_ = rule;
  }

  Tape* tape_;
  const char* name_;
  const Place& place_;
  std::int32_t* nodes_;
  Rule* rules_ = nullptr;
  int count_ = 0;
  int used_ = 0;
  bool any_ = false;
  bool needs_value_ = false;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
