#include "tapegrad/inspect/free_directions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/inspect/internal/free_part.h"
#include "tapegrad/inspect/internal/tried_loss.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr double relative_tolerance = 1e-3;

// Parameters that get the same factors, and the derivatives of the loss by the factors' logarithms.
struct Scaled {
  std::vector<FreePart> parts;
  Numbers slopes;
};

class Search {
 public:
  Search(const Fields& net, const Parameter* batch, const std::function<Tensor()>& loss)
      : loss_(net, batch, loss) {}

  std::vector<FreeDirection> all() {
    for (std::size_t slot = 0; slot < loss_.slots().size(); ++slot) try_slot(slot);
    try_pairs();
    return std::move(found_);
  }

 private:
  using Point = TriedLoss::Point;

  // ---- One direction ----

  Numbers random_numbers(FreeKind kind, const FreePart& part) {
    const Tensor& value = loss_.points()[0].values[loss_.position(part.parameter)];
    const double unit = kind == FreeKind::shift ? TriedLoss::size(value) : 1;
    Numbers numbers(sums(part, value).size());
    for (double& number : numbers)
      number =
          unit * (0.5 + loss_.random().uniform() / 2) * (loss_.random().below(2) == 0 ? 1 : -1);
    return numbers;
  }

  std::vector<Tensor> changed(const FreeDirection& tried, const Point& point,
                              const Numbers& numbers) const {
    std::vector<Tensor> values = point.values;
    for (const FreePart& part : tried.parts) {
      Tensor& value = values[loss_.position(part.parameter)];
      value = moved(tried.kind, part, value, numbers);
    }
    return values;
  }

  // Lists the direction if it is free. Returns whether the loss is flat along it.
  //   each_alone: the elements have numbers of their own
  bool try_direction(FreeKind kind, const std::vector<FreePart>& parts, bool each_alone = false) {
    constexpr int draws = 3;
    const Point& own = loss_.points()[0];
    FreeDirection tried{kind, parts, "", 0, 0, own.loss};
    for (const Point& point : loss_.points()) {
      double typical = point.typical[loss_.position(parts[0].parameter)];
      for (const FreePart& part : parts)
        typical = std::min(typical, point.typical[loss_.position(part.parameter)]);
      // The epsilon of a norm is seen a little by its scale, and by nothing else.
      const double share = kind == FreeKind::scale ? 10 * relative_tolerance : relative_tolerance;
      const double most = point.noise + share * typical;
      for (int draw = 0; draw < draws; ++draw) {
        const Numbers numbers = random_numbers(kind, parts[0]);
        const double change = std::abs(loss_.at(changed(tried, point, numbers)) - point.loss);
        if (!(change <= most)) return false;
        if (&point == &own) tried.change = std::max(tried.change, change);
      }
    }
    const Numbers numbers = random_numbers(kind, parts[0]);
    tried.removed_by = loss_.ends(changed(tried, own, numbers));
    tried.slope = slope(tried, numbers);
    const bool by_accident = each_alone && tried.removed_by.empty();
    if (!by_accident) found_.push_back(std::move(tried));
    return true;
  }

  double slope(const FreeDirection& direction, const Numbers& numbers) const {
    const Point& own = loss_.points()[0];
    double product = 0, direction_squares = 0, gradient_squares = 0;
    for (const FreePart& part : direction.parts) {
      const std::size_t slot = loss_.position(part.parameter);
      const Tensor per_number =
          direction.kind == FreeKind::shift ? ones(part.parameter.shape()) : own.values[slot];
      const Numbers slopes = sums(part, per_number * own.gradients[slot]);
      const Numbers lengths = sums(part, square(per_number));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        product += (part.inverse ? -1 : 1) * numbers[i] * slopes[i];
        direction_squares += numbers[i] * numbers[i] * lengths[i];
      }
    }
    for (const Tensor& gradient : own.gradients) gradient_squares += squares(gradient);
    const double lengths = std::sqrt(direction_squares * gradient_squares);
    return lengths > 0 ? std::abs(product) / lengths : 0;
  }

  // Whether a direction is listed that includes this one.
  bool is_found(FreeKind kind, const std::vector<FreePart>& parts) const {
    return std::any_of(found_.begin(), found_.end(), [&](const FreeDirection& one) {
      return one.kind == kind && std::all_of(parts.begin(), parts.end(), [&](const auto& part) {
               return std::any_of(one.parts.begin(), one.parts.end(),
                                  [&](const FreePart& own) { return covers(own, part); });
             });
    });
  }

  // ---- One parameter ----

  void try_slot(std::size_t slot) {
    const NamedParameter& own = loss_.slots()[slot];
    const std::vector<int> axes = long_axes(own.parameter.shape());
    std::vector<unsigned> choices;  // bits: along which axes numbers differ
    for (unsigned choice = 0; choice < 1U << axes.size(); ++choice) choices.push_back(choice);
    std::stable_sort(choices.begin(), choices.end(),
                     [](unsigned a, unsigned b) { return std::popcount(a) > std::popcount(b); });
    for (const FreeKind kind : {FreeKind::shift, FreeKind::scale})
      for (const unsigned choice : choices) {
        std::vector<int> chosen;
        for (std::size_t i = 0; i < axes.size(); ++i)
          if ((choice >> i & 1U) != 0) chosen.push_back(axes[i]);
        const FreePart part = part_of(own, chosen);
        const bool each_alone = chosen == axes;
        if (is_found(kind, {part}) || (each_alone && kind == FreeKind::scale)) continue;
        const bool is_vector = each_alone && axes.size() == 1;
        const bool is_flat =
            is_vector ? try_elements(slot, part) : try_direction(kind, {part}, each_alone);
        if (each_alone && is_flat) return;
      }
  }

  // Each run of elements of a vector that have no gradient at any point. Returns whether the loss
  // is flat along all elements.
  bool try_elements(std::size_t slot, FreePart part) {
    constexpr double rounding = 16 * std::numeric_limits<real>::epsilon();
    std::vector<bool> is_flat(static_cast<std::size_t>(part.end), true);
    for (const Point& point : loss_.points()) {
      double largest = 0;
      for (const Tensor& each : point.gradients)
        largest = std::max(largest, std::sqrt(squares(each) / static_cast<double>(each.size())));
      for (std::size_t i = 0; i < is_flat.size(); ++i)
        if (std::abs(point.gradients[slot].values()[i]) > rounding * largest) is_flat[i] = false;
    }
    const auto begin = is_flat.begin(), end = is_flat.end();
    bool all_flat = false;
    for (auto first = begin; (first = std::find(first, end, true)) != end;) {
      const auto last = std::find(first, end, false);
      part.begin = first - begin;
      part.end = last - begin;
      all_flat = try_direction(FreeKind::shift, {part}, true) && first == begin && last == end;
      first = last;
    }
    return all_flat;
  }

  // ---- Factors of several parameters ----

  // Whether the loss is flat along these factors of this part, whatever others do.
  bool is_free_alone(const FreePart& part) const {
    const std::vector<int> axes = long_axes(part.parameter.shape());
    const FreePart each = part.axes == axes ? part : part_of({part.name, part.parameter}, axes);
    return is_found(FreeKind::scale, {part}) || is_found(FreeKind::shift, {each});
  }

  Scaled scaled(const std::vector<FreePart>& parts) const {
    const Point& point = loss_.points().back();
    Scaled made{parts, {}};
    for (const FreePart& part : parts) {
      const std::size_t slot = loss_.position(part.parameter);
      const Numbers own = sums(part, point.gradients[slot] * point.values[slot]);
      made.slopes.resize(own.size());
      std::transform(own.begin(), own.end(), made.slopes.begin(), made.slopes.begin(),
                     std::plus<>());
    }
    return made;
  }

  // Adds the part alone, and with each vector that joins what is made of it, such as a bias.
  void add_scaled(const FreePart& part, std::vector<Scaled>& all) const {
    if (is_free_alone(part)) return;
    all.push_back(scaled({part}));
    for (std::size_t other = 0; other < loss_.slots().size(); ++other) {
      const NamedParameter& vector = loss_.slots()[other];
      const std::vector<int> axes = long_axes(vector.parameter.shape());
      if (loss_.is_batch(other) || axes.size() != 1 || same(part.parameter, vector.parameter) ||
          !loss_.meet(part.parameter, vector.parameter))
        continue;
      FreePart second = part_of(vector, part.axes.empty() ? part.axes : axes);
      if (!part.axes.empty() && second.end != part.parameter.shape()[part.axes[0]]) continue;
      second.begin = part.begin;
      second.end = part.end;
      all.push_back(scaled({part, second}));
    }
  }

  // With a factor for each position of an axis, or of a part of it that is as long as another axis
  // (as of attention's queries, keys and values), or one for all. The most factors come first.
  std::vector<Scaled> all_scaled() const {
    std::vector<Scaled> all;
    std::set<Index> extents;
    for (const NamedParameter& slot : loss_.slots())
      for (const int axis : long_axes(slot.parameter.shape()))
        extents.insert(slot.parameter.shape()[axis]);
    constexpr Index most_parts = 4;  // the gates of an LSTM
    for (std::size_t i = 0; i < loss_.slots().size(); ++i) {
      const NamedParameter& slot = loss_.slots()[i];
      const Shape& shape = slot.parameter.shape();
      if (loss_.is_batch(i)) continue;
      for (const int axis : long_axes(shape))
        for (const Index extent : extents) {
          if (shape[axis] % extent != 0 || shape[axis] / extent > most_parts) continue;
          FreePart part = part_of(slot, {axis});
          for (part.begin = 0; part.begin < shape[axis]; part.begin += extent) {
            part.end = part.begin + extent;
            add_scaled(part, all);
          }
        }
      add_scaled(part_of(slot, {}), all);
    }
    std::stable_sort(all.begin(), all.end(), [](const Scaled& a, const Scaled& b) {
      return a.slopes.size() > b.slopes.size();
    });
    return all;
  }

  void try_pairs() {
    const std::vector<Scaled> all = all_scaled();
    for (const Scaled& one : all)
      if (one.parts.size() > 1 && !is_found(FreeKind::scale, one.parts))
        try_direction(FreeKind::scale, one.parts);
    for (auto up = all.begin(); up != all.end(); ++up)
      for (auto down = up + 1; down != all.end(); ++down) try_exchange(*up, *down);
  }

  void try_exchange(const Scaled& up, const Scaled& down) {
    if (up.slopes.size() != down.slopes.size() || length(up.slopes) == 0) return;
    for (const FreePart& one : up.parts)
      for (const FreePart& other : down.parts)
        if (overlap(one, other)) return;
    Numbers difference = up.slopes;
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= down.slopes[i];
    if (length(difference) > 10 * relative_tolerance * length(up.slopes)) return;
    const FreePart &from = up.parts[0], &to = down.parts[0];
    if (is_found(FreeKind::exchange, {from, to}) || (from.axes.empty() && is_linked(from, to)))
      return;
    std::vector<FreePart> parts = up.parts;
    for (FreePart part : down.parts) {
      part.inverse = true;
      parts.push_back(part);
    }
    try_direction(FreeKind::exchange, parts);
  }

  // Whether exchanges lead from one parameter to another.
  bool is_linked(const FreePart& from, const FreePart& to) const {
    std::set<const void*> reached{from.parameter.identity()};
    for (std::size_t before = 0; before < reached.size();) {
      before = reached.size();
      for (const FreeDirection& one : found_) {
        const void* ends[] = {one.parts.front().parameter.identity(), nullptr};
        for (const FreePart& part : one.parts)
          if (part.inverse && ends[1] == nullptr) ends[1] = part.parameter.identity();
        if (ends[1] != nullptr && (reached.contains(ends[0]) || reached.contains(ends[1])))
          reached.insert(std::begin(ends), std::end(ends));
      }
    }
    return reached.contains(to.parameter.identity());
  }

  TriedLoss loss_;
  std::vector<FreeDirection> found_;
};

// "hidden.weight (16, 32), one for each position of axis 1"
std::string said(const FreePart& part) {
  const std::string name = fmt::format("{} {}", part.name, part.parameter.shape());
  const std::vector<int>& axes = part.axes;
  if (axes.empty()) return (part.parameter.shape().size() > 1 ? "all of " : "") + name;
  if (axes.size() == 1 && part.end - part.begin < part.parameter.shape()[axes[0]])
    return name + fmt::format(", one for each of the positions {} to {} of axis {}", part.begin,
                              part.end - 1, axes[0]);
  return name + fmt::format(", one for each position of {} {}", axes.size() > 1 ? "axes" : "axis",
                            fmt::join(axes, " and "));
}

std::string said(const std::vector<FreePart>& parts, bool inverse) {
  std::string text;
  for (const FreePart& part : parts)
    if (part.inverse == inverse) text += (text.empty() ? "" : " and of ") + said(part);
  return text;
}

}  // namespace

std::string to_string(const FreeDirection& direction) {
  const bool one = direction.parts[0].axes.empty();
  std::string text = direction.kind == FreeKind::shift
                         ? one ? "a number added to " : "numbers added to "
                     : one ? "a factor of "
                           : "factors of ";
  text += said(direction.parts, false);
  if (direction.kind == FreeKind::exchange)
    text += ", undone by dividing " + said(direction.parts, true);
  if (!direction.removed_by.empty()) text += ": the change ends at " + direction.removed_by;
  if (direction.slope > relative_tolerance)
    text += "; yet the gradient points along it, as something is detached";
  return text + fmt::format("; the slope is {:.1g}, and the loss, {:.3g}, changes by {:.1g}",
                            direction.slope, direction.loss, direction.change);
}

std::vector<FreeDirection> free_directions(const Fields& net, const std::function<Tensor()>& loss) {
  return Search(net, nullptr, loss).all();
}

std::vector<FreeDirection> free_directions(const Fields& net, const Tensor& batch,
                                           const std::function<Tensor(const Tensor&)>& loss) {
  const Parameter data(batch);
  Fields all = net;
  all("batch", data);
  return Search(all, &data, [&] { return loss(data); }).all();
}

void expect_no_free_directions(const Fields& net, const std::function<Tensor()>& loss) {
  std::string list;
  const std::vector<FreeDirection> found = free_directions(net, loss);
  for (const FreeDirection& direction : found) list += "\n  " + to_string(direction);
  expect<Error>(found.empty(), "free directions: the loss does not see {}:{}", found.size(), list);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
