#include "tapegrad/cluster/internal/shard_sum.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "cluster/processes.h"
#include "tapegrad/core/random.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// Numbers of very different sizes, so that another order of addition gives another sum.
std::vector<float> numbers_of(Index shard, std::size_t size) {
  Random random = Random(1).stream(static_cast<std::uint64_t>(shard));
  std::vector<float> numbers(size);
  for (float& number : numbers)
    number = static_cast<float>(std::exp(20 * random.uniform()) * (random.uniform() - 0.5));
  return numbers;
}

// By the definition of the order.
std::vector<float> sum_over(Index begin, Index end, std::size_t size) {
  if (end - begin == 1) return numbers_of(begin, size);
  Index left = 1;
  while (2 * left < end - begin) left *= 2;
  std::vector<float> sum = sum_over(begin, begin + left, size);
  const std::vector<float> right = sum_over(begin + left, end, size);
  for (std::size_t i = 0; i < size; ++i) sum[i] += right[i];
  return sum;
}

}  // namespace

TEST_CASE("the tree over shards divides at the largest power of two", "[cluster]") {
  CHECK(Shards{0, 8}.left() == Shards{0, 4});
  CHECK(Shards{0, 5}.left() == Shards{0, 4});
  CHECK(Shards{0, 5}.right() == Shards{4, 5});
  CHECK(Shards{0, 2}.right() == Shards{1, 2});
  CHECK(subtrees_within({0, 8}, {1, 6}) == std::vector<Shards>{{1, 2}, {2, 4}, {4, 6}});
  CHECK(subtrees_within({0, 7}, {4, 7}) == std::vector<Shards>{{4, 7}});
  CHECK(parent_of({0, 7}, {2, 3}) == Shards{2, 4});
  CHECK(parent_of({0, 7}, {6, 7}) == Shards{4, 7});
}

TEST_CASE("every shard belongs to one process", "[cluster]") {
  for (Index size = 1; size <= 9; ++size)
    for (Index shards = size; shards <= 20; ++shards) {
      Index next = 0;
      for (Index rank = 0; rank < size; ++rank) {
        const Shards own = shards_of(rank, size, shards);
        CHECK(own.begin == next);
        CHECK(own.count() >= 1);
        next = own.end;
      }
      CHECK(next == shards);
    }
}

TEST_CASE("processes add in pairs where the tree does", "[cluster]") {
  CHECK(adds_in_pairs(1, 5));
  CHECK(adds_in_pairs(4, 4));
  CHECK(adds_in_pairs(4, 16));
  CHECK(!adds_in_pairs(4, 12));  // the second process has shards 3 to 5, in two subtrees
  CHECK(!adds_in_pairs(3, 8));
}

TEST_CASE("a sum over shards has the same bits for any number of processes", "[cluster]") {
  const std::size_t size = 10'000;
  for (Index shards = 1; shards <= 17; ++shards) {
    const std::vector<float> expected = sum_over(0, shards, size);
    for (Index count = 1; count <= std::min<Index>(shards, 16); ++count) {
      INFO(count << " processes, " << shards << " shards");
      std::vector<std::vector<float>> found(static_cast<std::size_t>(count));
      Processes(count).run([&](Communicator& process) {
        ShardSum<float> sum(process, shards, size);
        const Shards own = shards_of(process.rank(), count, shards);
        for (Index shard = own.begin; shard < own.end; ++shard) {
          const std::vector<float> numbers = numbers_of(shard, size);
          const std::span<float> list = sum.next();
          std::copy(numbers.begin(), numbers.end(), list.begin());
          for (const std::size_t begin : {0, 2, 3, 20})  // one is smaller than the cluster
            sum.ready(begin, begin == 0 ? 2 : begin == 2 ? 3 : begin == 3 ? 20 : size);
        }
        const std::span<const float> all = sum.wait();
        found[static_cast<std::size_t>(process.rank())].assign(all.begin(), all.end());
      });
      for (const std::vector<float>& sum : found) CHECK((sum == expected));
    }
  }
}

TEST_CASE("another order of the shards gives other bits", "[cluster]") {
  std::vector<float> forward = numbers_of(0, 37);
  for (Index shard = 1; shard < 5; ++shard) {
    const std::vector<float> numbers = numbers_of(shard, 37);
    for (std::size_t i = 0; i < 37; ++i) forward[i] += numbers[i];
  }
  CHECK(forward != sum_over(0, 5, 37));
}

TEST_CASE("an empty list has an empty sum", "[cluster]") {
  Processes(2).run([](Communicator& process) {
    ShardSum<float> sum(process, 2, 0);
    sum.next();
    sum.ready(0, 0);
    if (!sum.wait().empty()) std::abort();
  });
}
