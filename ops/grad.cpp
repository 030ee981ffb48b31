#include "tapegrad/ops/grad.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad {
namespace {

thread_local bool composite_active = false;
thread_local bool recomputation_active = false;

// What a sweep knows of one node: whether it leads to an x or is one, and its gradient while the
// sweep has not reached it: a sum, and the parts that a recorded sweep still has to add.
struct Slot {
  Slot() {}  // not defaulted: a vector would zero all of it first
  bool reached = false;
  bool kept = false;
  Tensor total;
  std::vector<std::pair<Tensor, std::shared_ptr<const Part>>> parts;
};

// zeros + all parts as one operation, so that a recorded sweep over T slices costs T, not T
// squared.
Tensor assemble(const Shape& shape, const Slot& slot) {
  Tensor whole = zeros(shape);
  std::vector<Tensor> inputs;
  for (const auto& [gradient, part] : slot.parts) {
    part->add_to(whole, gradient);
    inputs.push_back(gradient);
  }
  const Tensor parts = record_each("assemble", whole, {}, inputs, [&](std::size_t i) {
    return [part = slot.parts[i].second](const Tensor& g) { return part->extract(g); };
  });
  return slot.total.defined() ? add(slot.total, parts) : parts;
}

// One reverse pass over the nodes [first, last] that some x reaches. As part of an outer sweep it
// hands gradients of earlier nodes on to that.
class ReverseSweep final : public Sweep {
 public:
  ReverseSweep(Tape& tape, std::int32_t first, std::int32_t last, const GradOptions& options,
               Sweep* outer = nullptr)
      : tape_(tape),
        first_(first),
        options_(options),
        outer_(outer),
        slots_(last - first + 1),
        number_(tape.begin_sweep()) {}

  // An x: its gradient stays when the sweep has used it.
  void keep(std::int32_t node) {
    slots_[node - first_].reached = slots_[node - first_].kept = true;
  }

  // A node leads to an x if one of its inputs does.
  void mark_dependents() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      const Node& node = tape_.node(first_ + static_cast<std::int32_t>(i));
      for (int input = 0; input < node.input_count && !slot.reached; ++input)
        slot.reached = wants(node.inputs[input]);
    }
  }

  bool wants(std::int32_t node) const override {
    if (node >= first_) return slots_[node - first_].reached;
    return outer_ != nullptr && node >= 0 && outer_->wants(node);
  }

  void add(std::int32_t node, const Tensor& gradient) override { add_any(node, gradient); }
  void add(std::int32_t node, Tensor&& gradient) override { add_any(node, std::move(gradient)); }

  void add_part(std::int32_t node, Tensor gradient, std::shared_ptr<const Part> part) override {
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

  // Runs the rules backwards.
  void run() {
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
      expect<TapeError>(!node.released,
                        "grad: the rules of {} at {} were used up by an earlier sweep; give that "
                        "one .keep = true",
                        node.name, node.place);
      pull(node, index, slot.kept ? slot.total : std::move(slot.total));
    }
  }

  const Tensor& gradient(std::int32_t node) const { return slots_[node - first_].total; }

 private:
  // Takes over a gradient that is the caller's to give.
  template <class Given>
  void add_any(std::int32_t node, Given&& gradient) {
    if (node < first_) return outer_->add(node, std::forward<Given>(gradient));
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

  void pull(Node& node, std::int32_t index, Tensor g) {
    const ProfileSpan span(node.name, true);
    const Tensor seen = tape_.options().check_finite ? g : Tensor();
    pulled_ = index;
    for (Rule* rule = node.rules; rule != nullptr; rule = rule->next)
      rule->pull(g, tape_.value(index), *this);
    if (tape_.options().check_finite) check_inputs(node, seen);
    if (!options_.keep && !options_.record) tape_.release(node);
  }

  void keep_flow(std::int32_t to, const Tensor& added, const Tensor& total) {
    if (tape_.options().keep_values)
      tape_.keep_flow({number_, pulled_, to, tape_.size(), added, total});
  }

  void check_inputs(const Node& node, const Tensor& g) const {
    for (int i = 0; i < node.input_count; ++i) {
      const std::int32_t input = node.inputs[i];
      if (!wants(input) || !slots_[input - first_].total.defined()) continue;
      const Tensor& value = tape_.value(input);
      const Tensor* seen[] = {&g, &value};
      const std::string name = std::string("gradient of ") + node.name;
      tape_.check_finite(name.c_str(), node.place, slots_[input - first_].total,
                         std::span(seen, value.defined() ? 2 : 1));
    }
  }

  Tape& tape_;
  std::int32_t first_;
  const GradOptions& options_;
  Sweep* outer_;
  std::vector<Slot> slots_;
  const int number_;
  std::int32_t pulled_ = -1;  // the node whose rules run
};

// While in scope, `recomputing()`.
class Recomputation {
 public:
  Recomputation() : outer_(std::exchange(recomputation_active, true)) {}
  ~Recomputation() { recomputation_active = outer_; }
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

 private:
  bool outer_;
};

// What `recompute` leaves on the tape.
struct RecomputeRule final : Rule {
  Function f;
  std::vector<Tensor> xs;
  std::vector<RandomJournal::Entry> drawn;  // from these, in these states

  void pull(Tensor& g, const Tensor&, Sweep& outer) override {
    const bool recorded = recording();
    const EnableGrad enable;
    Tape& tape = *Tape::active();
    const std::int32_t before = tape.size();
    const Tensor y = repeated();
    const GradOptions options{.record = recorded};
    {
      std::optional<NoGrad> pause;
      if (!recorded) pause.emplace();
      ReverseSweep inner(tape, before, y.node(), options, &outer);
      inner.mark_dependents();
      if (inner.wants(y.node())) {
        inner.add(y.node(), g);
        inner.run();
      }
    }
    if (!recorded) tape.rewind(before);
  }
  void census() const override {
    [[maybe_unused]] const std::vector<Tensor> held = xs;
    [[maybe_unused]] const Function captured = f;
  }

 private:
  Tensor repeated() const {
    std::vector<RandomJournal::Entry> now;
    for (const auto& [random, state] : drawn) {
      now.push_back({random, random->state()});
      random->restore(state);
    }
    const Recomputation active;
    const Tensor y = f(xs);
    for (const auto& [random, state] : now) random->restore(state);
    return y;
  }
};

// nodes: of the xs on the tape; -1 for one that is not.
std::vector<Tensor> sweep(const Tensor& y, const std::vector<std::int32_t>& nodes,
                          const std::vector<Shape>& shapes, const GradOptions& options) {
  Tape* tape = Tape::active();
  expect<TapeError>(tape != nullptr, "grad: no tape is in scope; begin one with `Tape tape;`");
  const bool recorded = tape->holds(y, "grad", 0);
  expect<TapeError>(
      recorded,
      "grad: y was not recorded: it depends on no parameter and on nothing that was watched");
  expect(options.seed.defined() || y.size() == 1,
         "grad: y of shape {} needs a seed of that shape, or a reduction to one element",
         y.shape());
  expect(!options.seed.defined() || options.seed.shape() == y.shape(),
         "grad: the seed {} does not have the shape of y {}", options.seed.shape(), y.shape());

  std::int32_t first = y.node() + 1;
  for (const std::int32_t node : nodes)
    if (node >= 0) first = std::min(first, node);
  std::vector<Tensor> gradients(nodes.size());
  if (first <= y.node()) {
    std::optional<NoGrad> pause;
    if (!options.record) pause.emplace();
    ReverseSweep reverse(*tape, first, y.node(), options);
    for (const std::int32_t node : nodes)
      if (node >= 0 && node <= y.node()) reverse.keep(node);
    reverse.mark_dependents();
    if (reverse.wants(y.node())) {
      reverse.add(y.node(), options.seed.defined() ? options.seed : ones(y.shape()));
      reverse.run();
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] >= 0 && nodes[i] <= y.node()) gradients[i] = reverse.gradient(nodes[i]);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = zeros(shapes[i]);
  return gradients;
}

// A tape for functions that differentiate on the active one if there is one.
class ActiveOrOwnTape {
 public:
  ActiveOrOwnTape() {
    if (Tape::active() == nullptr) own_.emplace();
  }

 private:
  std::optional<Tape> own_;
};

// The same values as a new node: what a sweep over f must not walk past.
Tensor alias(const Tensor& x) {
  const Tape* tape = Tape::active();
  if (!tape->holds(x, "alias", 0)) return watch(x);
  return record("alias", x.view(x.shape()), {}, edge(x));
}

}  // namespace

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs,
                         const GradOptions& options) {
  std::vector<std::int32_t> nodes;
  std::vector<Shape> shapes;
  const Tape* tape = Tape::active();
  for (const Tensor& x : xs) {
    const bool held = tape != nullptr && tape->holds(x, "grad", static_cast<int>(nodes.size()) + 1);
    expect<TapeError>(tape == nullptr || held,
                      "grad: x {} of shape {} is not on the tape; watch() it first", nodes.size(),
                      x.shape());
    nodes.push_back(x.node());
    shapes.push_back(x.shape());
  }
  return sweep(y, nodes, shapes, options);
}

Tensor grad(const Tensor& y, const Tensor& x, const GradOptions& options) {
  return grad(y, std::vector<Tensor>{x}, options)[0];
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Parameter>& xs,
                         const GradOptions& options) {
  std::vector<std::int32_t> nodes;
  std::vector<Shape> shapes;
  const Tape* tape = Tape::active();
  for (const Parameter& x : xs) {
    nodes.push_back(tape == nullptr ? -1 : tape->find(x));
    shapes.push_back(x.shape());
  }
  return sweep(y, nodes, shapes, options);
}

std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v) {
  const bool recorded = recording();
  const ActiveOrOwnTape tape;
  std::vector<Tensor> aliases;
  for (const Tensor& x : xs) aliases.push_back(alias(x));
  std::vector<Tensor> gradients = grad(f(aliases), aliases, {.seed = v, .record = recorded});
  if (!recorded)
    for (Tensor& gradient : gradients) gradient = detach(gradient);
  return gradients;
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const bool recorded = recording();
  const ActiveOrOwnTape tape;
  const Tensor at = alias(x), y = f(at);
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.size(); ++i) {
    Tensor unit = zeros(y.shape());
    unit.mutable_data()[i] = 1;
    rows.push_back(grad(y, at, {.seed = unit, .keep = true, .record = recorded}));
  }
  std::vector<Index> extents(y.shape().begin(), y.shape().end());
  extents.insert(extents.end(), x.shape().begin(), x.shape().end());
  if (rows.empty()) return zeros(Shape(extents));
  const Tensor all = reshape(stack(rows), Shape(extents));
  return recorded ? all : detach(all);
}

Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v) {
  const bool recorded = recording();
  const ActiveOrOwnTape tape;
  const Tensor at = alias(x);
  const Tensor gradient = grad(f(at), at, {.record = true});
  const Tensor product = grad(gradient, at, {.seed = v, .record = recorded});
  return recorded ? product : detach(product);
}

Tensor recompute(const Function& f, const std::vector<Tensor>& xs, Place place) {
  Tape* tape = Tape::active();
  if (tape == nullptr || tape->options().keep_values) return f(xs);
  const PlaceScope caller(place);
  const std::int32_t before = tape->size();
  const RandomJournal journal;
  const Tensor y = f(xs);
  if (!tape->holds(y, "recompute", 0) || y.node() < before) return y;  // nothing was recorded

  std::set<std::int32_t> outside;
  for (std::int32_t i = before; i < tape->size(); ++i) {
    const Node& node = tape->node(i);
    for (const std::int32_t input : std::span(node.inputs, node.inputs + node.input_count))
      if (input >= 0 && input < before) outside.insert(input);
  }
  for (const Parameter& parameter : tape->rewind(before))
    outside.insert(tape->leaf(parameter).node());

  Tensor result = detach(y);
  Node& node = tape->enter("recompute", result, PlaceScope::current(place));
  auto* inputs = static_cast<std::int32_t*>(
      tape->allocate(sizeof(std::int32_t) * outside.size(), alignof(std::int32_t)));
  std::copy(outside.begin(), outside.end(), inputs);
  auto* rule = new (tape->allocate(sizeof(RecomputeRule), alignof(RecomputeRule))) RecomputeRule;
  rule->f = f;
  rule->xs = xs;
  rule->drawn = journal.entries();
  rule->inputs = inputs;
  node.rules = rule;
  node.inputs = inputs;
  node.input_count = static_cast<std::int32_t>(outside.size());
  return result;
}

std::vector<Tensor> recompute(const ManyFunction& f, const std::vector<Tensor>& xs, Place place) {
  const Tape* tape = Tape::active();
  if (tape == nullptr || tape->options().keep_values) return f(xs);
  const PlaceScope caller(place);
  const auto shapes = std::make_shared<std::vector<Shape>>();
  const Function joined = [f, shapes](const std::vector<Tensor>& in) {
    std::vector<Tensor> flat;
    shapes->clear();
    for (const Tensor& y : f(in)) {
      expect<TapeError>(y.defined(), "recompute: result {} is undefined", flat.size());
      shapes->push_back(y.shape());
      flat.push_back(reshape(y, {y.size()}));
    }
    expect<TapeError>(!flat.empty(), "recompute: the function has no results");
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

Tensor probe(const Tensor& x, Observer observer, Place place) {
  if (observer.value) observer.value(detach(x));
  return record("probe", x.view(x.shape()), place,
                edge(x, [see = std::move(observer.gradient)](const Tensor& g) {
                  if (see) see(detach(g));
                  return g;
                }));
}

Composite::Composite() : outer_(composite_active) { composite_active = true; }
Composite::~Composite() { composite_active = outer_; }
bool Composite::active() { return composite_active; }

}  // namespace tapegrad
