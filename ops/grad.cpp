#include "tapegrad/ops/grad.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/interlude.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/reverse_sweep.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Tape& required_tape(const char* operation, const Place& place) {
  const PlaceScope caller(place);
  return Tape::required(operation);
}

void expect_sweep(const Tape& tape, const Tensor& y, const GradOptions& options,
                  const Place& place) {
  const PlaceScope caller(place);
  expect_defined("grad", y);
  expect<TapeError>(
      tape.holds(y, "grad", 0, place),
      "grad: y was not recorded: it depends on no parameter and on nothing that was watched; if it "
      "was made from gradients, give the sweep that made them .record = true");
  expect(options.seed.defined() || y.size() == 1,
         "grad: y of shape {} needs a seed of that shape, or a reduction to one element",
         y.shape());
  expect(!options.seed.defined() || options.seed.shape() == y.shape(),
         "grad: the seed {} does not have the shape of y {}", options.seed.shape(), y.shape());
}

// Calls `options.ready` with the position of each x of a node, for the nodes of several xs.
std::function<void(std::int32_t, const Tensor&)> announcer(const std::vector<std::int32_t>& nodes,
                                                           const GradOptions& options) {
  if (!options.ready) return {};
  std::multimap<std::int32_t, std::size_t> positions;
  for (std::size_t i = 0; i < nodes.size(); ++i) positions.emplace(nodes[i], i);
  return [positions, &options](std::int32_t node, const Tensor& gradient) {
    const auto [first, last] = positions.equal_range(node);
    for (auto x = first; x != last; ++x) options.ready(x->second, gradient);
  };
}

// nodes: those of the xs, or -1 for an x that is not on the tape.
std::vector<Tensor> sweep(Tape& tape, const Tensor& y, const std::vector<std::int32_t>& nodes,
                          const std::vector<Shape>& shapes, const GradOptions& options,
                          const Place& place) {
  expect_sweep(tape, y, options, place);
  std::int32_t first = y.node() + 1;
  for (const std::int32_t node : nodes)
    if (node >= 0) first = std::min(first, node);
  std::vector<Tensor> gradients(nodes.size());
  if (first <= y.node()) {
    std::optional<NoGrad> pause;
    if (!options.record) pause.emplace();
    ReverseSweep reverse(tape, first, y.node(), options);
    for (const std::int32_t node : nodes)
      if (node >= 0 && node <= y.node()) reverse.keep(node);
    reverse.mark_dependents();
    if (reverse.wants(y.node())) {
      reverse.add(y.node(), options.seed.defined() ? options.seed : ones(y.shape()));
      reverse.run(announcer(nodes, options));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i] >= 0 && nodes[i] <= y.node()) gradients[i] = reverse.gradient(nodes[i]);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) continue;
    gradients[i] = zeros(shapes[i]);
    if (options.ready) options.ready(i, gradients[i]);
  }
  return gradients;
}

std::vector<std::int32_t> nodes_of(const Tape& tape, const std::vector<Tensor>& xs,
                                   const Place& place) {
  const PlaceScope caller(place);
  expect_all_defined("grad", xs);
  std::vector<std::int32_t> nodes;
  for (const Tensor& x : xs) {
    const bool held = tape.holds(x, "grad", static_cast<int>(nodes.size()) + 1, place);
    expect<TapeError>(held, "grad: x {} of shape {} is not on the tape; watch() it first",
                      nodes.size(), x.shape());
    nodes.push_back(x.node());
  }
  return nodes;
}

// The tape that differentiating functions record on: the active one; one that NoGrad pauses, which
// then forgets it; or, without any, a tape of their own.
class Differentiation {
 public:
  Differentiation() {
    if (recording()) return;
    enable_.emplace();
    if (Tape* paused = Tape::active())
      forgotten_.emplace(*paused);
    else
      own_.emplace();
  }

 private:
  std::optional<EnableGrad> enable_;
  std::optional<Tape> own_;
  std::optional<Interlude> forgotten_;
};

// `grad`, but zeros where y depends on none of the xs.
std::vector<Tensor> grad_or_zeros(const Tensor& y, const std::vector<Tensor>& xs,
                                  const GradOptions& options, const Place& place) {
  if (required_tape("grad", place).holds(y, "grad", 0, place)) return grad(y, xs, options, place);
  std::vector<Tensor> gradients;
  for (const Tensor& x : xs) gradients.push_back(zeros(x.shape()));
  return gradients;
}

void expect_arguments(const char* operation, bool has_function, const std::vector<Tensor>& xs,
                      const Place& place) {
  const PlaceScope caller(place);
  expect<ArgumentError>(has_function, "{}: the function is empty", operation);
  expect_all_defined(operation, xs);
}

void expect_product(const char* operation, const Tensor& v, const Tensor& of, const Place& place) {
  const PlaceScope caller(place);
  expect_defined(operation, v, of);
  expect(v.shape() == of.shape(), "{}: the vector must have the shape {}: {}", operation,
         of.shape(), v.shape());
}

// The same values as a new node, at which a sweep over f stops.
Tensor alias(const Tensor& x, const Place& place) {
  const Tape* tape = Tape::active();
  if (!tape->holds(x, "alias", 0, place)) return watch(x);
  return record("alias", x.view(x.shape()), {}, edge(x));
}

}  // namespace

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const GradOptions& options,
                         Place place) {
  Tape& tape = required_tape("grad", place);
  const std::vector<std::int32_t> nodes = nodes_of(tape, xs, place);
  std::vector<Shape> shapes;
  for (const Tensor& x : xs) shapes.push_back(x.shape());
  return sweep(tape, y, nodes, shapes, options, place);
}

Tensor grad(const Tensor& y, const Tensor& x, const GradOptions& options, Place place) {
  return grad(y, std::vector<Tensor>{x}, options, place)[0];
}

std::vector<Tensor> grad(const Tensor& y, const std::vector<Parameter>& xs,
                         const GradOptions& options, Place place) {
  std::vector<std::int32_t> nodes;
  std::vector<Shape> shapes;
  Tape& tape = required_tape("grad", place);
  for (const Parameter& x : xs) {
    nodes.push_back(tape.find(x));
    shapes.push_back(x.shape());
  }
  return sweep(tape, y, nodes, shapes, options, place);
}

std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v,
                        Place place) {
  expect_arguments("vjp", f != nullptr, xs, place);
  const bool recorded = recording();
  const Differentiation differentiation;
  std::vector<Tensor> aliases;
  for (const Tensor& x : xs) aliases.push_back(alias(x, place));
  const Tensor y = f(aliases);
  expect_product("vjp", v, y, place);
  std::vector<Tensor> gradients = grad_or_zeros(y, aliases, {.seed = v, .record = recorded}, place);
  if (!recorded)
    for (Tensor& gradient : gradients) gradient = detach(gradient);
  return gradients;
}

Tensor jvp(const Function& f, const std::vector<Tensor>& xs, const std::vector<Tensor>& vs,
           Place place) {
  expect_arguments("jvp", f != nullptr, xs, place);
  {
    const PlaceScope caller(place);
    expect(vs.size() == xs.size(), "jvp: {} vectors for {} inputs", vs.size(), xs.size());
  }
  for (std::size_t i = 0; i < xs.size(); ++i) expect_product("jvp", vs[i], xs[i], place);
  const bool recorded = recording();
  const Differentiation differentiation;
  std::vector<Tensor> aliases;
  for (const Tensor& x : xs) aliases.push_back(alias(x, place));
  const Tensor y = f(aliases);
  const Tensor u = watch(zeros(y.shape()));
  const std::vector<Tensor> products =
      grad_or_zeros(y, aliases, {.seed = u, .record = true}, place);
  Tensor total = 0.0;
  for (std::size_t i = 0; i < vs.size(); ++i) total = total + sum(products[i] * vs[i]);
  const Tensor result = grad_or_zeros(total, {u}, {.record = recorded}, place).front();
  return recorded ? result : detach(result);
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Place place) {
  expect_arguments("jacobian", f != nullptr, {x}, place);
  const bool recorded = recording();
  const Differentiation differentiation;
  const Tensor at = alias(x, place), y = f(at);
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.size(); ++i) {
    Tensor unit = zeros(y.shape());
    unit.mutable_data()[i] = 1;
    rows.push_back(
        grad_or_zeros(y, {at}, {.seed = unit, .keep = true, .record = recorded}, place).front());
  }
  std::vector<Index> extents(y.shape().begin(), y.shape().end());
  extents.insert(extents.end(), x.shape().begin(), x.shape().end());
  if (rows.empty()) return zeros(Shape(extents));
  const Tensor all = reshape(stack(rows), Shape(extents));
  return recorded ? all : detach(all);
}

Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v,
           Place place) {
  expect_arguments("hvp", f != nullptr, {x, v}, place);
  const bool recorded = recording();
  const Differentiation differentiation;
  const Tensor at = alias(x, place);
  expect_product("hvp", v, x, place);
  const Tensor gradient = grad_or_zeros(f(at), {at}, {.record = true}, place).front();
  const Tensor product =
      grad_or_zeros(gradient, {at}, {.seed = v, .record = recorded}, place).front();
  return recorded ? product : detach(product);
}

Tensor probe(const Tensor& x, Observer observer, Place place) {
  const PlaceScope caller(place);
  expect_defined("probe", x);
  if (observer.value) observer.value(detach(x));
  return record("probe", x.view(x.shape()), place,
                edge(x, [see = std::move(observer.gradient)](const Tensor& g) {
                  if (see) see(detach(g));
                  return g;
                }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
