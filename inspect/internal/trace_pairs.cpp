#include "tapegrad/inspect/internal/trace_pairs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Where this many pairs are possible, values are aligned at their beginning and end alone.
constexpr std::size_t most_pairs = 12'000'000;

// "LayerNorm" of PyTorch is "layer_norm".
std::string plain(const std::string& operation) {
  std::string letters;
  for (const char c : operation)
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

bool is_named(const TracedValue& value) { return is_field(value) || value.name != value.operation; }

class Aligner {
 public:
  Aligner(const Trace& a, const Trace& b, const TracesAgree& agree, double slack)
      : a_(a.values),
        b_(b.values),
        agree_(agree),
        slack_(slack),
        sums_a_(sums(a_)),
        sums_b_(sums(b_)),
        of_a_(a_.size(), none),
        of_b_(b_.size(), none) {
    by_name();
    fields_by_value();
    origins_of_a_ = origins(a_, [this](std::size_t i) { return of_a_[i] == none ? none : i; });
    origins_of_b_ = origins(b_, [this](std::size_t j) { return of_b_[j]; });
    const Positions by_name_alone = of_a_;
    by_origin();
    by_inputs();
    between_anchors();
    last_of_origin();
    leave_what_has_no_effect(by_name_alone);
  }

  std::vector<TracePair> pairs() const {
    std::vector<TracePair> found;
    for (std::size_t i = 0; i < a_.size(); ++i)
      if (of_a_[i] != none) found.push_back({i, of_a_[i], transposed_.contains(i)});
    return found;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr int equal_values = 4;  // the greatest likeness
  using Positions = std::vector<std::size_t>;

  void join(std::size_t i, std::size_t j) {
    of_a_[i] = j;
    of_b_[j] = i;
  }

  void by_name() {
    std::map<std::pair<std::string, bool>, std::vector<std::size_t>> names;
    for (std::size_t j = b_.size(); j-- > 0;)
      if (is_named(b_[j])) names[{b_[j].name, is_field(b_[j])}].push_back(j);
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (!is_named(a_[i])) continue;
      std::vector<std::size_t>& same = names[{a_[i].name, is_field(a_[i])}];
      if (same.empty()) continue;
      join(i, same.back());
      same.pop_back();
    }
  }

  // Fields of other names: fields of equal values, if there are as many in both traces; then fields
  // that are alone in their shape.
  void fields_by_value() {
    const NoGrad constants;
    const TracesAgree same_shape = [](const Tensor& x, const Tensor& y) {
      return x.shape() == y.shape();
    };
    for (const bool by_shape : {false, true})
      for (const std::size_t i : fields_left(a_, of_a_)) {
        const TracesAgree& alike = by_shape ? same_shape : agree_;
        const auto own = fields_like(a_[i], a_, of_a_, alike, false);
        for (const bool turned : {false, true}) {
          const auto other = fields_like(a_[i], b_, of_b_, alike, turned);
          if (other.size() != own.size() || (by_shape && own.size() > 1)) continue;
          join(i, other.front());
          if (turned) transposed_.insert(i);
          break;
        }
      }
  }

  static Positions fields_like(const TracedValue& field, const std::vector<TracedValue>& all,
                               const Positions& of, const TracesAgree& alike, bool turned) {
    Positions found;
    for (const std::size_t j : fields_left(all, of))
      if (all[j].operation == field.operation &&
          (turned ? all[j].value.rank() == 2 && alike(field.value, transpose(all[j].value))
                  : alike(field.value, all[j].value)))
        found.push_back(j);
    return found;
  }

  static Positions fields_left(const std::vector<TracedValue>& all, const Positions& of) {
    Positions found;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_field(all[i]) && of[i] == none) found.push_back(i);
    return found;
  }

  // For each value, the pairs by name from which it is computed: the nearest ones.
  template <class PairOf>
  static std::vector<Positions> origins(const std::vector<TracedValue>& all,
                                        const PairOf& pair_of) {
    std::vector<Positions> found(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const Index input : all[i].inputs) {
        if (input == -1) continue;
        const std::size_t x = operand(input), pair = pair_of(x);
        const Positions more = pair == none ? found[x] : Positions{pair};
        Positions both;
        std::set_union(found[i].begin(), found[i].end(), more.begin(), more.end(),
                       std::back_inserter(both));
        found[i] = std::move(both);
      }
    return found;
  }

  // Equal values of equal gradients and the same origin are pairs in whatever order they were
  // computed.
  void by_origin() {
    std::map<Positions, Positions> candidates;
    for (const std::size_t j : left(b_, of_b_, 0, b_.size()))
      if (!origins_of_b_[j].empty()) candidates[origins_of_b_[j]].push_back(j);
    for (const std::size_t i : left(a_, of_a_, 0, a_.size())) {
      const auto same_origin = candidates.find(origins_of_a_[i]);
      if (same_origin == candidates.end()) continue;
      Positions& found = same_origin->second;
      if (found.size() > most_pairs / a_.size()) continue;
      const auto best = std::find_if(found.begin(), found.end(), [&](std::size_t j) {
        return likeness(i, j) == equal_values && same_gradient(i, j);
      });
      if (best == found.end()) continue;
      join(i, *best);
      found.erase(best);
    }
  }

  // So are the same operations of the same inputs, even if their values differ.
  void by_inputs() {
    using Call = std::tuple<std::string, Positions, std::vector<Index>>;
    const auto call = [](const TracedValue& value, const Positions* partners) {
      Positions inputs;
      for (const Index input : value.inputs)
        if (input != -1) inputs.push_back(partners ? (*partners)[operand(input)] : operand(input));
      const bool known = std::count(inputs.begin(), inputs.end(), none) == 0;
      return Call(plain(value.operation), known ? inputs : Positions{},
                  {value.value.shape().begin(), value.value.shape().end()});
    };
    std::map<Call, Positions> calls;
    for (const std::size_t j : left(b_, of_b_, 0, b_.size()))
      calls[call(b_[j], nullptr)].push_back(j);
    for (const std::size_t i : left(a_, of_a_, 0, a_.size())) {
      const Call own = call(a_[i], &of_a_);
      Positions& same = calls[own];
      if (std::get<Positions>(own).empty() || same.empty()) continue;
      if (is_named(a_[i]) && is_named(b_[same.front()])) continue;
      join(i, same.front());
      same.erase(same.begin());
    }
  }

  // Pairs the last ones of one shape among what is left of one origin, as in an alignment.
  void last_of_origin() {
    std::map<Positions, std::size_t> last;
    for (const std::size_t j : left(b_, of_b_, 0, b_.size()))
      if (!origins_of_b_[j].empty()) last[origins_of_b_[j]] = j;
    const Positions left_in_a = left(a_, of_a_, 0, a_.size());
    for (auto i = left_in_a.rbegin(); i != left_in_a.rend(); ++i)
      if (const auto found = last.extract(origins_of_a_[*i]);
          found && a_[*i].value.shape() == b_[found.mapped()].value.shape())
        join(*i, found.mapped());
  }

  // Two values that differ while nothing that differs is computed from them were taken for the same
  // by mistake: what another way of computing has in between.
  void leave_what_has_no_effect(const Positions& by_name_alone) {
    std::vector<char> differs_in_a(a_.size()), differs_in_b(b_.size());
    for (std::size_t i = 0; i < a_.size(); ++i)
      if (of_a_[i] != none)
        differs_in_a[i] = differs_in_b[of_a_[i]] = !agree_(a_[i].value, b_[of_a_[i]].value);
    for (bool again = true; std::exchange(again, false);) {
      const std::vector<char> matters_in_a = matters(a_, of_a_, differs_in_a),
                              matters_in_b = matters(b_, of_b_, differs_in_b);
      for (std::size_t i = 0; i < a_.size(); ++i) {
        const std::size_t j = of_a_[i];
        if (j == none || !differs_in_a[i] || by_name_alone[i] != none ||
            (matters_in_a[i] && matters_in_b[j]))
          continue;
        of_a_[i] = of_b_[j] = none;
        again = true;
      }
    }
  }

  // Whether a value is a result, or a pair that differs is computed from it.
  static std::vector<char> matters(const std::vector<TracedValue>& all, const Positions& of,
                                   const std::vector<char>& differs) {
    std::vector<char> used(all.size()), found(all.size());
    for (std::size_t i = all.size(); i-- > 0;) {
      found[i] = found[i] || !used[i];
      const bool matters = of[i] == none ? found[i] : differs[i];
      for (const Index input : all[i].inputs) {
        if (input == -1) continue;
        used[operand(input)] = true;
        found[operand(input)] = found[operand(input)] || matters;
      }
    }
    return found;
  }

  // Pairs of operations that follow each other in both traces divide these into parts.
  void between_anchors() {
    Positions tails, previous(a_.size(), none);  // of the longest chain of each length
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (of_a_[i] == none || is_field(a_[i])) continue;
      const auto at =
          std::lower_bound(tails.begin(), tails.end(), i,
                           [&](std::size_t x, std::size_t y) { return of_a_[x] < of_a_[y]; });
      if (at != tails.begin()) previous[i] = *(at - 1);
      if (at == tails.end())
        tails.push_back(i);
      else
        *at = i;
    }
    Positions chain;
    for (std::size_t i = tails.empty() ? none : tails.back(); i != none; i = previous[i])
      chain.push_back(i);
    std::size_t first_a = 0, first_b = 0;
    for (auto anchor = chain.rbegin(); anchor != chain.rend(); ++anchor) {
      const std::size_t end_a = *anchor, end_b = of_a_[end_a];
      align(left(a_, of_a_, first_a, end_a), left(b_, of_b_, first_b, end_b));
      first_a = end_a + 1;
      first_b = end_b + 1;
    }
    align(left(a_, of_a_, first_a, a_.size()), left(b_, of_b_, first_b, b_.size()));
  }

  static Positions left(const std::vector<TracedValue>& all, const Positions& of, std::size_t first,
                        std::size_t end) {
    Positions found;
    for (std::size_t i = first; i < end; ++i)
      if (of[i] == none && !is_field(all[i])) found.push_back(i);
    return found;
  }

  static std::vector<double> sums(const std::vector<TracedValue>& all) {
    std::vector<double> found;
    for (const TracedValue& one : all) {
      const std::span<const real> x = one.value.values();
      found.push_back(std::accumulate(x.begin(), x.end(), 0.0, [](double sum, double element) {
        return sum + std::abs(element);
      }));
    }
    return found;
  }

  // Whether the values agree. Most that do not differ in their sums.
  bool alike(std::size_t i, std::size_t j) const {
    const double x = sums_a_[i], y = sums_b_[j],
                 most = slack_ * static_cast<double>(a_[i].value.size()) * std::max(x, y);
    return !(std::abs(x - y) > most) && agree_(a_[i].value, b_[j].value);
  }

  bool same_gradient(std::size_t i, std::size_t j) const {
    const Tensor &x = a_[i].gradient, &y = b_[j].gradient;
    return x.defined() == y.defined() && (!x.defined() || agree_(x, y));
  }

  // How much two operations look like the same; 0: not at all.
  int likeness(std::size_t i, std::size_t j) const {
    const TracedValue &x = a_[i], &y = b_[j];
    if (is_named(x) && is_named(y) && x.name != y.name && plain(x.operation) != plain(y.operation))
      return alike(i, j) ? 2 : 0;
    if (alike(i, j)) return equal_values;
    if (plain(x.operation) != plain(y.operation)) return 0;
    const bool same_shape = x.value.shape() == y.value.shape();
    if (origins_of_a_[i] != origins_of_b_[j]) return same_shape ? 1 : 0;
    return same_shape ? 3 : 1;
  }

  void join_last(Positions& x, Positions& y) {
    for (; !x.empty() && !y.empty() && likeness(x.back(), y.back()) == equal_values;
         x.pop_back(), y.pop_back())
      join(x.back(), y.back());
  }

  // The alignment of greatest likeness, by dynamic programming.
  void align(Positions x, Positions y) {
    for (int end = 0; end < 2; ++end) {  // first the beginning
      std::reverse(x.begin(), x.end());
      std::reverse(y.begin(), y.end());
      join_last(x, y);
    }
    if (x.empty() || y.empty() || x.size() > most_pairs / y.size()) return;

    const std::size_t width = y.size() + 1;
    std::vector<int> best((x.size() + 1) * width);  // of x from i and y from j on
    std::vector<char> like(x.size() * width);
    for (std::size_t i = x.size(); i-- > 0;)
      for (std::size_t j = y.size(); j-- > 0;) {
        like[i * width + j] = static_cast<char>(likeness(x[i], y[j]));
        best[i * width + j] = std::max({best[(i + 1) * width + j], best[i * width + j + 1],
                                        like[i * width + j] + best[(i + 1) * width + j + 1]});
      }
    Positions gap_x, gap_y;
    const auto close_gap = [&] {
      if (!gap_x.empty() && !gap_y.empty() &&
          a_[gap_x.back()].value.shape() == b_[gap_y.back()].value.shape())
        join(gap_x.back(), gap_y.back());
      gap_x.clear();
      gap_y.clear();
    };
    for (std::size_t i = 0, j = 0; i < x.size() || j < y.size();) {
      const int all = best[i * width + j];
      if (i < x.size() && j < y.size() && like[i * width + j] > 0 &&
          all == like[i * width + j] + best[(i + 1) * width + j + 1]) {
        close_gap();
        join(x[i++], y[j++]);
      } else if (i < x.size() && (j == y.size() || all == best[(i + 1) * width + j])) {
        gap_x.push_back(x[i++]);
      } else {
        gap_y.push_back(y[j++]);
      }
    }
    close_gap();
  }

  const std::vector<TracedValue>&a_, &b_;
  const TracesAgree& agree_;
  double slack_;
  std::vector<double> sums_a_, sums_b_;
  Positions of_a_, of_b_;  // partners
  std::vector<Positions> origins_of_a_, origins_of_b_;
  std::set<std::size_t> transposed_;  // positions in a
};

}  // namespace

std::size_t operand(Index input) {
  return static_cast<std::size_t>(input < -1 ? -2 - input : input);
}

bool is_field(const TracedValue& value) {
  return value.operation == "parameter" || value.operation == "buffer";
}

std::vector<TracePair> pair_traces(const Trace& a, const Trace& b, const TracesAgree& agree,
                                   double slack) {
  return Aligner(a, b, agree, slack).pairs();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
