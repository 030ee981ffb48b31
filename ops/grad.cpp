#include "tapegrad/ops/grad.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/internal/reverse_sweep.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Tape& required_tape(const Place& place) {
  const PlaceScope caller(place);
  return Tape::required("grad");
}

void expect_sweep(const Tape& tape, const Tensor& y, const GradOptions& options,
                  const Place& place) {
  const OperationScope scope("grad", place, y);
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

// nodes: of each x, or -1 for an x that is not on the tape.
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
    if (options.zeros) gradients[i] = zeros(shapes[i]);
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

}  // namespace

std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs, const GradOptions& options,
                         Place place) {
  Tape& tape = required_tape(place);
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
  Tape& tape = required_tape(place);
  for (const Parameter& x : xs) {
    nodes.push_back(tape.find(x));
    shapes.push_back(x.shape());
  }
  return sweep(tape, y, nodes, shapes, options, place);
}

Tensor probe(const Tensor& x, Observer observer, Place place) {
  const OperationScope scope("probe", place, x);
  if (observer.value) observer.value(detach(x));
  return record("probe", x.view(x.shape()), place,
                edge(x, [see = std::move(observer.gradient)](const Tensor& g) {
                  if (see) see(detach(g));
                  return g;
                }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
