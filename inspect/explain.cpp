#include "tapegrad/inspect/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/inspect/internal/explained.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

bool is_finite(const Tensor& x) {
  return !x.defined() ||
         std::all_of(x.values().begin(), x.values().end(), [](real v) { return std::isfinite(v); });
}

bool is_zero(const Tensor& x) {
  return std::all_of(x.values().begin(), x.values().end(), [](real v) { return v == 0; });
}

bool has_nan(const Tensor& x) {
  return x.defined() &&
         std::any_of(x.values().begin(), x.values().end(), [](real v) { return std::isnan(v); });
}

Index positive(const Tensor& x) {
  return std::count_if(x.values().begin(), x.values().end(), [](real v) { return v > 0; });
}

// The root mean square over this many elements, of which x has the finite ones that are not 0: 0 if
// there are none.
double rms(const Tensor& x, Index elements) {
  double largest = 0, sum = 0;
  for (const double value : x.values())
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 0;
  for (const double value : x.values())
    if (std::isfinite(value)) sum += (value / largest) * (value / largest);
  return largest * std::sqrt(sum / static_cast<double>(elements));
}
double rms(const Tensor& x) { return rms(x, x.size()); }

// An addition to the gradient of `to` by the rule of `from`.
struct GraphEdge {
  std::int32_t from = -1, to = -1;
  double arriving = 0, passed = 0;  // root mean squares: of the gradient of `from`, and of what it
                                    // adds, over all elements of `to`
  bool ends = false;                // it adds zeros

  double factor() const { return passed / arriving; }
  double steepness() const { return arriving > 0 && passed > 0 ? std::abs(std::log(factor())) : 0; }
};

// How most of a node's gradient came from the result.
struct Way {
  GraphEdge last;
  Index length = 0;  // in edges
  GraphEdge end;     // the first that passed nothing on
  GraphEdge steepest;
};

// How much of |g|^2 lies where layer normalization removes it, and what the rest is divided by.
//   g: the gradient of z, the rows of x, centered and divided by s
std::string removed(const Tensor& g, const Tensor& x) {
  const Index length = x.shape()[-1], rows = x.size() / std::max<Index>(length, 1);
  double all = 0, ones = 0, along = 0, s = 0;
  for (Index row = 0; row < rows; ++row) {
    const std::span own = g.values().subspan(static_cast<std::size_t>(row * length),
                                             static_cast<std::size_t>(length));
    const std::span at = x.values().subspan(static_cast<std::size_t>(row * length),
                                            static_cast<std::size_t>(length));
    const double mean = std::accumulate(at.begin(), at.end(), 0.0) / static_cast<double>(length);
    double sum = 0, product = 0, square = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      sum += own[i];
      product += own[i] * (at[i] - mean);
      square += (at[i] - mean) * (at[i] - mean);
      all += own[i] * own[i];
    }
    ones += sum * sum / static_cast<double>(length);
    if (square > 0) along += product * product / square;
    s += std::sqrt(square / static_cast<double>(length)) / static_cast<double>(rows);
  }
  return fmt::format(
      "{:.0f} % of |g|^2 lies along 1, where re-centering removes it, and {:.0f} % along the "
      "output, where re-scaling does, unless they are detached; the rest is divided by s, {:.3g} "
      "without epsilon",
      100 * ones / all, 100 * along / all, s);
}

// What explains the slope of an operation.
enum class Reason {
  positive,
  saturated,
  flat,
  output,
  input,
  operands,
  added,
  multiplied,
  chosen,
  selected,
  dropped,
  normalized,
  unknown
};

// The names of nodes by what explains their slopes.
const std::vector<std::pair<Reason, std::vector<std::string_view>>> explained{
    {Reason::positive, {"relu"}},
    {Reason::saturated, {"sigmoid", "tanh", "erf", "softmax", "log_softmax", "gate"}},
    {Reason::flat, {"round", "floor", "ceil", "sign"}},
    {Reason::output, {"exp", "expm1"}},
    {Reason::input,
     {"log", "log1p", "sqrt", "rsqrt", "reciprocal", "gelu", "softplus", "clamp", "square", "abs"}},
    {Reason::operands, {"div", "pow"}},
    {Reason::added, {"add", "sub", "broadcast_to"}},
    {Reason::multiplied,
     {"mul", "matmul", "linear", "conv2d", "conv2d_input", "conv2d_weight", "conv_transpose2d",
      "affine"}},
    {Reason::chosen, {"where", "maximum", "minimum"}},
    {Reason::selected, {"embedding", "take", "slice"}},
    {Reason::dropped, {"dropout"}},
    {Reason::normalized, {"layer_norm"}}};

Reason reason_of(std::string_view operation) {
  for (const auto& [reason, operations] : explained)
    if (std::find(operations.begin(), operations.end(), operation) != operations.end())
      return reason;
  return Reason::unknown;
}

class Explainer {
 public:
  explicit Explainer(const Tape& tape) : tape_(tape) {
    expect<TapeError>(tape.options().keep_values && !tape.flows().empty(),
                      "explain: needs a tape with .keep_values = true, and a sweep over it");
    sweep_ = tape.flows().back().sweep;
    for (const Flow& flow : tape.flows()) {
      // An interlude in the sweep, as of `recompute`, has forgotten its nodes.
      if (flow.sweep != sweep_ || std::max(flow.from, flow.to) >= tape.size()) continue;
      if (result_ < 0) result_ = flow.to;  // the seed is the first
      flows_[flow.to].push_back(&flow);
    }
    find_users();
    find_ways();
  }

  std::string text(std::int32_t x) const {
    return (sweep_ > 1 ? fmt::format("Sweep {}. ", sweep_) : "") + verdict(x);
  }

 private:
  std::string verdict(std::int32_t x) const {
    if (x == result_) return fmt::format("The sweep began with {}.\n", called(x));
    if (!flows_.contains(x)) return fmt::format("No gradient reaches {}: {}.\n", called(x), cut(x));
    const Tensor& gradient = total(x);
    if (gradient.size() == 0) return fmt::format("{} has no elements.\n", called(x));
    if (!is_finite(gradient)) return not_finite(x);
    if (is_zero(gradient))
      return fmt::format("The gradient of {} is zero.\n{}{}", called(x), table(x), end(x));
    return fmt::format(
        "The gradient of {} has the root mean square {:.3g}, and the result's {:.3g}.\n{}{}",
        called(x), rms(gradient), rms(total(result_)), table(x), steepest(x));
  }

  const Tensor& total(std::int32_t node) const { return flows_.at(node).back()->total; }

  std::string called(std::int32_t node) const {
    const std::string& label = tape_.label(node);
    if (!label.empty()) return fmt::format("%{} {}", node, label);
    return fmt::format("%{} {}", node, inputs(node).empty() ? "(leaf)" : tape_.node(node).name);
  }

  std::string placed(std::int32_t node) const {
    const Node& found = tape_.node(node);
    const std::string operation = fmt::format("%{} {}", node, found.name);
    return found.place.line > 0 ? fmt::format("{} ({})", operation, found.place) : operation;
  }

  std::span<const std::int32_t> inputs(std::int32_t node) const {
    return {tape_.node(node).inputs, static_cast<std::size_t>(tape_.node(node).input_count)};
  }

  // The node whose value an input is, detached or not; -1 for other constants.
  static std::int32_t operand(std::int32_t input) {
    return input < -1 ? detached_input(input) : input;
  }

  // ---- Passes over the whole tape, so that many leaves cost no more than one ----

  void find_users() {
    const auto count = static_cast<std::size_t>(tape_.size());
    users_.resize(count);
    for (std::int32_t i = tape_.size() - 1; i >= 0; --i) {
      const User own = users_[static_cast<std::size_t>(i)];
      const std::int32_t last = std::max(own.last, i);
      for (const std::int32_t input : inputs(i)) {
        if (operand(input) < 0) continue;
        User& user = users_[static_cast<std::size_t>(operand(input))];
        if (input >= 0) user.last = std::max(user.last, last);
        if (input >= 0 && (i == result_ || own.attached)) user.attached = true;
        if (user.next < 0 && (i == result_ || own.next >= 0)) user.next = i;
      }
    }
  }

  // Along the edges that brought most; of edges that brought nothing, along the one at which most
  // arrived.
  void find_ways() {
    std::map<std::int32_t, GraphEdge> assembled;  // from the user with the largest gradient
    for (auto node = flows_.rbegin(); node != flows_.rend(); ++node) {
      const auto& [to, arrived] = *node;
      const double own = rms(total(to));
      GraphEdge most{-1, to, -1, -1};
      for (const Flow* flow : arrived) {
        GraphEdge found =
            flow->from < 0 ? assembled[to] : GraphEdge{flow->from, to, rms(total(flow->from))};
        found.passed = rms(flow->added, total(to).size());
        found.ends = is_zero(flow->added);
        if (std::pair(found.passed, found.arriving) > std::pair(most.passed, most.arriving))
          most = found;
      }
      for (const std::int32_t input : inputs(to))
        if (input >= 0 && assembled[input].arriving <= own) assembled[input] = {to, input, own};
      if (to == result_) continue;
      Way way = ways_.contains(most.from) ? ways_.at(most.from) : Way();
      way.last = most;
      ++way.length;
      if (way.end.from < 0 && most.ends) way.end = most;
      if (most.steepness() > way.steepest.steepness()) way.steepest = most;
      ways_[to] = way;
    }
  }

  // ---- Where no gradient came ----

  std::string cut(std::int32_t x) const {
    const auto user = [&](std::int32_t node) { return users_[static_cast<std::size_t>(node)]; };
    if (user(x).attached) return "the sweep was not asked for it";
    for (std::int32_t node = x; user(node).next >= 0; node = user(node).next) {
      const std::int32_t next = user(node).next;
      const auto all = inputs(next);
      if (std::find(all.begin(), all.end(), node) == all.end())
        return fmt::format("{} uses the value of {}, but detached", placed(next), called(node));
    }
    const std::string unrecorded =
        "not recorded are operations under NoGrad, without a derivative, or of detached values";
    if (user(x).last < 0) return "no recorded operation uses it; " + unrecorded;
    return fmt::format(
        "the last operation that depends on it is {}, whose result no recorded "
        "operation uses; {}",
        placed(user(x).last), unrecorded);
  }

  // ---- The way on which most of it came ----

  // Its edges next to x, the last of them at x.
  std::string table(std::int32_t x) const {
    constexpr int most = 16;
    std::vector<GraphEdge> edges;
    for (std::int32_t node = x; ways_.contains(node) && std::ssize(edges) < most;) {
      edges.push_back(ways_.at(node).last);
      node = edges.back().from;
    }
    std::string lines;
    if (const Index more = ways_.at(x).length - std::ssize(edges); more > 0)
      lines = fmt::format("  ... {} operations from the result on\n", more);
    for (auto each = edges.rbegin(); each != edges.rend() && each->arriving > 0; ++each)
      lines += fmt::format("  {:<40} {:>10.3g} times {:<10.3g} to {}\n", placed(each->from),
                           each->arriving, each->factor(), called(each->to));
    return lines;
  }

  std::string steepest(std::int32_t x) const {
    const GraphEdge& found = ways_.at(x).steepest;
    if (found.from < 0) return "";
    return fmt::format("It {} most at {}: {}.\n", found.factor() < 1 ? "shrinks" : "grows",
                       placed(found.from), slope(found));
  }

  // The first of the operations that made a value what it is; each of them has such a value.
  template <class Predicate>
  std::int32_t first(std::int32_t node, Predicate is) const {
    for (;;) {
      const auto all = inputs(node);
      const auto same = std::find_if(all.begin(), all.end(), [&](std::int32_t input) {
        return operand(input) >= 0 && tape_.value(operand(input)).defined() &&
               is(tape_.value(operand(input)));
      });
      if (same == all.end()) return node;
      node = operand(*same);
    }
  }

  std::string made(std::int32_t node) const {
    if (inputs(node).empty()) return fmt::format("{}, where the tape begins", called(node));
    return fmt::format("{}: {}", placed(node), slope({node, operand(inputs(node).front())}));
  }

  // ---- Where it is zero or not finite ----

  std::string end(std::int32_t x) const {
    const GraphEdge& found = ways_.at(x).end;
    if (is_zero(total(result_))) return "The sweep began with zeros.\n";
    if (found.from < 0 || (found.arriving == 0 && is_finite(total(found.from))))
      return cancelled(x);
    std::string text = fmt::format("It ends at {}: {}.\n", placed(found.from), slope(found));
    if (!is_finite(total(found.from))) text += "What arrives there is not finite.\n";
    const Tensor& value = tape_.value(found.to);
    if (value.defined() && is_zero(value))
      text += fmt::format("Its input is zero since {}.\n", made(first(found.to, is_zero)));
    return text;
  }

  // Where gradients that are not zero have the sum zero.
  std::string cancelled(std::int32_t x) const {
    for (std::int32_t from; (from = ways_.at(x).last.from) >= 0 && is_zero(total(from));) x = from;
    return fmt::format("The gradients that arrive at {} cancel.\n", placed(x));
  }

  // Whether an operation adds NaN to a gradient where neither what arrives at it nor its value is
  // NaN: of the two, one is 0 and the slope infinite, or the other way round.
  bool makes_nan(const Flow& flow, std::int32_t from) const {
    return has_nan(flow.added) && !has_nan(total(from)) && !has_nan(tape_.value(from)) &&
           flow.added.size() == total(from).size();
  }

  std::string not_finite(std::int32_t x) const {
    std::string verdict = fmt::format("The gradient of {} is not finite.\n", called(x));
    for (std::int32_t node = x;;) {
      const auto& arrived = flows_.at(node);
      const auto bad = std::find_if(arrived.begin(), arrived.end(),
                                    [](const Flow* flow) { return !is_finite(flow->added); });
      if (bad == arrived.end())
        return verdict + fmt::format("The sum of what arrives at {} overflows.\n", placed(node));
      const std::int32_t from =
          (*bad)->from < 0 && node != result_ ? ways_.at(node).last.from : (*bad)->from;
      if (from < 0)
        return verdict + fmt::format("So is what the sweep began with, at {}.\n", placed(node));
      if (makes_nan(**bad, from))
        verdict += fmt::format("0 times infinity makes it NaN at {}.\n", placed(from));
      if (!is_finite(total(from))) {
        node = from;
        continue;
      }
      const auto is_bad = [](const Tensor& value) { return !is_finite(value); };
      const std::int32_t value = first(from, is_bad);
      if (is_bad(tape_.value(value)))
        return verdict +
               fmt::format("The first value that is not finite belongs to {}.\n", made(value));
      return verdict +
             fmt::format("A finite one arrives at {}, and one that is not leaves it: {}.\n",
                         placed(from), slope({from, node}));
    }
  }

  // ---- What the slope of an operation depends on ----

  std::string values(std::int32_t input) const {
    const std::int32_t node = operand(input);
    if (node < 0) return "a constant";
    return tape_.value(node).defined() ? to_string(range(tape_.value(node))) : "not kept";
  }

  std::string operands(std::int32_t node) const {
    std::string all;
    for (const std::int32_t input : inputs(node)) all += (all.empty() ? "" : "; ") + values(input);
    return all;
  }

  // Which of the operation's inputs the edge leads to.
  std::ptrdiff_t position(const GraphEdge& edge) const {
    const auto all = inputs(edge.from);
    const auto own = [&](std::int32_t input) { return operand(input) == edge.to; };
    return std::find_if(all.begin(), all.end(), own) - all.begin();
  }

  // Explains the slope of an input that is added.
  std::string added(const GraphEdge& edge) const {
    const Index from = tape_.value(edge.from).size(), to = tape_.value(edge.to).size();
    if (from <= to) return "it is passed on as it is";
    return fmt::format("it is summed over the {} elements that each is added to", from / to);
  }

  std::string slope(const GraphEdge& edge) const {
    const bool from_node = edge.to >= 0 && tape_.value(edge.to).defined();
    switch (reason_of(tape_.node(edge.from).name)) {
      case Reason::positive:
        if (!from_node) break;
        return fmt::format(
            "{} of {} inputs are positive, and it passes gradients on to these alone",
            positive(tape_.value(edge.to)), tape_.value(edge.to).size());
      case Reason::saturated:
        return "it is flat where it is saturated; its output: " + values(edge.from);
      case Reason::flat:
        return "it is flat";
      case Reason::output:
        return "its slope is its output: " + values(edge.from);
      case Reason::input:
        return "its slope depends on its input: " + values(edge.to);
      case Reason::operands:
        return "its slope depends on its operands: " + operands(edge.from);
      case Reason::added:
        if (edge.arriving > 0) return added(edge);
        break;
      case Reason::multiplied:
        if (position(edge) == 2 && edge.arriving > 0) return added(edge);  // a bias
        if (inputs(edge.from).size() < 2) break;
        return "the gradient is multiplied by the other operand: " +
               values(inputs(edge.from)[position(edge) == 0 ? 1 : 0]);
      case Reason::chosen:
        return "it passes gradients on to what it chooses alone, and chooses from: " +
               operands(edge.from);
      case Reason::selected:
        return "only what it selects gets a gradient";
      case Reason::dropped:
        return "what it drops gets no gradient";
      case Reason::normalized:
        if (from_node && edge.arriving > 0 && tape_.node(edge.to).shape.rank() > 0 &&
            total(edge.from).shape() == tape_.node(edge.to).shape)
          return removed(total(edge.from), tape_.value(edge.to));
        break;
      case Reason::unknown:
        break;
    }
    return "its inputs: " + operands(edge.from);
  }

  struct User {
    std::int32_t last = -1;  // operation that depends on a node
    std::int32_t next = -1;  // operation that uses its value, detached or not, towards the result
    bool attached = false;   // whether the result depends on it
  };

  const Tape& tape_;
  int sweep_;  // the last one
  std::int32_t result_ = -1;
  std::map<std::int32_t, std::vector<const Flow*>> flows_;  // of this sweep, by their ends
  std::vector<User> users_;                                 // by node
  std::map<std::int32_t, Way> ways_;                        // by node
};

}  // namespace

std::vector<std::string> explained_operations() {
  std::vector<std::string> all;
  for (const auto& [reason, operations] : explained)
    all.insert(all.end(), operations.begin(), operations.end());
  return all;
}

std::string explain(const Tape& tape, const Tensor& x) {
  expect<TapeError>(tape.holds(x), "explain: this tape does not hold the tensor");
  return Explainer(tape).text(x.node());
}

std::string explain(const Tape& tape, const Parameter& x) {
  const std::int32_t node = tape.find(x);
  expect<TapeError>(node >= 0, "explain: this tape has not used {}",
                    x.name().empty() ? "the parameter" : x.name());
  return Explainer(tape).text(node);
}

std::map<std::int32_t, std::string> explain_leaves(const Tape& tape) {
  const Explainer explainer(tape);
  std::map<std::int32_t, std::string> all;
  for (std::int32_t node = 0; node < tape.size(); ++node)
    if (tape.node(node).input_count == 0) all[node] = explainer.text(node);
  return all;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
