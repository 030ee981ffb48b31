#include "tapegrad/core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The upper 53 bits of two words as a number from [0, 1).
double unit(const std::uint32_t* words) {
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

using Block = std::array<std::uint32_t, 4>;
Block block(std::uint64_t seed, std::uint64_t n) {
  Block words;
  philox(seed, n, 1, words.data());
  return words;
}

thread_local RandomJournal* journal = nullptr;  // the innermost in scope

}  // namespace

std::uint64_t Random::advance(std::uint64_t blocks) {
  for (RandomJournal* each = journal; each != nullptr; each = each->innermost_.outer())
    each->note(*this);
  return std::exchange(position_, position_ + blocks);
}

// Each block yields two elements.
template <class Fill>
Tensor Random::fill(const Shape& shape, const Fill& values_of_block) {
  Tensor tensor = Tensor::uninitialized(shape);
  real* values = tensor.mutable_data();
  const Index count = tensor.size(), blocks = (count + 1) / 2;
  const std::uint64_t start = advance(static_cast<std::uint64_t>(blocks));
  parallel_ranges(blocks, 256, [&](Index begin, Index end) {
    std::array<std::uint32_t, 4 * 256> words;
    philox(seed_, start + static_cast<std::uint64_t>(begin), end - begin, words.data());
    for (Index i = begin; i < end; ++i) {
      const std::uint32_t* own = words.data() + 4 * (i - begin);
      const auto [first, second] = values_of_block(unit(own), unit(own + 2));
      values[2 * i] = static_cast<real>(first);
      if (2 * i + 1 < count) values[2 * i + 1] = static_cast<real>(second);
    }
  });
  return tensor;
}

Tensor Random::uniform(const Shape& shape, double low, double high) {
  expect<ArgumentError>(low <= high && std::isfinite(high - low),
                        "uniform: the bounds must be finite and ascending: {}, {}", low, high);
  // In single precision, a number just below `high` could round up to it.
  const double last = std::nextafter(static_cast<real>(high), static_cast<real>(low));
  const auto scaled = [=](double u) { return std::min(low + u * (high - low), last); };
  return fill(shape, [=](double u, double v) { return std::pair(scaled(u), scaled(v)); });
}

Tensor Random::normal(const Shape& shape, double mean, double deviation) {
  expect<ArgumentError>(
      std::isfinite(mean) && deviation >= 0 && std::isfinite(deviation),
      "normal: mean and deviation must be finite, the deviation not negative: {}, {}", mean,
      deviation);
  return fill(shape, [=](double u, double v) {
    const double radius = deviation * std::sqrt(-2 * std::log1p(-u));
    const double angle = 2 * std::numbers::pi * v;
    return std::pair(mean + radius * std::cos(angle), mean + radius * std::sin(angle));
  });
}

Choices Random::choices(Index count, double probability) {
  expect<ArgumentError>(probability >= 0 && probability <= 1,
                        "bernoulli: the probability must lie in [0, 1]: {}", probability);
  expect<ArgumentError>(count >= 0, "choices: count must not be negative: {}", count);
  const auto blocks = static_cast<std::uint64_t>((count + 3) / 4);
  return Choices(seed_, advance(blocks), probability);
}

Tensor Random::bernoulli(const Shape& shape, double probability) {
  Tensor tensor = Tensor::uninitialized(shape);
  real* values = tensor.mutable_data();
  const Choices drawn = choices(shape.size(), probability);
  parallel_ranges(shape.size(), elements_per_tile, [&](Index begin, Index end) {
    drawn.read(begin, end - begin, 1, values + begin);
  });
  return tensor;
}

Indices Random::permutation(Index count) {
  Indices order = Indices::uninitialized({count});
  Index* values = order.mutable_data();
  std::iota(values, values + count, Index{0});
  for (Index i = count - 1; i > 0; --i) std::swap(values[i], values[below(i + 1)]);
  return order;
}

Indices Random::categorical(const Tensor& weights) {
  expect_defined("categorical", weights);
  expect(weights.rank() >= 1, "categorical: needs rows of weights: {}", weights.shape());
  const Index columns = weights.shape()[-1];
  Indices drawn = Indices::uninitialized(weights.shape().without(-1));
  for (Index row = 0; row < drawn.size(); ++row) {
    const std::span<const real> of_row = weights.values().subspan(
        static_cast<std::size_t>(row * columns), static_cast<std::size_t>(columns));
    double total = 0;
    bool valid = true;
    for (const real weight : of_row) total += weight, valid = valid && weight >= 0;
    expect<ArgumentError>(valid && total > 0 && std::isfinite(total),
                          "categorical: the weights of row {} are negative, not finite or all 0",
                          row);
    double left = uniform() * total;
    Index chosen = 0;
    for (Index i = 0; i < columns; ++i) {
      const double weight = of_row[static_cast<std::size_t>(i)];
      if (weight == 0) continue;
      chosen = i;  // the last one with a weight, if rounding leaves something
      if ((left -= weight) < 0) break;
    }
    drawn.mutable_data()[row] = chosen;
  }
  return drawn;
}

double Random::uniform() { return unit(block(seed_, advance(1)).data()); }

Index Random::below(Index count) {
  expect<ArgumentError>(count >= 1, "below: count must be at least 1: {}", count);
  return static_cast<Index>(uniform() * static_cast<double>(count));
}

Random Random::stream(std::uint64_t name) const {
  const Block words = block(seed_ ^ 0x5851F42D4C957F2D, name);
  return Random(std::uint64_t{words[0]} << 32 | words[1]);
}

RandomJournal::RandomJournal() : innermost_(journal, this) {}

void RandomJournal::note(Random& random) {
  for (const Entry& entry : entries_)
    if (*entry.random == &random) return;
  entries_.push_back({random.anchor_.of(random), random.state()});
}

void Random::restore(const std::array<std::uint64_t, 2>& state) {
  seed_ = state[0];
  position_ = state[1];
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
