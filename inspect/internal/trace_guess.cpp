#include "tapegrad/inspect/internal/trace_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/inspect/internal/trace_arrangement.h"
#include "tapegrad/inspect/internal/trace_distance.h"
#include "tapegrad/inspect/internal/trace_formula.h"
#include "tapegrad/inspect/internal/trace_words.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

struct NamedFunction {
  const char* name;
  Tensor (*call)(const Tensor& x);
};
const NamedFunction functions[] = {
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
    const std::string how = arrangement(
        from_, to_, [this](const Tensor& x, const Tensor& y) { return all_.agree(x, y); });
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
    return "";
  }

  // By a multiple of another value.
  std::string by_multiple() const {
    if (from_.shape() != to_.shape() || to_.size() < 6) return "";
    const Tensor added = to_ - from_;
    for (const TraceOperand& one : all_.operands) {
      if (!fits(one.value) || one.value.size() < 3) continue;
      const double sizes = sum(square(one.value) * ones(to_.shape())).item();
      if (const double c = sum(added * one.value).item() / sizes; explains(from_ + c * one.value))
        return fmt::format("{} is {} {} {:.4g} times {}", name_, other_, c < 0 ? "minus" : "plus",
                           std::abs(c), one.name);
    }
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

  // Tries a deviation or its reciprocal.
  std::string outside() const {
    if (from_.shape() != to_.shape()) return "";
    Best best;
    for (const double own : usual_epsilons) {
      const Tensor v = relu(square(from_) - own), inverse = relu(reciprocal(square(from_)) - own);
      for (const Tensor& y : {sqrt(v) + own, reciprocal(sqrt(inverse) + own)})
        if (own > 0)
          best.take(apart(y), [&] {
            return fmt::format("{} has epsilon {} outside of the root, {} inside", name_, own,
                               other_);
          });
      for (const double other : usual_epsilons)
        for (const Tensor& y : {sqrt(v + other), rsqrt(inverse + other)})
          if (own != other)
            best.take(apart(y), [&] {
              return fmt::format("{} has epsilon {}, {} has {}", name_, other, other_, own);
            });
    }
    return best.ulps <= all_.tolerance ? best.words : "";
  }

  // By another formula of the inputs.
  std::string formulas() const {
    const std::string own = formula(to_, all_), others = own.empty() ? "" : formula(from_, all_);
    if (others.empty() || own == others) return "";
    return fmt::format("{} is {}, and {} is {}", name_, own, other_, others);
  }
  std::string one_formula() const {
    const std::string own = formula(to_, all_);
    return own.empty() ? "" : fmt::format("{} is {}, and {} is not", name_, own, other_);
  }

  std::string computed() const {
    for (const TraceOperand& one : all_.inputs) {
      const Tensor& x = one.value;
      for (const NamedFunction& f : functions)
        if (const Tensor y = f.call(x); y.shape() == to_.shape() && !all_.agree(y, x)) {
          if (explains(y))
            return fmt::format("{} is {} of {}, and {} is not", name_, f.name, one.name, other_);
          if (const auto c = constant(y); c && x.size() > 2)
            return fmt::format("{} is {} of {} plus {:.4g}, and {} is not", name_, f.name, one.name,
                               *c, other_);
        }
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
    for (const NamedFunction& f : functions)
      if (const Tensor y = f.call(from_); explains(y))
        return fmt::format("{} is {} of {}: a function more", name_, f.name, other_);
    for (int axis = 0; axis < from_.rank(); ++axis) {
      if (explains(softmax(from_, axis)))
        return fmt::format("{} is softmax along axis {} of {}: a function more", name_, axis,
                           other_);
      if (explains(log_softmax(from_, axis)))
        return fmt::format("{} is log_softmax along axis {} of {}: a function more", name_, axis,
                           other_);
    }
    const Range limits = range(to_);
    if (limits.greatest > limits.least && explains(clamp(from_, limits.least, limits.greatest)))
      return fmt::format("{} is {} clipped to {:.4g} and {:.4g}", name_, other_, limits.least,
                         limits.greatest);
    return "";
  }

  // What only its own trace has may be a part of its own definition.
  std::string other_value() const {
    for (const TraceOperand& one : all_.present)
      if ((one.common || one.of_a == (other_ == std::string_view("A"))) && one.value.size() > 1 &&
          explains(one.value))
        return fmt::format("{} is {}: an operation is missing, or another value was taken", name_,
                           one.name);
    return "";
  }

  // By the transpose of a square weight, of an input that need not be in the traces.
  std::string turned() const {
    if (from_.shape() != to_.shape() || to_.rank() == 0) return "";
    for (const TraceOperand& w : all_.operands)
      for (const Tensor& bias : biases())
        if (w.value.rank() == 2 && is_turned(from_ - bias, to_ - bias, w.value))
          return fmt::format("one of them multiplies by {}, the other by its transpose", w.name);
    return "";
  }

  // In another order, as where axes of an input are exchanged before they are joined.
  std::string reordered() const {
    if (from_.size() != to_.size() || from_.size() < 4) return "";
    if (!all_.agree(sorted(from_), sorted(to_))) return "";
    for (const TraceOperand& one : all_.inputs) {
      const Shape& shape = one.value.shape();
      if (shape.size() != from_.size() || shape.rank() > 4) continue;
      std::vector<int> order(static_cast<std::size_t>(shape.rank()));
      std::iota(order.begin(), order.end(), 0);
      while (std::next_permutation(order.begin(), order.end()))
        if (explains(reshape(permute(from_.view(shape), order), to_.shape())))
          return fmt::format("{} has the axes of {} in the order {}", name_, one.name,
                             fmt::join(order, " "));
    }
    return fmt::format("{} has the same elements in another order", name_);
  }

  std::string reshaped() const {
    for (const TraceOperand& one : all_.inputs)
      if (one.of_a == (name_ == std::string_view("B")) && one.value.size() == to_.size() &&
          one.value.shape() != to_.shape() && explains(one.value.view(to_.shape())))
        return fmt::format("{} is {} in another shape: a transpose is missing", name_, one.name);
    return "";
  }

  // At the border of the last two axes alone.
  std::string border() const {
    if (from_.shape() != to_.shape() || to_.rank() < 3) return "";
    for (const Index width : {1, 2, 3}) {
      const Index rows = to_.shape()[-2] - width, columns = to_.shape()[-1] - width;
      if (rows <= width || columns <= width) break;
      const auto inside = [&](const Tensor& x) {
        return slice(slice(x, -1, width, columns), -2, width, rows);
      };
      if (all_.agree(inside(from_), inside(to_)))
        return fmt::format(
            "they differ only within {} of the border of the last two axes: another padding",
            width);
    }
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
      constexpr std::size_t most = 8;
      const bool run = differ.back() - differ.front() + 1 == std::ssize(differ);
      const std::size_t shown = std::min(differ.size(), most);
      const std::string others =
          differ.size() > most ? fmt::format(" and {} more", differ.size() - most) : "";
      return fmt::format(
          "they differ only at {} of {} along axis {}{}",
          run && differ.size() > 1
              ? fmt::format("positions {} to {}", differ.front(), differ.back())
              : fmt::format("position{} {}{}", differ.size() > 1 ? "s" : "",
                            fmt::join(differ.begin(),
                                      differ.begin() + static_cast<std::ptrdiff_t>(shown), " "),
                            others),
          extent, axis,
          differ.front() == 0 || differ.back() == extent - 1
              ? ": at its edge, as by padding, a first state, or off by one"
              : "");
    }
    return "";
  }

 private:
  static Tensor sorted(const Tensor& x) {
    std::vector<double> all(x.values().begin(), x.values().end());
    std::sort(all.begin(), all.end());
    return Tensor({x.size()}, all);
  }
  // What may have been added to each row: nothing, or a vector.
  std::vector<Tensor> biases() const {
    std::vector<Tensor> found{zeros({})};
    for (const TraceOperand& one : all_.operands)
      if (one.value.rank() == 1 && one.value.size() == to_.shape()[-1]) found.push_back(one.value);
    return found;
  }
  // 1 where a mask has put the same into both, which no candidate has to explain; may be undefined.
  Tensor hidden_in_both() const {
    if (!from_.defined() || !to_.defined() || from_.shape() != to_.shape()) return {};
    std::vector<double> hidden(static_cast<std::size_t>(to_.size()));
    for (std::size_t i = 0; i < hidden.size(); ++i)
      hidden[i] = from_.values()[i] == to_.values()[i] && is_mask_value(to_.values()[i]);
    return std::count(hidden.begin(), hidden.end(), 1) > 0 ? Tensor(to_.shape(), hidden) : Tensor();
  }
  // How far a candidate is from what it should explain.
  double apart(const Tensor& candidate) const {
    if (candidate.shape() != to_.shape()) return std::numeric_limits<double>::infinity();
    return all_.apart(hidden_.defined() ? where(hidden_, to_, candidate) : candidate, to_);
  }
  bool explains(const Tensor& candidate) const { return apart(candidate) <= all_.tolerance; }
  // The nearest of several candidates.
  struct Best {
    double ulps = std::numeric_limits<double>::infinity();
    std::string words = {};
    template <class Words>
    void take(double apart, const Words& called) {
      if (!(apart < ulps)) return;
      ulps = apart;
      words = called();
    }
  };
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
  std::optional<double> shift() const { return constant(from_); }

  // to - x, if that is one number.
  std::optional<double> constant(const Tensor& x) const {
    double sum = 0;
    Index visible = 0;
    for (Index i = 0; i < to_.size(); ++i) {
      if (is_hidden(i)) continue;
      sum += static_cast<double>(to_.data()[i]) - x.data()[i];
      ++visible;
    }
    const double c = sum / static_cast<double>(visible);
    if (!std::isfinite(c) || !explains(x + c)) return {};
    return c;
  }

  TraceSizes sizes() const {
    TraceSizes found;
    const auto add = [&](const Tensor& x) {
      found.extents.insert(x.shape().begin(), x.shape().end());
      found.extents.insert(x.size());
      if (to_.size() > 0 && x.size() % to_.size() == 0) found.reduced.insert(x.size() / to_.size());
    };
    const auto add_runs = [&](const Shape& shape) {
      for (int first = 0; first < shape.rank(); ++first)
        for (int end = first + 1; end <= shape.rank(); ++end)
          found.runs.insert(shape.count(first, end));
    };
    add(to_);
    add_runs(to_.shape());
    for (const TraceOperand& one : all_.inputs.empty() ? all_.present : all_.inputs) add(one.value);
    for (const TraceOperand& one : all_.inputs) add_runs(one.value.shape());
    for (const TraceOperand& one : all_.present)
      found.extents.insert(one.value.shape().begin(), one.value.shape().end());
    found.runs.insert(found.extents.begin(), found.extents.end());
    for (std::set<Index>* all : {&found.reduced, &found.extents, &found.runs}) {
      all->erase(0);
      all->erase(1);
    }
    return found;
  }

  const TraceDifference& all_;
  const Tensor &from_, &to_, hidden_;
  const char *other_, *name_;
};

// The first guess of these kinds, in both directions.
using Kind = std::string (Guess::*)() const;
std::string first_of(const TraceDifference& difference, std::initializer_list<Kind> kinds) {
  const NoGrad constants;
  const Guess forward(difference, difference.a, difference.b, "A", "B"),
      backward(difference, difference.b, difference.a, "B", "A");
  for (const Kind kind : kinds)
    for (const Guess* guess : {&forward, &backward})
      if (std::string words = (guess->*kind)(); !words.empty()) return words;
  return "";
}

}  // namespace

std::string guess_cause(const TraceDifference& difference) {
  const std::string words = first_of(difference, {&Guess::absent});
  if (!words.empty() || !difference.a.defined() || !difference.b.defined()) return words;
  return first_of(
      difference,
      {&Guess::scaled, &Guess::masked, &Guess::not_finite, &Guess::arranged, &Guess::by_operand,
       &Guess::by_number, &Guess::by_multiple, &Guess::outside, &Guess::computed,
       &Guess::other_value, &Guess::formulas, &Guess::turned, &Guess::reshaped, &Guess::reordered});
}

std::string guess_mask(const TraceDifference& difference) {
  return first_of(difference, {&Guess::masked});
}

std::string guess_part(const TraceDifference& difference) {
  if (!difference.a.defined() || !difference.b.defined()) return "";
  return first_of(difference, {&Guess::border, &Guess::one_formula, &Guess::part});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
