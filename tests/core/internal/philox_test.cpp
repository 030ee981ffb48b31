#include "tapegrad/core/internal/philox.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

namespace {

// The algorithm word by word, as in the paper's section 3.
std::array<std::uint32_t, 4> block_by_hand(std::uint64_t seed, std::uint64_t n) {
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32),
                                 0, 0};
  std::uint32_t k0 = seed & 0xFFFFFFFF, k1 = seed >> 32;
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0],
                        p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
  }
  return c;
}

}  // namespace

TEST_CASE("Philox draws its authors' numbers", "[random]") {
  std::array<std::uint32_t, 4 * 11> words;
  philox(0, 0, 1, words.data());  // known answers of the Random123 library
  CHECK(words[0] == 0x6627e8d5);
  CHECK(words[1] == 0xe169c58d);
  CHECK(words[2] == 0xbc57ac4c);
  CHECK(words[3] == 0x9b00dbd8);
  for (const std::uint64_t first : {0ull, 0xFFFFFFFBull, 0x123456789ABCDEFull})
    for (const Index blocks : {1, 2, 8, 11}) {
      philox(0xFEDCBA9876543210, first, blocks, words.data());
      for (Index b = 0; b < blocks; ++b) {
        const auto expected = block_by_hand(0xFEDCBA9876543210, first + b);
        for (Index w = 0; w < 4; ++w) REQUIRE(words[4 * b + w] == expected[w]);
      }
    }
}

TEST_CASE("choices are the same in any part and order", "[random]") {
  Random random(7), again(7);
  const Index count = 3001;
  const Tensor all = random.bernoulli({count}, 0.4);
  const Choices choices = again.choices(count, 0.4);
  CHECK(again.state() == random.state());
  std::vector<real> part(count);
  for (const Index first : {2999, 0, 1, 2, 3, 1022, 1023, 1024})
    for (const Index length : {0, 1, 2, 2000}) {
      const Index until = std::min(count, first + length);
      choices.read(first, until - first, 3, part.data());
      for (Index i = first; i < until; ++i) REQUIRE(part[i - first] == 3 * all.data()[i]);
    }
  CHECK(sum(random.bernoulli({1000}, 0)).item() == 0);
  CHECK(sum(random.bernoulli({1000}, 1)).item() == 1000);
}
