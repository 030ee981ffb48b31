#include "tapegrad/core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"

namespace tapegrad {
namespace {

// The upper 53 bits of two words as a number from [0, 1).
double unit(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

thread_local RandomJournal* journal = nullptr;  // the innermost in scope

}  // namespace

std::array<std::uint32_t, 4> Random::block(std::uint64_t n) const {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32),
                                 0, 0};
  auto k0 = static_cast<std::uint32_t>(seed_), k1 = static_cast<std::uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0],
                        p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

std::uint64_t Random::advance(std::uint64_t blocks) {
  for (RandomJournal* each = journal; each != nullptr; each = each->outer_) each->note(*this);
  return std::exchange(position_, position_ + blocks);
}

// Every element takes half a block: two elements from one.
template <class Fill>
Tensor Random::fill(const Shape& shape, const Fill& values_of_block) {
  Tensor tensor = Tensor::uninitialized(shape);
  real* values = tensor.mutable_data();
  const Index count = tensor.size(), blocks = (count + 1) / 2;
  const std::uint64_t start = advance(static_cast<std::uint64_t>(blocks));
  parallel_ranges(blocks, 4096, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const auto words = block(start + static_cast<std::uint64_t>(i));
      const auto [first, second] =
          values_of_block(unit(words[0], words[1]), unit(words[2], words[3]));
      values[2 * i] = static_cast<real>(first);
      if (2 * i + 1 < count) values[2 * i + 1] = static_cast<real>(second);
    }
  });
  return tensor;
}

Tensor Random::uniform(const Shape& shape, double low, double high) {
  // In single precision a number just below `high` could round up to it.
  const double last = std::nextafter(static_cast<real>(high), static_cast<real>(low));
  const auto scaled = [=](double u) { return std::min(low + u * (high - low), last); };
  return fill(shape, [=](double u, double v) { return std::pair(scaled(u), scaled(v)); });
}

Tensor Random::normal(const Shape& shape, double mean, double deviation) {
  return fill(shape, [=](double u, double v) {
    const double radius = deviation * std::sqrt(-2 * std::log1p(-u));
    const double angle = 2 * std::numbers::pi * v;
    return std::pair(mean + radius * std::cos(angle), mean + radius * std::sin(angle));
  });
}

Tensor Random::bernoulli(const Shape& shape, double probability) {
  expect(probability >= 0 && probability <= 1, "bernoulli: not a probability: {}", probability);
  return fill(shape, [=](double u, double v) {
    return std::pair(u < probability ? 1.0 : 0.0, v < probability ? 1.0 : 0.0);
  });
}

Indices Random::permutation(Index count) {
  Indices order = Indices::uninitialized({count});
  Index* values = order.mutable_data();
  std::iota(values, values + count, Index{0});
  for (Index i = count - 1; i > 0; --i) std::swap(values[i], values[below(i + 1)]);
  return order;
}

double Random::uniform() {
  const auto words = block(advance(1));
  return unit(words[0], words[1]);
}

Index Random::below(Index count) {
  expect(count >= 1, "below: needs a positive count: {}", count);
  return static_cast<Index>(uniform() * static_cast<double>(count));
}

Random Random::stream(std::uint64_t name) const {
  const auto words = Random(seed_ ^ 0x5851F42D4C957F2D).block(name);
  return Random(std::uint64_t{words[0]} << 32 | words[1]);
}

RandomJournal::RandomJournal() : outer_(std::exchange(journal, this)) {}
RandomJournal::~RandomJournal() { journal = outer_; }

void RandomJournal::note(Random& random) {
  for (const Entry& entry : entries_)
    if (entry.random == &random) return;
  entries_.push_back({&random, random.state()});
}

void Random::restore(const std::array<std::uint64_t, 2>& state) {
  seed_ = state[0];
  position_ = state[1];
}

}  // namespace tapegrad
