#include "tapegrad/ops/derivatives.h"

#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/interlude.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The tape that these functions record on: the active one; one that NoGrad pauses, which then
// forgets it; or, without any, a tape of their own.
class Differentiation {
 public:
  Differentiation() {
    if (recorded_) return;
    enable_.emplace();
    if (Tape* paused = Tape::active())
      forgotten_.emplace(*paused);
    else
      own_.emplace();
  }

  /// Whether the results stay on the tape.
  bool recorded() const { return recorded_; }
  Tensor result(const Tensor& y) const { return recorded_ ? y : detach(y); }

 private:
  bool recorded_ = recording();
  std::optional<EnableGrad> enable_;
  std::optional<Tape> own_;
  std::optional<Interlude> forgotten_;
};

// `grad`, but zeros where y depends on none of the xs.
std::vector<Tensor> grad_or_zeros(const Tensor& y, const std::vector<Tensor>& xs,
                                  const GradOptions& options, const Place& place) {
  if (Tape::active()->holds(y, "grad", 0, place)) return grad(y, xs, options, place);
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
  const OperationScope scope(operation, place, v, of);
  expect(v.shape() == of.shape(), "{}: the vector must have the shape {}: {}", operation,
         of.shape(), v.shape());
}

// Records the values as new nodes, at which a sweep over f stops.
std::vector<Tensor> aliases(const std::vector<Tensor>& xs, const Place& place) {
  const Tape* tape = Tape::active();
  std::vector<Tensor> nodes;
  for (const Tensor& x : xs)
    nodes.push_back(tape->holds(x, "alias", 0, place)
                        ? record("alias", x.view(x.shape()), {}, edge(x))
                        : watch(x));
  return nodes;
}

}  // namespace

std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v,
                        Place place) {
  expect_arguments("vjp", f != nullptr, xs, place);
  const Differentiation here;
  const std::vector<Tensor> at = aliases(xs, place);
  const Tensor y = f(at);
  expect_product("vjp", v, y, place);
  std::vector<Tensor> products =
      grad_or_zeros(y, at, {.seed = v, .record = here.recorded()}, place);
  for (Tensor& product : products) product = here.result(product);
  return products;
}

Tensor jvp(const Function& f, const std::vector<Tensor>& xs, const std::vector<Tensor>& vs,
           Place place) {
  expect_arguments("jvp", f != nullptr, xs, place);
  {
    const PlaceScope caller(place);
    expect(vs.size() == xs.size(), "jvp: {} vectors for {} inputs", vs.size(), xs.size());
  }
  for (std::size_t i = 0; i < xs.size(); ++i) expect_product("jvp", vs[i], xs[i], place);
  const Differentiation here;
  const std::vector<Tensor> at = aliases(xs, place);
  const Tensor y = f(at);
  const Tensor u = watch(zeros(y.shape()));
  const std::vector<Tensor> products = grad_or_zeros(y, at, {.seed = u, .record = true}, place);
  Tensor total = 0.0;
  for (std::size_t i = 0; i < vs.size(); ++i) total = total + sum(products[i] * vs[i]);
  return here.result(grad_or_zeros(total, {u}, {.record = here.recorded()}, place).front());
}

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Place place) {
  expect_arguments("jacobian", f != nullptr, {x}, place);
  const Differentiation here;
  const std::vector<Tensor> at = aliases({x}, place);
  const Tensor y = f(at[0]);
  std::vector<Tensor> rows;
  for (Index i = 0; i < y.size(); ++i) {
    Tensor unit = zeros(y.shape());
    unit.mutable_data()[i] = 1;
    const GradOptions options{.seed = unit, .keep = true, .record = here.recorded()};
    rows.push_back(grad_or_zeros(y, at, options, place).front());
  }
  std::vector<Index> extents(y.shape().begin(), y.shape().end());
  extents.insert(extents.end(), x.shape().begin(), x.shape().end());
  if (rows.empty()) return zeros(Shape(extents));
  return here.result(reshape(stack(rows), Shape(extents)));
}

Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v,
           Place place) {
  expect_arguments("hvp", f != nullptr, {x, v}, place);
  const Differentiation here;
  const std::vector<Tensor> at = aliases({x}, place);
  expect_product("hvp", v, x, place);
  const Tensor gradient = grad_or_zeros(f(at[0]), at, {.record = true}, place).front();
  const GradOptions options{.seed = v, .record = here.recorded()};
  return here.result(grad_or_zeros(gradient, at, options, place).front());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
