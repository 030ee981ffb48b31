#pragma once

#include "tapegrad/core/edge.h"
#include "tapegrad/core/internal/recorder.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Records an operation, its value and its edges on the active tape, if there is one and holds some
/// input. Returns the value as that node.
///
///     Tensor exp(const Tensor& x, Place place) {
///       return record("exp", kernel(x), place, edge(x, [](const Tensor& g, const Tensor& y) {
///       return g * y; }));
///     }
///
/// Throws TapeError if an input belongs to another tape.
/// Example: `record("triple", 3 * detach(x), {}, edge(x, [](const Tensor& g) { return 3 * g; }))`
template <class... Edges>
Tensor record(const char* name, Tensor value, const Place& place, Edges&&... edges) {
  static_assert((!std::is_lvalue_reference_v<Edges> && ...),
                "make edges in the call of record: they refer to rules that end with it");
  if (Profile* profile = Profile::active()) profile->ended(name);
  Tape* tape = Tape::active();
  if (tape == nullptr) return value;
  constexpr auto for_inputs = [](auto& edge, auto&& f) {
    for (int i = 0; i < detail::input_count(edge); ++i) f(detail::input(edge, i));
  };
  if (tape->options().check_finite) {
    std::vector<const Tensor*> inputs;
    (for_inputs(edges, [&](const Tensor* input) { inputs.push_back(input); }), ...);
    detail::check_finite(*tape, name, PlaceScope::current(place), value, inputs);
  }
  detail::Recorder recorder(tape, name, place, (0 + ... + detail::input_count(edges)));
  (for_inputs(edges, [&](const Tensor* input) { recorder.add_input(*input); }), ...);
  if (!recorder.any()) return value;
  (recorder.add_rule(edges), ...);
  recorder.finish(value);
  return value;
}

/// Records a number of inputs known only at run time; `rule_of(i)` makes the rule of input i.
/// Example: `record_each("same", y, {}, {x}, [](auto) { return [](auto& g) { return g; }; })`
template <class RuleOf>
Tensor record_each(const char* name, Tensor value, const Place& place,
                   const std::vector<Tensor>& inputs, RuleOf&& rule_of) {
  if (Profile* profile = Profile::active()) profile->ended(name);
  Tape* tape = Tape::active();
  if (tape == nullptr) return value;
  if (tape->options().check_finite) {
    std::vector<const Tensor*> pointers;
    for (const Tensor& input : inputs) pointers.push_back(&input);
    detail::check_finite(*tape, name, PlaceScope::current(place), value, pointers);
  }
  detail::Recorder recorder(tape, name, place, static_cast<int>(inputs.size()));
  for (const Tensor& input : inputs) recorder.add_input(input);
  if (!recorder.any()) return value;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto rule = rule_of(i);
    auto made = edge(inputs[i], std::move(rule));
    recorder.add_rule(made);
  }
  recorder.finish(value);
  return value;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
