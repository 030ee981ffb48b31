// Vector functions for the instruction set being compiled. By Highway's scheme, this file is
// included once for each.

#if defined(TAPEGRAD_KERNELS_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_KERNELS_MATH_INL_H
#undef TAPEGRAD_KERNELS_MATH_INL_H
#else
#define TAPEGRAD_KERNELS_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "tapegrad/core/real.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<real>;
using Vector = hn::Vec<Tag>;

inline Vector constant(double value) { return hn::Set(Tag(), static_cast<real>(value)); }

// Loads the first `count` lanes from x. The others are 1, which every function accepts.
inline Vector load_first(const real* x, Index count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  std::fill(std::copy_n(x, count, lanes), lanes + hn::Lanes(d), real{1});
  return hn::Load(d, lanes);
#else
  const auto present = hn::FirstN(d, static_cast<std::size_t>(count));
  return hn::IfThenElse(present, hn::MaskedLoad(present, d, x), hn::Set(d, real{1}));
#endif
}

// Stores the first `count` lanes.
inline void store_first(Vector v, real* y, Index count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::copy_n(lanes, count, y);
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, y);
#endif
}

// How to read and write a vector: whole, or only its first elements.
struct Whole {
  Vector load(const real* x) const { return hn::LoadU(Tag(), x); }
  void store(Vector v, real* y) const { hn::StoreU(v, Tag(), y); }
};
struct First {
  Index count;
  Vector load(const real* x) const { return load_first(x, count); }
  void store(Vector v, real* y) const { store_first(v, y, count); }
};

// Calls body(access, position) for all elements.
template <class Body>
void for_vectors(Index count, const Body& body) {
  const auto lanes = static_cast<Index>(hn::Lanes(Tag()));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) body(Whole{}, i);
  if (i < count) body(First{count - i}, i);
}

// e^x = 2^n e^r with a whole n and |r| <= ln(2) / 2, where e^r = 1 + r + r^2 P(r). The coefficients
// of P, highest power first, have the least largest relative error of e^r.
#ifdef TAPEGRAD_DOUBLE
constexpr double exp_coefficients[] = {
    2.4621313927956655e-8,  2.76211747543677568e-7, 2.75586982922788647e-6, 2.48015197397685759e-5,
    1.98412684132790021e-4, 1.38888889175972511e-3, 8.33333333389457698e-3, 4.16666666666236779e-2,
    0.166666666666659968,   0.500000000000000111};
constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
constexpr double exp_is_zero = -746, exp_is_infinite = 710;
constexpr int mantissa_bits = 52, exponent_bias = 1023;
#else
constexpr double exp_coefficients[] = {1.381456968e-3, 8.368744515e-3, 4.166838899e-2, 0.1666652113,
                                       0.4999999404};
constexpr double ln2_high = 0.693145751953125, ln2_low = 1.428606765330187045e-06;
constexpr double exp_is_zero = -104, exp_is_infinite = 89;
constexpr int mantissa_bits = 23, exponent_bias = 127;
#endif

// To about one unit in the last place. Highway's, once it keeps NaN and infinity, takes 1.6 times
// as many instructions.
inline Vector exp_of(Vector x) {
  const Tag d;
  const Vector least = constant(exp_is_zero), greatest = constant(exp_is_infinite);
  const auto vanishes = hn::Lt(x, least);
  x = hn::IfThenElse(vanishes, least, x);  // unlike hn::Max, keeps NaN
  x = hn::IfThenElse(hn::Gt(x, greatest), greatest, x);
  // In a sum with this number, the last bits are a whole number: n plus twice the bias.
  const Vector whole = constant(1.5 * (std::int64_t{1} << mantissa_bits) + 2 * exponent_bias);
  const Vector sum = hn::MulAdd(x, constant(1.4426950408889634), whole);
  const Vector n = hn::Sub(sum, whole);
  // ln(2) is in two parts. The first has so few digits that its product with n is exact.
  Vector r = hn::NegMulAdd(n, constant(ln2_high), x);
  r = hn::NegMulAdd(n, constant(ln2_low), r);
  Vector p = constant(exp_coefficients[0]);
  for (std::size_t i = 1; i < std::size(exp_coefficients); ++i)
    p = hn::MulAdd(p, r, constant(exp_coefficients[i]));
  const Vector power = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), constant(1));
  // 2^n is the product of two powers, since it may exceed the range that e^x fits.
  const auto exponent = hn::BitCast(hn::RebindToUnsigned<Tag>(), sum);
  const auto half = hn::ShiftRight<1>(exponent), rest = hn::Sub(exponent, half);
  const Vector first = hn::BitCast(d, hn::ShiftLeft<mantissa_bits>(half));
  // Zeros are not left to underflow, which takes the processor several times as long.
  const Vector second =
      hn::IfThenZeroElse(vanishes, hn::BitCast(d, hn::ShiftLeft<mantissa_bits>(rest)));
  return hn::Mul(hn::Mul(power, first), second);
}

// Highway's functions are accurate for ordinary arguments. The following correct the others.

inline Vector log_of(Vector x) {
  const Tag d;
  const Vector zero = hn::Zero(d);
  Vector y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), y);
  y = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, y);
  const Vector not_a_number = constant(std::numeric_limits<double>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, zero), y, not_a_number);
}

inline Vector tanh_of(Vector x) {
  const Tag d;
  const Vector limit = constant(sizeof(real) == 4 ? 10 : 20);
  const Vector inside = hn::Max(hn::Min(x, limit), hn::Neg(limit));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, inside));
}

inline Vector sigmoid_of(Vector x) {
  const Vector one = constant(1);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

// The normal distribution: Phi(x) and its density.
struct Normal {
  Vector cdf, density;
};

inline Normal normal_of(Vector x) {
  const Tag d;
  const Vector e = exp_of(hn::Mul(constant(-0.5), hn::Mul(x, x)));
  const Vector density = hn::Mul(e, constant(0.3989422804014327));
#ifdef TAPEGRAD_DOUBLE
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    lanes[i] = 0.5 * std::erfc(-lanes[i] * 0.7071067811865476);
  return {hn::Load(d, lanes), density};
#else
  // Phi(-z) = e^(-z^2 / 2) t P(t) for positive z, with t = 1 / (1 + 0.297 z), to a relative error
  // of 1.7e-7. P is a least-squares fit, weighted towards the largest error.
  const Vector t = hn::Div(constant(1), hn::MulAdd(hn::Abs(x), constant(0.296984848), constant(1)));
  Vector p = constant(3.51179871225e-02);
  for (const double c :
       {-1.60138067260e-01, 2.20352664605e-01, -6.52774298100e-02, 1.34378361175e-01,
        9.73611063150e-02, 1.19793191995e-01, 1.18412101680e-01})
    p = hn::MulAdd(p, t, constant(c));
  const Vector tail = hn::Mul(e, hn::Mul(p, t));
  const Vector positive = hn::Sub(constant(1), tail);
  return {hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, tail), density};
#endif
}

// The errors of a running sum grow with its length. So a sum is cut into blocks, and their sums are
// added by halves: the same tree for any number of threads.
constexpr Index block_terms = 16, block_rows = 128;

// How many of `count` terms, in whole blocks, form the first half.
inline Index first_half(Index count, Index block) { return (count / block + 1) / 2 * block; }

// A block of whole vectors, lane by lane. Four running sums hide the latency of addition.
template <class Term>
inline Vector sum_of_block(Index i, Index end, const Term& term) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    s0 = term.add(s0, i);
    s1 = term.add(s1, i + lanes);
    s2 = term.add(s2, i + 2 * lanes);
    s3 = term.add(s3, i + 3 * lanes);
  }
  for (; i + lanes <= end; i += lanes) s0 = term.add(s0, i);
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

// Any number of blocks: a few in order, more by halves. Not inlined, since GCC would unfold the
// recursion.
template <class Term>
HWY_NOINLINE Vector sum_of_blocks(Index begin, Index end, Index block, const Term& term) {
  const Index few = 4 * block;
  if (end - begin > few) {
    const Index middle = begin + first_half(end - begin, few);
    const Vector first = sum_of_blocks(begin, middle, block, term);
    return hn::Add(first, sum_of_blocks(middle, end, block, term));
  }
  Vector total = hn::Zero(Tag());
  for (; begin < end; begin += block)
    total = hn::Add(total, sum_of_block(begin, std::min(end, begin + block), term));
  return total;
}

template <class Term>
inline real sum_of(Index count, const Term& term) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index block = block_terms * 4 * lanes;
  Index i = count - count % lanes;
  const Vector sums = i <= block ? sum_of_block(0, i, term) : sum_of_blocks(0, i, block, term);
  real total = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < count; ++i) total += term.at(i);
  return total;
}

// total[0..width) = sums over rows, where add(first, count, sums) adds some of the rows to `sums`.
template <Index most_columns, class Add>
inline void sum_by_halves(Index first, Index rows, Index width, real* total, const Add& add) {
  if (rows <= block_rows) {
    std::fill_n(total, width, real{0});
    if (rows > 0) add(first, rows, total);
    return;
  }
  const Index half = first_half(rows, block_rows);
  sum_by_halves<most_columns>(first, half, width, total, add);
  real rest[most_columns];
  sum_by_halves<most_columns>(first + half, rows - half, width, rest, add);
  for (Index i = 0; i < width; ++i) total[i] += rest[i];
}

struct Value {
  const real* x;
  Vector add(Vector total, Index i) const { return hn::Add(total, hn::LoadU(Tag(), x + i)); }
  real at(Index i) const { return x[i]; }
};
struct Product {
  const real *a, *b;
  Vector add(Vector total, Index i) const {
    return hn::MulAdd(hn::LoadU(Tag(), a + i), hn::LoadU(Tag(), b + i), total);
  }
  real at(Index i) const { return a[i] * b[i]; }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
