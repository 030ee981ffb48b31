#include "tapegrad/ops/grad.h"

#include <algorithm>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/interlude.h"
#include "tapegrad/ops/internal/reverse_sweep.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// nodes: those of the xs, or -1 for an x that is not on the tape.
std::vector<Tensor> sweep(const Tensor& y, const std::vector<std::int32_t>& nodes,
                          const std::vector<Shape>& shapes, const GradOptions& options) {
  Tape& tape = Tape::required("grad");
  expect_defined("grad", y);
  const bool recorded = tape.holds(y, "grad", 0);
  expect<TapeError>(
      recorded,
      "grad: y was not recorded: it depends on no parameter and on nothing that was watched; if it "
      "was made from gradients, give the sweep that made them .record = true");
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
    ReverseSweep reverse(tape, first, y.node(), options);
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
                                  const GradOptions& options) {
  if (Tape::required("grad").holds(y, "grad", 0)) return grad(y, xs, options);
  std::vector<Tensor> gradients;
  for (const Tensor& x : xs) gradients.push_back(zeros(x.shape()));
  return gradients;
}

void expect_product(const char* operation, const Tensor& v, const Tensor& of) {
  expect_defined(operation, v, of);
  expect(v.shape() == of.shape(), "{}: the vector must have the shape {}: {}", operation,
         of.shape(), v.shape());
}

// The same values as a new node, at which a sweep over f stops.
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
  const Tape& tape = Tape::required("grad");
  expect_all_defined("grad", xs);
  for (const Tensor& x : xs) {
    const bool held = tape.holds(x, "grad", static_cast<int>(nodes.size()) + 1);
    expect<TapeError>(held, "grad: x {} of shape {} is not on the tape; watch() it first",
                      nodes.size(), x.shape());
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
  const Tape& tape = Tape::required("grad");
  for (const Parameter& x : xs) {
    nodes.push_back(tape.find(x));
    shapes.push_back(x.shape());
  }
  return sweep(y, nodes, shapes, options);
}

std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v) {
  expect<ArgumentError>(f != nullptr, "vjp: the function is empty");
  expect_all_defined("vjp", xs);
  const bool recorded = recording();
  const Differentiation differentiation;
  std::vector<Tensor> aliases;
  for (const Tensor& x : xs) aliases.push_back(alias(x));
  const Tensor y = f(aliases);
  expect_product("vjp", v, y);
  std::vector<Tensor> gradients = grad_or_zeros(y, aliases, {.seed = v, .record = recorded});
  if (!recorded)
    for (Tensor& gradient : gradients) gradient = detach(gradient);
  return gradients;
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  expect<ArgumentError>(f != nullptr, "jacobian: the function is empty");
  expect_defined("jacobian", x);
  const bool recorded = recording();
  const Differentiation differentiation;
  const Tensor at = alias(x), y = f(at);
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.size(); ++i) {
    Tensor unit = zeros(y.shape());
    unit.mutable_data()[i] = 1;
    rows.push_back(
        grad_or_zeros(y, {at}, {.seed = unit, .keep = true, .record = recorded}).front());
  }
  std::vector<Index> extents(y.shape().begin(), y.shape().end());
  extents.insert(extents.end(), x.shape().begin(), x.shape().end());
  if (rows.empty()) return zeros(Shape(extents));
  const Tensor all = reshape(stack(rows), Shape(extents));
  return recorded ? all : detach(all);
}

Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v) {
  expect<ArgumentError>(f != nullptr, "hvp: the function is empty");
  expect_defined("hvp", x, v);
  const bool recorded = recording();
  const Differentiation differentiation;
  const Tensor at = alias(x);
  expect_product("hvp", v, x);
  const Tensor gradient = grad_or_zeros(f(at), {at}, {.record = true}).front();
  const Tensor product = grad_or_zeros(gradient, {at}, {.seed = v, .record = recorded}).front();
  return recorded ? product : detach(product);
}

Tensor probe(const Tensor& x, Observer observer, Place place) {
  expect_defined("probe", x);
  if (observer.value) observer.value(detach(x));
  return record("probe", x.view(x.shape()), place,
                edge(x, [see = std::move(observer.gradient)](const Tensor& g) {
                  if (see) see(detach(g));
                  return g;
                }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
