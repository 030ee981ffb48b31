#include "tapegrad/nn/files/internal/trace_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/files/internal/trace_arrangement.h"
#include "tapegrad/nn/files/internal/trace_distance.h"
#include "tapegrad/nn/files/internal/trace_words.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

struct Function {
  const char* name;
  Tensor (*call)(const Tensor& x);
};
const Function functions[] = {
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"leaky_relu with slope 0.01", [](const Tensor& x) { return leaky_relu(x); }},
    {"leaky_relu with slope 0.1", [](const Tensor& x) { return leaky_relu(x, 0.1); }},
    {"leaky_relu with slope 0.2", [](const Tensor& x) { return leaky_relu(x, 0.2); }},
    {"elu", [](const Tensor& x) { return elu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"gelu in its tanh approximation", [](const Tensor& x) { return gelu_tanh(x); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"exp", [](const Tensor& x) { return exp(x); }},
    {"log", [](const Tensor& x) { return log(x); }},
    {"square", [](const Tensor& x) { return square(x); }},
    {"sqrt", [](const Tensor& x) { return sqrt(x); }},
    {"reciprocal", [](const Tensor& x) { return reciprocal(x); }},
    {"abs", [](const Tensor& x) { return abs(x); }},
    {"1 - x", [](const Tensor& x) { return 1.0 - x; }},
};

// Guesses what turns one tensor into the other.
class Guess {
 public:
  Guess(const TraceDifference& all, const Tensor& from, const Tensor& to, const char* from_name,
        const char* name)
      : all_(all),
        from_(from),
        to_(to),
        hidden_(hidden_in_both()),
        other_(from_name),
        name_(name) {}

  // Guesses of one kind each, in words, or "".

  std::string absent() const {
    if (from_.defined() && !to_.defined())
      return fmt::format("{} has none: no gradient comes, as through detach or a frozen layer",
                         name_);
    if (largest_of(to_) == 0 && largest_of(from_) > 0)
      return all_.of_gradients
                 ? fmt::format("{} is zero: no gradient flows, as through detach", name_)
                 : fmt::format("{} is zero everywhere: a state or a table that is never filled",
                               name_);
    return "";
  }

  std::string not_finite() const {
    if (range(to_).non_finite <= range(from_).non_finite) return "";
    return fmt::format("{} has infinities or NaN: a mask, an overflow or log(0)", name_);
  }

  std::string arranged() const {
    const std::string how = arrangement(from_, to_, all_.agree);
    if (!how.empty()) return fmt::format("{} {}", name_, how);
    return from_.shape() == to_.shape() ? "" : reduced();
  }

  // By a number that is known for something.
  std::string scaled() const {
    if (from_.shape() != to_.shape() || from_.size() == 0) return "";
    if (const auto c = ratio())
      if (const auto words = known_factor(*c, sizes(), other_, all_.of_gradients))
        return fmt::format("{}: {}", name_, *words);
    if (const auto c = shift())
      if (const auto words = known_shift(*c, sizes())) return fmt::format("{}: {}", name_, *words);
    return "";
  }

  // By a number that is not known.
  std::string by_number() const {
    if (from_.shape() != to_.shape() || from_.size() < 2) return "";
    if (const auto c = ratio())
      return fmt::format("{}: {:.6g} times {}, a constant factor", name_, *c, other_);
    if (const auto c = shift())
      return fmt::format("{} is shifted by the constant {:.6g}", name_, *c);
    return "";
  }

  // By another value: for values, an input of the operation; for gradients, any gradient.
  std::string by_operand() const {
    if (from_.shape() != to_.shape()) return "";
    for (const TraceOperand& one : all_.of_gradients ? all_.present : all_.operands)
      if (fits(one.value) && largest_of(one.value) > 0) {
        if (explains(from_ + one.value))
          return fmt::format("{} is {} plus {}", name_, other_, one.name);
        if (explains(from_ + 2.0 * one.value))
          return fmt::format("{} has the opposite sign of {}", name_, one.name);
        if (explains(from_ * one.value))
          return fmt::format("{} is {} times {}", name_, other_, one.name);
      }
    for (const TraceOperand& x : all_.inputs)
      for (const TraceOperand& w : all_.inputs)
        if (x.value.rank() == 2 && w.value.rank() == 2 &&
            x.value.shape()[1] == w.value.shape()[1] &&
            explains(matmul(x.value, w.value, {.b = true})))
          return fmt::format("{} multiplies {} by {}, transposed", name_, x.name, w.name);
    return "";
  }

  std::string masked() const {
    if (from_.shape() != to_.shape()) return "";
    const auto hidden = [](double x) { return x == 0 || is_mask_value(x); };
    std::set<Index> diagonals;
    Index places = 0, kept = 0;
    double factor = 0;
    for (Index i = 0; i < to_.size(); ++i) {
      const double x = from_.data()[i], y = to_.data()[i];
      if (std::isnan(x) || std::isnan(y)) return "";
      if (hidden(x)) {
        if (x != y) return "";
      } else if (hidden(y)) {
        ++places;
        if (to_.rank() >= 2)
          diagonals.insert(i % to_.shape()[-1] - i / to_.shape()[-1] % to_.shape()[-2]);
      } else {
        if (kept++ == 0) factor = y / x;
        if (!(std::abs(y / x - factor) < 1e-4 * std::abs(factor))) return "";
      }
    }
    if (places == 0 || kept == 0 || explains(relu(from_))) return "";
    if (diagonals.size() == 1)
      return fmt::format("{} hides diagonal {}: a mask that is off by one", name_,
                         *diagonals.begin());
    if (!diagonals.empty() && (*diagonals.begin() > 0 || *diagonals.rbegin() < 0))
      return fmt::format("{} hides one side of the diagonal: a mask is missing in {}", name_,
                         other_);
    if (range(to_).non_finite > 0) return "";
    if (std::abs(factor - 1) < 1e-4)
      return fmt::format("{} hides {} of {} elements: a mask, or dropout without 1/(1-p)", name_,
                         places, to_.size());
    return fmt::format(
        "{} hides {} of {} elements, and others are {:.4g} times {}: dropout of rate {:.3g}", name_,
        places, to_.size(), factor, other_, 1 - 1 / factor);
  }

  // Of a deviation or its reciprocal.
  std::string outside() const {
    if (from_.shape() != to_.shape()) return "";
    for (const double own : usual_epsilons) {
      if (own == 0) continue;
      const Tensor v = relu(square(from_) - own), inverse = relu(reciprocal(square(from_)) - own);
      if (explains(sqrt(v) + own) || explains(reciprocal(sqrt(inverse) + own)))
        return outside_root(own);
      for (const double other : usual_epsilons)
        if (own != other && (explains(sqrt(v + other)) || explains(rsqrt(inverse + other))))
          return fmt::format("{} has epsilon {}, {} has {}", name_, other, other_, own);
    }
    return "";
  }

  std::string normalized() const {
    if (from_.shape() != to_.shape()) return "";
    for (const TraceOperand& one : all_.inputs) {
      const Tensor& x = one.value;
      if (x.shape() != to_.shape() || x.rank() == 0) continue;
      for (const double epsilon : usual_epsilons) {
        if (explains(layer_norm(x, {.epsilon = epsilon, .place = Epsilon::outside_root})))
          return outside_root(epsilon);
        if (explains(layer_norm(x, {.epsilon = epsilon, .variance = Variance::unbiased})))
          return fmt::format("{} has the unbiased variance", name_);
        if (explains(layer_norm(x, {.epsilon = epsilon})))
          return fmt::format("{} is layer_norm of {} with epsilon {}", name_, one.name, epsilon);
        if (explains(rms_norm(x, {.epsilon = epsilon})))
          return fmt::format("{} is rms_norm of {} with epsilon {}: the mean is not subtracted",
                             name_, one.name, epsilon);
      }
      for (int axis = 0; axis < x.rank(); ++axis)
        for (const double epsilon : usual_epsilons) {
          const Tensor centered = x - mean(x, axis, Keep::yes);
          if (explains(centered / sqrt(mean(square(centered), axis, Keep::yes) + epsilon)))
            return fmt::format("{} is normalized along axis {}", name_, axis);
        }
    }
    return "";
  }

  std::string computed() const {
    for (const TraceOperand& one : all_.inputs) {
      const Tensor& x = one.value;
      for (const Function& f : functions)
        if (const Tensor y = f.call(x); explains(y) && !all_.agree(y, x))
          return fmt::format("{} is {} of {}, and {} is not", name_, f.name, one.name, other_);
      if (to_.rank() == 0 && x.rank() > 0) {
        if (explains(mean(x))) return fmt::format("{} is the mean of {}", name_, one.name);
        if (explains(sum(x))) return fmt::format("{} is the sum of {}", name_, one.name);
      }
      for (int axis = 0; axis < x.rank(); ++axis) {
        if (x.shape()[axis] < 2) continue;
        if (explains(softmax(x, axis)))
          return fmt::format("{} is softmax along axis {} of {}", name_, axis, one.name);
        if (explains(log_softmax(x, axis)))
          return fmt::format("{} is log_softmax along axis {} of {}", name_, axis, one.name);
        for (const Keep keep : {Keep::no, Keep::yes}) {
          if (explains(mean(x, axis, keep)))
            return fmt::format("{} is the mean along axis {} of {}", name_, axis, one.name);
          if (explains(sum(x, axis, keep)))
            return fmt::format("{} is the sum along axis {} of {}", name_, axis, one.name);
          if (explains(max(x, axis, keep)))
            return fmt::format("{} is the maximum along axis {} of {}", name_, axis, one.name);
        }
      }
    }
    for (const Function& f : functions)
      if (const Tensor y = f.call(from_); explains(y))
        return fmt::format("{} is {} of {}: a function more", name_, f.name, other_);
    const Range limits = range(to_);
    if (limits.greatest > limits.least && explains(clamp(from_, limits.least, limits.greatest)))
      return fmt::format("{} is {} clipped to {:.4g} and {:.4g}", name_, other_, limits.least,
                         limits.greatest);
    return "";
  }

  std::string other_value() const {
    for (const TraceOperand& one : all_.present)
      if (one.value.size() > 1 && explains(one.value))
        return fmt::format("{} is {}: an operation is missing, or another value was taken", name_,
                           one.name);
    return "";
  }

  std::string reshaped() const {
    for (const TraceOperand& one : all_.inputs)
      if (one.of_a == (name_ == std::string_view("B")) && one.value.size() == to_.size() &&
          one.value.shape() != to_.shape() && explains(one.value.view(to_.shape())))
        return fmt::format("{} is {} in another shape: a transpose is missing", name_, one.name);
    return "";
  }

  // At some positions of an axis alone.
  std::string part() const {
    if (from_.shape() != to_.shape()) return "";
    for (int axis = 0; axis < to_.rank(); ++axis) {
      const Index extent = to_.shape()[axis];
      std::vector<Index> differ;
      for (Index i = 0; i < extent; ++i)
        if (!all_.agree(select(from_, i, axis), select(to_, i, axis))) differ.push_back(i);
      if (extent < 2 || differ.empty() || std::ssize(differ) == extent) continue;
      const bool run = differ.back() - differ.front() + 1 == std::ssize(differ);
      return fmt::format(
          "they differ only at {} of {} along axis {}{}",
          run && differ.size() > 1
              ? fmt::format("positions {} to {}", differ.front(), differ.back())
              : fmt::format("position{} {}", differ.size() > 1 ? "s" : "", fmt::join(differ, " ")),
          extent, axis,
          differ.front() == 0 || differ.back() == extent - 1
              ? ": at its edge, as by padding, a first state, or off by one"
              : "");
    }
    return "";
  }

 private:
  // 1 where a mask has put the same into both, which no candidate has to explain; may be undefined.
  Tensor hidden_in_both() const {
    if (!from_.defined() || !to_.defined() || from_.shape() != to_.shape()) return {};
    std::vector<double> hidden(static_cast<std::size_t>(to_.size()));
    for (std::size_t i = 0; i < hidden.size(); ++i)
      hidden[i] = from_.values()[i] == to_.values()[i] && is_mask_value(to_.values()[i]);
    return std::count(hidden.begin(), hidden.end(), 1) > 0 ? Tensor(to_.shape(), hidden) : Tensor();
  }
  bool explains(const Tensor& candidate) const {
    return candidate.shape() == to_.shape() &&
           all_.agree(hidden_.defined() ? where(hidden_, to_, candidate) : candidate, to_);
  }
  bool is_hidden(Index i) const { return hidden_.defined() && hidden_.data()[i] != 0; }
  bool fits(const Tensor& x) const {
    if (x.rank() > to_.rank()) return false;
    try {
      return broadcast("compare_traces", x.shape(), to_.shape()) == to_.shape();
    } catch (const ShapeError&) {
      return false;
    }
  }
  // With what a mask hides, unlike `largest`.
  static double largest_of(const Tensor& x) {
    double most = 0;
    for (const double value : x.values()) most = std::max(most, std::abs(value));
    return most;
  }

  std::string outside_root(double epsilon) const {
    return fmt::format("{} has epsilon {} outside of the root, {} inside", name_, epsilon, other_);
  }

  std::string reduced() const {
    for (int axis = 0; axis < from_.rank(); ++axis)
      for (const Keep keep : {Keep::no, Keep::yes}) {
        if (explains(mean(from_, axis, keep)))
          return fmt::format("{} is the mean of {} along axis {}", name_, other_, axis);
        if (explains(sum(from_, axis, keep)))
          return fmt::format("{} is the sum of {} along axis {}", name_, other_, axis);
      }
    if (explains(mean(from_))) return fmt::format("{} is the mean of {}", name_, other_);
    if (explains(sum(from_))) return fmt::format("{} is the sum of {}", name_, other_);
    return "";
  }

  // to / from, if that is one number.
  std::optional<double> ratio() const {
    double top = 0, bottom = 0;
    for (Index i = 0; i < to_.size(); ++i) {
      if (is_hidden(i)) continue;
      top += static_cast<double>(to_.data()[i]) * from_.data()[i];
      bottom += static_cast<double>(from_.data()[i]) * from_.data()[i];
    }
    if (bottom == 0 || !explains(top / bottom * from_)) return {};
    return top / bottom;
  }

  // to - from, likewise.
  std::optional<double> shift() const {
    double sum = 0;
    Index visible = 0;
    for (Index i = 0; i < to_.size(); ++i) {
      if (is_hidden(i)) continue;
      sum += static_cast<double>(to_.data()[i]) - from_.data()[i];
      ++visible;
    }
    const double c = sum / static_cast<double>(visible);
    if (!std::isfinite(c) || !explains(from_ + c)) return {};
    return c;
  }

  TraceSizes sizes() const {
    TraceSizes found;
    const auto add = [&](const Tensor& x) {
      for (const Index extent : x.shape()) found.extents.insert(extent);
      found.extents.insert(x.size());
      if (to_.size() > 0 && x.size() % to_.size() == 0) found.reduced.insert(x.size() / to_.size());
    };
    add(to_);
    for (const TraceOperand& one : all_.inputs.empty() ? all_.present : all_.inputs) add(one.value);
    for (const TraceOperand& one : all_.present)
      found.extents.insert(one.value.shape().begin(), one.value.shape().end());
    for (std::set<Index>* all : {&found.reduced, &found.extents}) {
      all->erase(0);
      all->erase(1);
    }
    return found;
  }

  const TraceDifference& all_;
  const Tensor &from_, &to_, hidden_;
  const char *other_, *name_;
};

}  // namespace

std::string guess_cause(const TraceDifference& difference) {
  const NoGrad constants;
  const Guess forward(difference, difference.a, difference.b, "A", "B"),
      backward(difference, difference.b, difference.a, "B", "A");
  std::vector kinds{&Guess::absent};
  if (difference.a.defined() && difference.b.defined())
    kinds.insert(kinds.end(),
                 {&Guess::scaled, &Guess::masked, &Guess::not_finite, &Guess::arranged,
                  &Guess::by_operand, &Guess::by_number, &Guess::outside, &Guess::computed,
                  &Guess::other_value, &Guess::normalized, &Guess::reshaped, &Guess::part});
  for (const auto kind : kinds)
    for (const Guess* guess : {&forward, &backward})
      if (const std::string words = (guess->*kind)(); !words.empty()) return words;
  return "";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
