#include "data/probe_classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/nn/metrics.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

double dot(const Tensor& a, const Tensor& b) { return matmul(a, b).item(); }
double largest(const Tensor& x) { return max(abs(x)).item(); }

// The features, and a 1 that b multiplies.
Tensor with_one(const Tensor& x) { return concat({x, ones({x.shape()[0], 1})}, -1); }

// The objective, divided by C N so that its values and slopes do not grow with the data.
class Objective {
 public:
  Objective(const Tensor& x, const Indices& labels, double c)
      : x_(with_one(x)), targets_(Tensor::uninitialized({x.shape()[0]})), count_(x.shape()[0]) {
    std::ranges::copy(labels.values(), targets_.mutable_data());
    const Index features = x.shape()[1];
    ridge_ = concat({full({features}, 1 / (c * count_)), zeros({1})});
  }

  double value(const Tensor& w) const {
    const Tensor z = matmul(x_, w);
    return sum(softplus(z) - targets_ * z).item() / count_ + dot(ridge_, w * w) / 2;
  }
  Tensor gradient(const Tensor& w) const {
    return matmul(sigmoid(matmul(x_, w)) - targets_, x_) / count_ + ridge_ * w;
  }
  Tensor hessian(const Tensor& w) const {
    const Tensor p = sigmoid(matmul(x_, w));
    const Tensor weighted = x_ * reshape(p * (1 - p), {x_.shape()[0], 1});
    return matmul(weighted, x_, {.a = true}) / count_ + eye(ridge_.size()) * ridge_;
  }

 private:
  Tensor x_, targets_, ridge_;
  double count_;
};

// Solves H step = -gradient, more exactly the smaller the gradient is.
Tensor newton_step(const Objective& objective, const Tensor& w, const Tensor& gradient) {
  const Tensor hessian = objective.hessian(w);
  Tensor step = zeros(gradient.shape()), rest = -gradient, direction = rest;
  double squared = dot(rest, rest);
  const double enough = squared * std::min(0.01, std::sqrt(squared));
  for (Index i = 0; i < 2 * gradient.size() && squared > enough; ++i) {
    const Tensor product = matmul(hessian, direction);
    const double bend = dot(direction, product);
    if (!(bend > 0)) break;  // rounding
    step = step + direction * (squared / bend);
    rest = rest - product * (squared / bend);
    const double next = dot(rest, rest);
    direction = rest + direction * (next / squared);
    squared = next;
  }
  return step;
}

// w with the share of a step that lessens the objective. None does if rounding hides it, or if
// numbers are not finite.
std::optional<Tensor> after_step(const Objective& objective, const Tensor& w, const Tensor& step) {
  const double before = objective.value(w);
  const double rounding = 4 * std::numeric_limits<real>::epsilon() * std::abs(before);
  for (double share = 1; share > 1e-3; share /= 2)
    if (const Tensor next = w + step * share; objective.value(next) <= before + rounding)
      return next;
  return {};
}

constexpr std::array strengths{0x1p-6, 0x1p-4, 0x1p-2, 0x1p0, 0x1p2};  // C

// How many of the test examples each C classifies rightly.
std::array<Index, strengths.size()> count_right(const Tensor& x, const Indices& labels,
                                                const Fold& fold) {
  const Tensor known = take_rows(x, fold.train.values());
  const Scaler scaler(known);
  const Tensor train = scaler(known), test = scaler(take_rows(x, fold.test.values()));
  std::array<Index, strengths.size()> right;
  Tensor solution;
  for (std::size_t i = 0; i < strengths.size(); ++i) {
    const LogisticRegression net(train, take_rows(labels, fold.train.values()), strengths[i],
                                 solution);
    right[i] = count_equal(net.classify(test), take_rows(labels, fold.test.values()));
    solution = net.solution();
  }
  return right;
}

// The C that classifies most examples rightly in three folds; of several, the least.
double best_strength(const Tensor& x, const Indices& labels) {
  std::array<Index, strengths.size()> total{};
  for (const Fold& fold : make_folds(labels.size(), 3, Random(1).stream(79))) {
    const auto right = count_right(x, labels, fold);
    std::ranges::transform(total, right, total.begin(), std::plus());
  }
  return strengths[std::ranges::max_element(total) - total.begin()];
}

}  // namespace

Scaler::Scaler(const Tensor& x) : mean_(mean(x, 0)) {
  const Tensor deviation = sqrt(mean(square(x - mean_), 0));
  deviation_ = where(greater(deviation, 0), deviation, 1.0);
}

Tensor Scaler::operator()(const Tensor& x) const { return (x - mean_) / deviation_; }

LogisticRegression::LogisticRegression(const Tensor& x, const Indices& labels, double c,
                                       const Tensor& start)
    : residual_(0) {
  expect_defined("LogisticRegression", x, labels);
  expect(x.rank() == 2 && labels.shape() == Shape{x.shape()[0]} && labels.size() > 0,
         "LogisticRegression: x must be (N, D) with N labels: {} and {}", x.shape(),
         labels.shape());
  for (const Index label : labels.values())
    expect<ArgumentError>(label == 0 || label == 1, "LogisticRegression: a label is {}", label);
  expect<ArgumentError>(c > 0, "LogisticRegression: C must be above 0: {}", c);
  constexpr double tolerance = sizeof(real) == 8 ? 1e-9 : 5e-7;
  const Objective objective(x, labels, c);
  solution_ = start.defined() ? start : zeros({x.shape()[1] + 1});
  for (int i = 0; i < 30; ++i) {
    const Tensor gradient = objective.gradient(solution_);
    residual_ = largest(gradient);
    if (residual_ < tolerance) break;
    const auto next = after_step(objective, solution_, newton_step(objective, solution_, gradient));
    if (!next) break;
    solution_ = *next;
  }
}

Indices LogisticRegression::classify(const Tensor& x) const {
  const Tensor z = matmul(with_one(x), solution_);
  Indices result = Indices::uninitialized(z.shape());
  for (Index i = 0; i < z.size(); ++i) result.mutable_data()[i] = z.data()[i] > 0;
  return result;
}

std::vector<Fold> make_folds(Index count, Index parts, Random random) {
  expect<ArgumentError>(2 <= parts && parts <= count, "make_folds: {} folds of {} examples", parts,
                        count);
  const Indices order = random.permutation(count);
  std::vector<Fold> folds;
  for (Index fold = 0; fold < parts; ++fold) {
    const Index begin = fold * count / parts, end = (fold + 1) * count / parts;
    std::vector<Index> train, test;
    for (Index i = 0; i < count; ++i)
      (begin <= i && i < end ? test : train).push_back(order.data()[i]);
    folds.push_back({Indices({std::ssize(train)}, train), Indices({std::ssize(test)}, test)});
  }
  return folds;
}

std::vector<Fold> make_folds_of_groups(const Indices& groups, Index parts, Random random) {
  std::vector<std::vector<Index>> members;
  for (Index i = 0; i < groups.size(); ++i) {
    const std::size_t group = groups.data()[i];
    if (group >= members.size()) members.resize(group + 1);
    members[group].push_back(i);
  }
  const auto all_of = [&](const Indices& chosen) {
    std::vector<Index> examples;
    for (const Index group : chosen.values())
      std::ranges::copy(members[group], std::back_inserter(examples));
    return Indices({std::ssize(examples)}, examples);
  };
  std::vector<Fold> folds;
  for (const Fold& fold : make_folds(std::ssize(members), parts, random))
    folds.push_back({all_of(fold.train), all_of(fold.test)});
  return folds;
}

Indices cross_validated(const std::vector<Fold>& folds, const Guess& guess) {
  Index count = 0;
  for (const Fold& fold : folds) count += fold.test.size();
  Indices guesses = Indices::uninitialized({count});
  for (const Fold& fold : folds) {
    const Indices found = guess(fold.train, fold.test);
    for (Index i = 0; i < found.size(); ++i)
      guesses.mutable_data()[fold.test.data()[i]] = found.data()[i];
  }
  return guesses;
}

Guess logistic_guess(const Tensor& x, const Indices& labels) {
  return [&x, &labels](const Indices& train, const Indices& test) {
    const Tensor known = take_rows(x, train.values());
    const Indices known_labels = take_rows(labels, train.values());
    const Scaler scaler(known);
    return LogisticRegression(scaler(known), known_labels, best_strength(known, known_labels))
        .classify(scaler(take_rows(x, test.values())));
  };
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
