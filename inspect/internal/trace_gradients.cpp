#include "tapegrad/inspect/internal/trace_gradients.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/tape.h"
#include "tapegrad/inspect/internal/trace_distance.h"
#include "tapegrad/inspect/internal/trace_pairs.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The largest sum of |g| over the axes in which `shape` does not have the extents of g.
double largest_sum(const Tensor& g, const Shape& shape) {
  Tensor sums = abs(g);
  for (int axis = 0; axis < g.rank(); ++axis)
    if (shape[axis] != g.shape()[axis]) sums = sum(sums, axis, Keep::yes);
  return largest(sums);
}

// The largest sum that makes one element of a value if an operation adds it to others along some
// axes: those that it broadcasts to, or all but one, as a bias of channels; 0 for other shapes.
double largest_sum_for(const Shape& value, const Tensor& g) {
  if (!g.defined() || value.size() >= g.size()) return 0;
  Shape alone = g.shape(), aligned = value;
  while (aligned.rank() < g.rank()) aligned = aligned.insert(0, 1);
  const bool broadcasts =
      std::equal(aligned.begin(), aligned.end(), g.shape().begin(), g.shape().end(),
                 [](Index own, Index extent) { return own == 1 || own == extent; });
  double most = broadcasts ? largest_sum(g, aligned) : 0;
  for (int axis = 0; axis < g.rank(); ++axis) alone = alone.with(axis, 1);
  if (std::count(value.begin(), value.end(), value.size()) == 0) return most;
  for (int axis = 0; axis < g.rank(); ++axis)
    if (g.shape()[axis] == value.size())
      most = std::max(most, largest_sum(g, alone.with(axis, value.size())));
  return most;
}

struct Dots {
  double sum = 0, of_sizes = 0;  // of x y, and of |x| |y|
  Dots& operator+=(const Dots& other) {
    sum += other.sum;
    of_sizes += other.of_sizes;
    return *this;
  }
};
Dots dots(const Tensor& x, const Tensor& y) {
  Dots found;
  if (!x.defined() || !y.defined() || x.size() != y.size()) return found;
  for (Index i = 0; i < x.size(); ++i) {
    const double product = static_cast<double>(x.data()[i]) * y.data()[i];
    found += {product, std::abs(product)};
  }
  return found;
}

// What uses a value.
struct Users {
  double largest = 0, sums = 0;  // of their gradients
  bool all_cancel = true;        // whether their gradients are nothing but rounding
  double ratio = 0;              // by how much these are smaller than what they sum, at most
  Dots dots = {};                // of their values and gradients
  std::size_t first = 0, count = 0;
};

class Scales {
 public:
  Scales(const Trace& trace, double rounding)
      : trace_(trace.values), found_(trace_.size()), users_(trace_.size()) {
    for (std::size_t i = trace_.size(); i-- > 0;) {
      const double most = largest(trace_[i].gradient);
      const Users& own = users_[i];
      found_[i] =
          std::max({own.largest, own.sums, of_linear(i), own.all_cancel ? own.ratio * most : 0,
                    is_moved(i) ? found_[own.first] : 0});
      for (const Index input : trace_[i].inputs)
        if (input >= 0) use(operand(input), i, most, most <= rounding * found_[i]);
    }
  }

  const std::vector<double>& found() const { return found_; }

 private:
  void use(std::size_t value, std::size_t user, double most, bool cancels) {
    const TracedValue& by = trace_[user];
    Users& all = users_[value];
    all.largest = std::max(all.largest, most);
    all.sums += largest_sum_for(trace_[value].value.shape(), by.gradient);
    all.all_cancel = all.all_cancel && cancels;
    if (cancels && most > 0) all.ratio = std::max(all.ratio, found_[user] / most);
    all.dots += dots(by.gradient, by.value);
    all.first = user;
    ++all.count;
  }

  // Whether the gradient of the only user has the same elements, in another order or shape.
  bool is_moved(std::size_t value) const {
    const Users& own = users_[value];
    if (own.count != 1) return false;
    const Tensor &g = trace_[value].gradient, &of_user = trace_[own.first].gradient;
    const double size = dots(g, g).sum;
    return g.defined() && of_user.defined() && largest(g) == largest(of_user) &&
           std::abs(size - dots(of_user, of_user).sum) <= 1e-9 * size;
  }

  // For results y = f(w) with f(c w) = c f(w), or with a bias b more, gradients g satisfy
  // <g, y> = <dw, w> + <db, b>. So if nothing cancelled, dw would be as large as |g| |y| / |w|.
  double of_linear(std::size_t value) const {
    const Users& own = users_[value];
    double sizes = 0;
    for (const double w : trace_[value].value.values()) sizes += std::abs(w);
    if (own.count == 0 || sizes == 0) return 0;
    const auto is_product = [&](double of_bias) {
      const double sum = dots(trace_[value].gradient, trace_[value].value).sum + of_bias;
      return std::abs(sum - own.dots.sum) <= 1e-4 * own.dots.of_sizes;
    };
    bool linear = is_product(0);
    for (const Index input : trace_[own.first].inputs)
      if (input >= 0 && !linear && operand(input) != value) {
        const TracedValue& bias = trace_[operand(input)];
        linear = users_[operand(input)].dots.sum == own.dots.sum &&
                 is_product(dots(bias.gradient, bias.value).sum);
      }
    return linear ? own.dots.of_sizes / sizes : 0;
  }

  const std::vector<TracedValue>& trace_;
  std::vector<double> found_;
  std::vector<Users> users_;
};

}  // namespace

std::vector<double> gradient_scales(const Trace& trace, double rounding) {
  const NoGrad constants;
  return Scales(trace, rounding).found();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
