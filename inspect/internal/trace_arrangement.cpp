#include "tapegrad/inspect/internal/trace_arrangement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

class Arrangement {
 public:
  Arrangement(const Tensor& from, const Tensor& to,
              const std::function<bool(const Tensor&, const Tensor&)>& agree)
      : from_(from), to_(to), agree_(agree) {}

  std::string words() const {
    std::string found = axes();
    if (!found.empty() || from_.shape() != to_.shape()) return found;
    found = mirrored();
    return found.empty() ? blocks() : found;
  }

 private:
  bool is(const Tensor& candidate) const {
    return candidate.shape() == to_.shape() && agree_(candidate, to_);
  }

  std::string axes() const {
    std::vector<int> order(static_cast<std::size_t>(from_.rank()));
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end()))
      if (is(permute(from_, order)))
        return fmt::format("is transposed: its axes are {}", fmt::join(order, " "));
    if (from_.shape() == to_.shape() || from_.size() != to_.size() || !is(from_.view(to_.shape())))
      return "";
    return "has the same elements in another shape: a missing transpose or reshape";
  }

  std::string mirrored() const {
    for (int set = 1; set < 1 << from_.rank(); ++set) {
      std::vector<int> axes;
      for (int axis = 0; axis < from_.rank(); ++axis)
        if ((set >> axis & 1) != 0) axes.push_back(axis);
      if (is(flip(from_, Axes(axes))))
        return fmt::format("is reversed along {} {}", axes.size() > 1 ? "axes" : "axis",
                           fmt::join(axes, " and "));
    }
    for (int axis = 0; axis < from_.rank(); ++axis)
      for (const Index shift : {-1, 1})
        if (is_but_edge(roll(from_, shift, axis), axis))
          return fmt::format("is shifted by {} along axis {}: off by one", shift, axis);
    return "";
  }

  bool is_but_edge(const Tensor& candidate, int axis) const {
    const Index end = to_.shape()[axis] - 1;
    return end >= 2 && agree_(slice(candidate, axis, 1, end), slice(to_, axis, 1, end));
  }

  std::string blocks() const {
    constexpr Index most = 64;
    for (int axis = from_.rank() - 1; axis >= 0; --axis) {
      const Index extent = from_.shape()[axis];
      std::set<Index> counts{2, 3, 4, 6, 8};
      if (extent > 1 && extent <= most) counts.insert(extent);
      for (const Index count : counts) {
        if (count > extent || extent % count != 0) continue;
        const std::string order = order_of(axis, count);
        if (!order.empty())
          return fmt::format("has {} blocks of axis {} in the order {}{}", count, axis, order,
                             count < extent ? ": gates or heads in another order" : "");
        const Shape inner = from_.shape().with(axis, extent / count).insert(axis, count);
        if (is(reshape(transpose(reshape(from_, inner), axis, axis + 1), to_.shape())))
          return fmt::format("interleaves {} blocks of axis {}", count, axis);
      }
    }
    return "";
  }

  // The positions in `from` of the blocks of `to`, or "".
  std::string order_of(int axis, Index count) const {
    const Index size = from_.shape()[axis] / count;
    std::vector<Index> order;
    std::set<Index> left;
    for (Index i = 0; i < count; ++i) left.insert(i);
    for (Index i = 0; i < count; ++i) {
      const Tensor own = slice(to_, axis, i * size, (i + 1) * size);
      const auto same = std::find_if(left.begin(), left.end(), [&](Index j) {
        return agree_(slice(from_, axis, j * size, (j + 1) * size), own);
      });
      if (same == left.end()) return "";
      order.push_back(*same);
      left.erase(same);
    }
    return fmt::format("{}", fmt::join(order, " "));
  }

  const Tensor &from_, &to_;
  const std::function<bool(const Tensor&, const Tensor&)>& agree_;
};

}  // namespace

std::string arrangement(const Tensor& from, const Tensor& to,
                        const std::function<bool(const Tensor&, const Tensor&)>& agree) {
  constexpr int most_axes = 4;
  if (from.rank() > most_axes || to.rank() > most_axes || from.size() < 2) return "";
  return Arrangement(from, to, agree).words();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
