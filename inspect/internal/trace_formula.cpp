#include "tapegrad/inspect/internal/trace_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "tapegrad/core/range.h"
#include "tapegrad/inspect/internal/trace_distance.h"
#include "tapegrad/inspect/internal/trace_words.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// "2 times x"; "x" for 1.
std::string times(double factor, const std::string& name) {
  return std::abs(factor - 1) < 1e-5 ? name : fmt::format("{:.4g} times {}", factor, name);
}

// The factors a and b for which a x + b y is nearest to z, by a sample of elements; none where even
// this is far away, or x and y are multiples of each other.
struct Factors {
  double x, y;
};
std::optional<Factors> fitted(const Tensor& x, const Tensor& y, const Tensor& z) {
  const Index sample = std::min<Index>(z.size(), 4096);
  double xx = 0, xy = 0, yy = 0, xz = 0, yz = 0, zz = 0;
  for (Index i = 0; i < sample; ++i) {
    const double a = x.data()[i], b = y.data()[i], c = z.data()[i];
    xx += a * a, xy += a * b, yy += b * b, xz += a * c, yz += b * c, zz += c * c;
  }
  const double determinant = xx * yy - xy * xy;
  if (!(determinant > 1e-9 * xx * yy)) return {};
  const Factors found{(xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant};
  const double of_x = std::abs(found.x) * std::sqrt(xx), of_y = std::abs(found.y) * std::sqrt(yy);
  const double left = zz - found.x * xz - found.y * yz;  // the sum of the squares that are left
  if (!(std::min(of_x, of_y) > 1e-5 * std::max(of_x, of_y)) || !(left < 1e-6 * zz)) return {};
  return found;
}

// Ways in which a program may use a kernel or continue an image, and what they are called.
struct Kernel {
  Tensor (*of)(const Tensor& weight);
  const char* words;
};
const Kernel kernels[] = {
    {[](const Tensor& w) { return w; }, ""},
    {[](const Tensor& w) {
       return flip(w, {2, 3});
     },
     " turned around"},
    {[](const Tensor& w) { return transpose(w); }, " with height and width exchanged"},
};
// `before` and `after`: of n elements along an axis, those that stand next to them.
struct Border {
  Tensor (*before)(const Tensor& x, int axis, Index n);
  Tensor (*after)(const Tensor& x, int axis, Index n);
  const char* words;
};
Tensor first(const Tensor& x, int axis, Index n) { return slice(x, axis, 0, n); }
Tensor last(const Tensor& x, int axis, Index n) {
  return slice(x, axis, x.shape()[axis] - n, x.shape()[axis]);
}
const Border borders[] = {
    {nullptr, nullptr, ""},
    {[](const Tensor& x, int axis, Index n) {
       return flip(last(first(x, axis, n + 1), axis, n), axis);
     },
     [](const Tensor& x, int axis, Index n) {
       return flip(first(last(x, axis, n + 1), axis, n), axis);
     },
     " that reflects"},
    {[](const Tensor& x, int axis, Index n) {
       return repeat_interleave(first(x, axis, 1), n, axis);
     },
     [](const Tensor& x, int axis, Index n) {
       return repeat_interleave(last(x, axis, 1), n, axis);
     },
     " that repeats the edge"},
    {last, first, " from the other side"},
};
Tensor padded(const Tensor& x, int axis, Index n, const Border& border) {
  return concat({border.before(x, axis, n), x, border.after(x, axis, n)}, axis);
}

class Formula {
 public:
  Formula(const Tensor& y, const TraceDifference& all) : y_(y), all_(all) {}

  std::string words() const {
    for (const auto kind : {&Formula::product, &Formula::convolution, &Formula::normalization,
                            &Formula::sum_of_two, &Formula::quotient})
      if (std::string found = (this->*kind)(); !found.empty()) return found;
    return "";
  }

 private:
  bool is(const Tensor& candidate) const {
    return candidate.size() == y_.size() && all_.agree(reshape(candidate, y_.shape()), y_);
  }

  // Inputs of one number for each index of an axis, in the shape that broadcasts to y; at first
  // none, which is `neutral`.
  struct Line {
    Tensor value;
    std::string words;
  };
  std::vector<Line> lines(const char* word, double neutral) const {
    std::vector<Line> found{{Tensor(neutral), ""}};
    for (const TraceOperand& one : all_.inputs)
      for (const int axis : std::set<int>{std::min(1, y_.rank() - 1), y_.rank() - 1}) {
        const Index size = one.value.size();
        if (axis < 0 || size != y_.shape()[axis] ||
            std::count(one.value.shape().begin(), one.value.shape().end(), size) == 0)
          continue;
        Shape along = y_.shape();
        for (int other = 0; other < y_.rank(); ++other)
          along = along.with(other, other == axis ? size : 1);
        found.push_back({reshape(one.value, along), fmt::format("{} {}", word, one.name)});
      }
    return found;
  }

  std::string product() const {
    const std::vector<Line> biases = lines(" plus", 0);
    for (const TraceOperand& w : all_.inputs)
      for (const TraceOperand& x : all_.inputs)
        for (const bool turned : {false, true}) {
          if (w.value.rank() != 2 || x.value.rank() == 0) continue;
          const Index k = w.value.shape()[turned ? 1 : 0], n = w.value.shape()[turned ? 0 : 1];
          if (x.value.shape()[-1] != k || k == 0 || x.value.size() / k * n != y_.size()) continue;
          const Tensor xw =
              reshape(matmul(reshape(x.value, {-1, k}), w.value, {.b = turned}), y_.shape());
          for (const Line& b : biases)
            if (is(xw + b.value))
              return fmt::format("{} times {}{}{}", x.name, w.name, turned ? ", transposed," : "",
                                 b.words);
        }
    return "";
  }

  std::string convolution() const {
    const std::vector<Line> biases = lines(", plus", 0);
    for (const TraceOperand& w : all_.inputs)
      for (const TraceOperand& x : all_.inputs) {
        if (w.value.rank() != 4 || x.value.rank() != 4 || y_.rank() != 4 ||
            w.value.shape()[0] != y_.shape()[1] || x.value.shape()[0] != y_.shape()[0] ||
            x.value.shape()[1] % w.value.shape()[1] != 0)
          continue;
        for (const Kernel& kernel : kernels)
          for (const Border& border : borders)
            for (const Line& b : biases)
              if (const std::string how = convolved(x.value, kernel.of(w.value), border, b.value);
                  !how.empty())
                return fmt::format("{} convolved with {}{}{}{}", x.name, w.name, kernel.words, how,
                                   b.words);
      }
    return "";
  }

  // With which stride and padding, in words, if with any.
  std::string convolved(const Tensor& x, const Tensor& w, const Border& border,
                        const Tensor& b) const {
    const Index size = w.shape()[2];
    for (Index stride = 1; stride <= 4; ++stride)
      for (Index padding = 0; padding <= std::max<Index>(size, 3); ++padding) {
        const auto fits = [&](int axis) {
          const Index left = x.shape()[axis] + 2 * padding - w.shape()[axis];
          return left >= 0 && left / stride + 1 == y_.shape()[axis] && padding < x.shape()[axis];
        };
        if (!fits(2) || !fits(3) || (padding == 0 && border.before != nullptr)) continue;
        const Tensor wide = border.before == nullptr
                                ? x
                                : padded(padded(x, 2, padding, border), 3, padding, border);
        if (is(conv2d(wide, w,
                      {.stride = stride,
                       .padding = border.before == nullptr ? padding : 0,
                       .groups = x.shape()[1] / w.shape()[1]}) +
               b))
          return fmt::format(", stride {}, padding {}{}", stride, padding, border.words);
      }
    return "";
  }

  std::string normalization() const {
    const std::vector<Line> gains = lines(", times", 1), biases = lines(" plus", 0);
    std::set<std::vector<int>> groups;
    for (int axis = 0; axis < y_.rank(); ++axis) groups.insert({axis});
    for (const int first : {1, 2}) {
      std::vector<int> rest(static_cast<std::size_t>(std::max(0, y_.rank() - first)));
      std::iota(rest.begin(), rest.end(), first);
      if (!rest.empty()) groups.insert(rest);
      if (first == 2 && y_.rank() > 1) {
        rest.insert(rest.begin(), 0);
        groups.insert(rest);
      }
    }
    for (const std::vector<int>& axes : groups) {
      const Axes over(axes);
      std::vector<Tensor> sizes;  // of what is left of y without each bias
      for (const Line& bias : biases) sizes.push_back(sum(abs(y_ - bias.value), over, Keep::yes));
      for (const TraceOperand& x : all_.inputs) {
        if (x.value.shape() != y_.shape()) continue;
        for (const bool centered : {true, false}) {
          const Tensor c = centered ? x.value - mean(x.value, over, Keep::yes) : x.value,
                       v = mean(square(c), over, Keep::yes);
          for (const Line& gain : gains) {
            const Tensor size = sum(abs(c * gain.value), over, Keep::yes);
            for (std::size_t i = 0; i < biases.size(); ++i) {
              const Tensor s = size / sizes[i];
              const std::string how = root_of(v, s, y_.size() / v.size(), centered);
              if (!how.empty() && is(c / s * gain.value + biases[i].value))
                return fmt::format("{} normalized along {} {}{}{}{}{}", x.name,
                                   axes.size() > 1 ? "axes" : "axis", fmt::join(axes, " and "), how,
                                   centered ? "" : " without subtracting the mean", gain.words,
                                   biases[i].words);
            }
          }
        }
      }
    }
    return "";
  }

  // With which epsilon, and of which variance, s is the root of the mean v of n squares, in words,
  // if it is one.
  static std::string root_of(const Tensor& v, const Tensor& s, Index n, bool centered) {
    if (n < 2 || range(s).non_finite > 0) return "";
    std::string best;
    double least = 1e-3;
    const double unbias = static_cast<double>(n) / static_cast<double>(n - 1);
    for (const bool unbiased : {false, true})
      for (const bool outside : {false, true})
        for (const double epsilon : usual_epsilons) {
          if ((unbiased && !centered) || (outside && epsilon == 0)) continue;
          const Tensor w = unbiased ? v * unbias : v;
          const double apart = largest((outside ? sqrt(w) + epsilon : sqrt(w + epsilon)) / s - 1.0);
          if (!(apart < least)) continue;
          least = apart;
          best = fmt::format(" with {}epsilon {}{}", unbiased ? "the unbiased variance and " : "",
                             epsilon, outside ? " outside of the root" : "");
        }
    return best;
  }

  // Tries sums of two values or of their squares.
  std::string sum_of_two() const {
    std::vector<TraceOperand> terms;
    for (const TraceOperand& one : all_.inputs)
      if (one.value.size() == y_.size() && enough()) terms.push_back(one);
    for (std::size_t i = terms.size(); i-- > 0;)
      terms.push_back({"square of " + terms[i].name, square(terms[i].value), true, true});
    for (auto q = terms.begin(); q != terms.end(); ++q)
      for (auto p = terms.begin(); p != q; ++p) {
        const std::optional<Factors> by = fitted(p->value, q->value, y_);
        if (by && is(by->x * reshape(p->value, y_.shape()) + by->y * reshape(q->value, y_.shape())))
          return fmt::format("{} {} {}", times(by->x, p->name), by->y < 0 ? "minus" : "plus",
                             times(std::abs(by->y), q->name));
      }
    return "";
  }

  // A multiple of p divided by q or its root, with an epsilon or none.
  std::string quotient() const {
    for (const TraceOperand& p : all_.inputs)
      for (const TraceOperand& q : all_.inputs) {
        if (&p == &q || p.value.size() != y_.size() || q.value.size() != y_.size() || !enough() ||
            !(range(q.value).least >= 0))
          continue;
        const Tensor x = reshape(p.value, y_.shape()), v = reshape(q.value, y_.shape());
        if (const auto by = scaled(x / v))
          return fmt::format("{} / {}", times(*by, p.name), q.name);
        if (const auto by = scaled(x / sqrt(v)))
          return fmt::format("{} / sqrt({})", times(*by, p.name), q.name);
        const Tensor ratio = x / y_, root = sqrt(v);
        if (const double e = epsilon_of(root, ratio); e != 0)
          if (const auto by = scaled(x / (root + e)))
            return fmt::format("{} / (sqrt({}) + {:.4g})", times(*by, p.name), q.name, e);
        if (const double e = epsilon_of(v, ratio); e != 0)
          if (const auto by = scaled(x / (v + e)))
            return fmt::format("{} / ({} + {:.4g})", times(*by, p.name), q.name, e);
        if (const double e = epsilon_of(v, square(ratio)); e != 0)
          if (const auto by = scaled(x / sqrt(v + e)))
            return fmt::format("{} / sqrt({} + {:.4g})", times(*by, p.name), q.name, e);
      }
    return "";
  }

  // The number that fits if z is a multiple of x plus a number: a usual one, if it is near; or 0.
  static double epsilon_of(const Tensor& x, const Tensor& z) {
    const auto by = fitted(x, ones(x.shape()), z);
    if (!by) return 0;
    const double found = by->y / by->x;
    for (const double usual : usual_epsilons)
      if (std::abs(found - usual) < 1e-3 * usual) return usual;
    return found;
  }

  // The factor by which y is a multiple of x.
  std::optional<double> scaled(const Tensor& x) const {
    double xx = 0, xy = 0;
    for (Index i = 0; i < y_.size(); ++i) {
      const double one = x.data()[i];
      xx += one * one;
      xy += one * y_.data()[i];
    }
    if (!std::isfinite(xx) || xx == 0 || !is(xy / xx * x)) return {};
    return xy / xx;
  }

  // Whether two factors that fit all elements are no accident.
  bool enough() const { return y_.size() >= 6; }

  const Tensor& y_;
  const TraceDifference& all_;
};

using Matrix = std::vector<std::vector<double>>;

Matrix rows_of(const Tensor& x, Index count) {
  Matrix found;
  const auto n = static_cast<std::ptrdiff_t>(x.shape()[-1]);
  for (std::ptrdiff_t i = 0; i < count; ++i)
    found.emplace_back(x.values().begin() + i * n, x.values().begin() + (i + 1) * n);
  return found;
}

// The rows x with x w = a, by elimination with the greatest pivots of the columns of w; none for a
// singular w.
Matrix quotients(Matrix a, Matrix w) {
  const std::size_t n = w.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t j = k + 1; j < n; ++j)
      if (std::abs(w[k][j]) > std::abs(w[k][pivot])) pivot = j;
    if (w[k][pivot] == 0) return {};
    for (Matrix* rows : {&w, &a})
      for (std::vector<double>& row : *rows) std::swap(row[k], row[pivot]);
    for (std::size_t j = 0; j < n; ++j) {
      if (j == k) continue;
      const double factor = w[k][j] / w[k][k];
      for (Matrix* rows : {&w, &a})
        for (std::vector<double>& row : *rows) row[j] -= factor * row[k];
    }
  }
  for (std::vector<double>& row : a)
    for (std::size_t k = 0; k < n; ++k) row[k] /= w[k][k];
  return a;
}

}  // namespace

bool is_turned(const Tensor& a, const Tensor& b, const Tensor& w) {
  constexpr Index most_rows = 16, most_columns = 512;
  const Index n = w.shape()[0];
  if (w.shape()[1] != n || n < 2 || n > most_columns || a.shape()[-1] != n ||
      b.shape() != a.shape())
    return false;
  const Index count = std::min(a.size() / n, most_rows);
  const Matrix weight = rows_of(w, n), of_b = rows_of(b, count);
  const Matrix x = quotients(rows_of(a, count), weight);
  double most = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < weight.size(); ++j) {
      const double y = std::inner_product(x[i].begin(), x[i].end(), weight[j].begin(), 0.0);
      most = std::max(most, std::abs(of_b[i][j]));
      apart = std::max(apart, std::abs(y - of_b[i][j]));
    }
  return most > 0 && apart < 1e-3 * most;
}

std::string formula(const Tensor& y, const TraceDifference& difference) {
  return Formula(y, difference).words();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
