#include "tapegrad/inspect/trace_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/inspect/internal/trace_distance.h"
#include "tapegrad/inspect/internal/trace_gradients.h"
#include "tapegrad/inspect/internal/trace_guess.h"
#include "tapegrad/inspect/internal/trace_pairs.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::size_t names_in_a_line = 8;

// "hidden (linear)"
std::string called(const Trace& trace, std::size_t position) {
  const TracedValue& entry = trace.values[position];
  return entry.name == entry.operation ? entry.name
                                       : fmt::format("{} ({})", entry.name, entry.operation);
}

std::string placed(const char* trace, const TracedValue& entry) {
  if (entry.place.empty()) return "";
  return fmt::format("  {}  {}{}{}\n", trace, entry.place, entry.source.empty() ? "" : ": ",
                     entry.source);
}

std::string element(const Shape& shape, Index flat) {
  std::vector<Index> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0; flat /= shape[axis])
    index[static_cast<std::size_t>(axis)] = flat % shape[axis];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string names(const std::vector<std::string>& all) {
  const std::vector some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                                        std::min(all.size(), names_in_a_line)));
  return fmt::format("{}{}", fmt::join(some, ", "),
                     all.size() > names_in_a_line
                         ? fmt::format(" and {} more", all.size() - names_in_a_line)
                         : "");
}

class Comparison {
 public:
  Comparison(const Trace& a, const Trace& b, double tolerance)
      : a_(a), b_(b), tolerance_(tolerance) {
    const auto is_float = [](const Trace& trace) { return trace.precision != "float64"; };
    epsilon_ = is_float(a) || is_float(b) ? std::numeric_limits<float>::epsilon()
                                          : std::numeric_limits<real>::epsilon();
    const auto agree = [this](const Tensor& x, const Tensor& y) { return this->agree(x, y); };
    pairs_ = pair_traces(a, b, agree, tolerance_ * epsilon_);
    const NoGrad constants;
    const double rounding = tolerance_ * epsilon_;
    const std::vector<double> scales_a = gradient_scales(a, rounding),
                              scales_b = gradient_scales(b, rounding);
    for (const TracePair& pair : pairs_) {
      partners_.insert({pair.a, values_.size()});
      partners_of_b_.insert({pair.b, values_.size()});
      values_.push_back(distance(pair, &TracedValue::value, 0));
      gradients_.push_back(
          distance(pair, &TracedValue::gradient, std::max(scales_a[pair.a], scales_b[pair.b])));
    }
  }

  TraceDiff diff() {
    TraceDiff found{.pairs = std::ssize(pairs_)};
    const auto count = [&](const std::vector<TraceDistance>& all) {
      Index differing = 0;
      for (const TraceDistance& one : all)
        if (one.ulps > tolerance_)
          ++differing;
        else
          found.rounding = std::max(found.rounding, one.ulps);
      return differing;
    };
    found.values = count(values_);
    found.gradients = count(gradients_);
    const std::vector<std::string> only_a = alone(a_, &TracePair::a),
                                   only_b = alone(b_, &TracePair::b);
    found.alone = a_.framework == b_.framework ? fields_alone_ : 0;
    found.report = fmt::format("A: {}\nB: {}\n", described(a_), described(b_));
    found.report += fmt::format(
        "{} values are in both: {} values and {} gradients differ by more than {} ULPs, the others "
        "by {:.3g} at most.\n",
        found.pairs, found.values, found.gradients, tolerance_, found.rounding);
    if (found.values + found.gradients > 0) describe_first(found);
    if (!only_a.empty()) found.report += fmt::format("Only in A: {}.\n", names(only_a));
    if (!only_b.empty()) found.report += fmt::format("Only in B: {}.\n", names(only_b));
    return found;
  }

 private:
  // Frameworks may see the same rows under another shape.
  bool agree(const Tensor& x, const Tensor& y) const {
    if (x.shape() == y.shape()) return trace_distance(x, y, epsilon_).ulps <= tolerance_;
    return a_.framework != b_.framework && x.defined() && y.defined() && x.size() == y.size() &&
           agree(x, y.view(x.shape()));
  }

  // What B has, in the layout of A.
  Tensor of_b(const TracePair& pair, Tensor TracedValue::*what) const {
    const TracedValue &x = a_.values[pair.a], &y = b_.values[pair.b];
    const bool other_framework = a_.framework != b_.framework;
    const Tensor& found = y.*what;
    if (!found.defined()) return found;
    if (pair.transposed || (other_framework && is_field(x) && found.rank() == 2 &&
                            !agree(x.value, y.value) && agree(x.value, transpose(y.value))))
      return transpose(found);
    return other_framework && found.size() == x.value.size() ? found.view(x.value.shape()) : found;
  }

  TraceDistance distance(const TracePair& pair, Tensor TracedValue::*what, double least) const {
    return trace_distance(a_.values[pair.a].*what, of_b(pair, what), epsilon_, least);
  }

  static std::string described(const Trace& trace) {
    const auto gradients =
        std::count_if(trace.values.begin(), trace.values.end(),
                      [](const TracedValue& one) { return one.gradient.defined(); });
    return fmt::format("{} values and {} gradients by {} in {}{}", trace.values.size(), gradients,
                       trace.framework, trace.precision,
                       trace.instruction_set.empty() ? "" : " with " + trace.instruction_set);
  }

  // The values of one trace that have no partner.
  std::vector<std::string> alone(const Trace& trace, std::size_t TracePair::*own) {
    std::set<std::size_t> paired;
    for (const TracePair& pair : pairs_) paired.insert(pair.*own);
    std::vector<std::string> fields, others;
    for (std::size_t i = 0; i < trace.values.size(); ++i)
      if (!paired.contains(i)) {
        const bool field = is_field(trace.values[i]);
        fields_alone_ += trace.values[i].operation == "parameter";
        (field ? fields : others).push_back(called(trace, i));
      }
    fields.insert(fields.end(), others.begin(), others.end());
    return fields;
  }

  void describe_first(TraceDiff& found) const {
    const std::vector<TraceDistance>& all = found.values > 0 ? values_ : gradients_;
    std::size_t at = 0;
    if (found.values > 0)
      while (all[at].ulps <= tolerance_) ++at;
    else
      for (at = all.size() - 1; all[at].ulps <= tolerance_;) --at;
    const TracePair& pair = pairs_[at];
    const TracedValue &x = a_.values[pair.a], &y = b_.values[pair.b];
    found.first = x.name;
    found.first_is_gradient = found.values == 0;
    const auto what = found.first_is_gradient ? &TracedValue::gradient : &TracedValue::value;
    found.guess = guess(at, what);
    std::string& report = found.report;
    report += fmt::format("\nThe {} differ first at {}:\n{}{}",
                          found.first_is_gradient ? "gradients" : "values", called(a_, pair.a),
                          placed("A", x), placed("B", y));
    report += "  " + sizes(x.*what, of_b(pair, what), all[at]);
    report += inputs(pair);
    if (found.first_is_gradient) report += users(pair);
    if (!found.guess.empty()) report += fmt::format("  This looks like: {}.\n", found.guess);
    report += fmt::format("What follows from it: {} other values and {} other gradients differ.\n",
                          found.values - (found.first_is_gradient ? 0 : 1),
                          found.gradients - (found.first_is_gradient ? 1 : 0));
  }

  static std::string sizes(const Tensor& x, const Tensor& y, const TraceDistance& apart) {
    if (!x.defined() || !y.defined())
      return fmt::format("only {} has it\n", x.defined() ? "A" : "B");
    if (x.shape() != y.shape()) return fmt::format("shapes {} and {}\n", x.shape(), y.shape());
    return fmt::format(
        "{:.3g} ULPs: {:.9g} and {:.9g} at {} of {}; {:.3g} relative; {} of {} elements differ\n",
        apart.ulps, x.data()[apart.worst], y.data()[apart.worst], element(x.shape(), apart.worst),
        x.shape(), apart.relative, apart.different, x.size());
  }

  std::string inputs(const TracePair& pair) const {
    std::vector<std::string> all;
    for (const Index input : a_.values[pair.a].inputs)
      if (input != -1) all.push_back(compared(operand(input), values_));
    return all.empty() ? "" : fmt::format("  its inputs: {}\n", names(all));
  }

  std::string users(const TracePair& pair) const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < a_.values.size(); ++i)
      if (uses(a_, i, pair.a) > 0) all.push_back(compared(i, gradients_));
    return all.empty() ? "" : fmt::format("  what uses it, by gradients: {}\n", names(all));
  }

  static Index uses(const Trace& trace, std::size_t user, std::size_t value) {
    const std::vector<Index>& all = trace.values[user].inputs;
    return std::count(all.begin(), all.end(), static_cast<Index>(value));
  }
  static Index use_count(const Trace& trace, std::size_t value) {
    Index count = 0;
    for (std::size_t i = 0; i < trace.values.size(); ++i) count += uses(trace, i, value);
    return count;
  }

  std::string compared(std::size_t position, const std::vector<TraceDistance>& by) const {
    const auto found = partners_.find(position);
    const std::string name = called(a_, position);
    if (found == partners_.end()) return name + " is only in A";
    const double ulps = by[found->second].ulps;
    return fmt::format("{} {} ({:.3g} ULPs)", name, ulps > tolerance_ ? "differs" : "agrees", ulps);
  }

  // What the difference of the first pair looks like. Where operations differ, the next pair that
  // differs may show more.
  std::string guess(std::size_t first, Tensor TracedValue::*what) const {
    const TracePair& pair = pairs_[first];
    const Index in_a = use_count(a_, pair.a), in_b = use_count(b_, pair.b);
    if (what == &TracedValue::gradient && in_a != in_b && in_a > 0 && in_b > 0)
      return fmt::format(
          "A uses it {} times and B {} times: tied weights are cut, or a use is detached", in_a,
          in_b);
    const TraceDifference difference = difference_of(pair, what);
    std::string words = guess_cause(difference);
    if (words.empty() && what == &TracedValue::value) words = guess_of_inputs(pair);
    if (words.empty()) words = guess_part(difference);
    const bool other_operation =
        a_.values[pair.a].operation != b_.values[pair.b].operation && !is_field(a_.values[pair.a]);
    if (!other_operation || (a_.framework != b_.framework && !words.empty()) ||
        what == &TracedValue::gradient)
      return words;
    for (std::size_t next = first + 1; next < pairs_.size(); ++next) {
      if (values_[next].ulps <= tolerance_) continue;
      const TracedValue &x = a_.values[pairs_[next].a], &y = b_.values[pairs_[next].b];
      const std::string more = guess_cause(difference_of(pairs_[next], what));
      if (!more.empty() && (words.empty() || x.operation != y.operation))
        words += fmt::format("{}at {}: {}", words.empty() ? "" : "; then ", x.name, more);
      break;
    }
    return words;
  }

  // What a value that one trace alone has does to an input of the other, as dropout does that is
  // left on. Where the operations differ, this value may be a part of what the other one fuses.
  std::string guess_of_inputs(const TracePair& pair) const {
    const bool same_operation = a_.values[pair.a].operation == b_.values[pair.b].operation;
    for (const TracePair& input : pairs_) {
      const bool used_by_a = uses(a_, pair.a, input.a) > 0,
                 used_by_b = uses(b_, pair.b, input.b) > 0;
      if (used_by_a == used_by_b) continue;
      const Trace& more = used_by_a ? b_ : a_;
      const auto& partners = used_by_a ? partners_of_b_ : partners_;
      for (const std::size_t between : ancestors(more, used_by_a ? pair.b : pair.a)) {
        const Tensor &own = more.values[between].value, &of_a = a_.values[input.a].value;
        if (partners.contains(between) || own.shape() != of_a.shape() ||
            !ancestors(more, between).contains(used_by_a ? input.b : input.a))
          continue;
        TraceDifference difference = difference_of(used_by_a ? of_a : own, used_by_a ? own : of_a,
                                                   input, &TracedValue::value);
        if (difference.tolerance == 0) continue;
        difference.present.clear();
        const std::string words = same_operation ? guess_cause(difference) : guess_mask(difference);
        if (!words.empty()) return fmt::format("of its input {}: {}", called(a_, input.a), words);
      }
    }
    return "";
  }

  // What a value is computed from in up to three steps.
  static std::set<std::size_t> ancestors(const Trace& trace, std::size_t value, int depth = 3) {
    std::set<std::size_t> found;
    for (const Index input : trace.values[value].inputs) {
      if (input == -1) continue;
      found.insert(operand(input));
      if (depth > 1) found.merge(ancestors(trace, operand(input), depth - 1));
    }
    return found;
  }

  TraceDifference difference_of(const TracePair& pair, Tensor TracedValue::*what) const {
    return difference_of(a_.values[pair.a].*what, of_b(pair, what), pair, what);
  }

  // The difference of two tensors that are a pair, or should be.
  TraceDifference difference_of(const Tensor& a, const Tensor& b, const TracePair& pair,
                                Tensor TracedValue::*what) const {
    TraceDifference difference{.a = a, .b = b, .of_gradients = what == &TracedValue::gradient};
    difference.apart = [this](const Tensor& x, const Tensor& y) {
      return trace_distance(x, y, epsilon_).ulps;
    };
    difference.tolerance = std::min(tolerance_, difference.apart(a, b) / 4);
    constexpr int steps = 3;
    std::map<Position, int> common;
    add_common(common, {true, pair.a}, steps, what);
    add_common(common, {false, pair.b}, steps, what);
    for (int left = steps; left > 0; --left)  // the nearest ones come first
      for (const auto& [at, steps_left] : common) {
        if (left != steps_left) continue;
        add(difference.inputs, at.of_a ? a_ : b_, at.index, what);
        if (left == steps) add(difference.operands, at.of_a ? a_ : b_, at.index, what);
      }
    for (const auto& [trace, end] : {std::pair(&a_, pair.a), std::pair(&b_, pair.b)})
      for (std::size_t i = 0; i < trace->values.size(); ++i)
        if (i != end) add(difference.present, *trace, i, what);
    std::stable_partition(difference.present.begin(), difference.present.end(),
                          [](const TraceOperand& one) { return one.named; });
    return difference;
  }

  void add(std::vector<TraceOperand>& all, const Trace& trace, std::size_t position,
           Tensor TracedValue::*what) const {
    const TracedValue& one = trace.values[position];
    const bool of_a = &trace == &a_,
               common = (of_a ? partners_ : partners_of_b_).contains(position);
    if ((one.*what).defined() && (one.*what).size() > 0)
      all.push_back({one.name, one.*what, of_a, one.name != one.operation, common});
  }

  struct Position {
    bool of_a;
    std::size_t index;
    bool operator<(const Position& other) const {
      return std::pair(of_a, index) < std::pair(other.of_a, other.index);
    }
  };

  // What a value is computed from in so many steps, with the steps that were left: of values, those
  // that both traces have, since one that stands in one of them alone would explain its own result.
  void add_common(std::map<Position, int>& found, Position value, int steps,
                  Tensor TracedValue::*what) const {
    const auto& partners = value.of_a ? partners_ : partners_of_b_;
    const Trace& trace = value.of_a ? a_ : b_;
    const std::vector<TraceDistance>& apart = what == &TracedValue::value ? values_ : gradients_;
    std::map<std::size_t, int, std::greater<>> reached{{value.index, steps}};  // and steps left
    for (auto user = reached.begin(); user != reached.end(); ++user)
      for (const Index input : trace.values[user->first].inputs) {
        const std::size_t at = operand(input);
        if (input == -1 || at >= user->first) continue;
        const auto pair = partners.find(at);
        const bool is_pair = pair != partners.end();
        if (is_pair && apart[pair->second].ulps > tolerance_) continue;
        const bool is_step = is_pair || is_field(trace.values[at]);
        if (is_step) {
          int& left =
              found[is_pair ? Position{true, pairs_[pair->second].a} : Position{value.of_a, at}];
          left = std::max(left, user->second);
        }
        if (const int next = user->second - (is_step ? 1 : 0); next > 0)
          reached[at] = std::max(reached[at], next);
      }
  }

  const Trace &a_, &b_;
  double tolerance_, epsilon_;
  std::vector<TracePair> pairs_;
  std::map<std::size_t, std::size_t> partners_, partners_of_b_;  // by position: index of the pair
  std::vector<TraceDistance> values_, gradients_;                // by pair
  Index fields_alone_ = 0;
};

}  // namespace

TraceDiff compare_traces(const Trace& a, const Trace& b, const TraceDiffOptions& options) {
  expect<ArgumentError>(options.tolerance >= 0, "compare_traces: a tolerance of {} ULPs",
                        options.tolerance);
  return Comparison(a, b, options.tolerance).diff();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
