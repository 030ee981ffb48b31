#include "tapegrad/ops/kernels/reduce.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "support/restore_threads.h"
#include "support/sections.h"
#include "support/values.h"
#include "tapegrad/core/random.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("the greatest of a row is found wherever it is", "[kernels]") {
  CHECK(kernels::reduce().max(nullptr, 0) == -infinity);
  for (Index count = 1; count < 70; ++count)
    for (Index at = 0; at < count; ++at) {
      std::vector<real> x(count, -2);
      x[at] = -1;
      REQUIRE(kernels::reduce().max(x.data(), count) == -1);
      x[at] = no_number;
      REQUIRE(std::isnan(kernels::reduce().max(x.data(), count)));
    }
}

TEST_CASE("many rows are added, whatever their number and length", "[kernels]") {
  const Index stride = 601;
  for (const Index rows : {0, 1, 7, 8, 9, 128, 129, 255, 256, 257, 700})
    for (const Index count : {0, 1, 15, 33, 256, 257, 601}) {
      INFO(rows << " rows of " << count);
      std::vector<real> x(rows * stride), expected(count, 0), found(count + 1, 0.5);
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < stride; ++i) x[r * stride + i] = static_cast<real>((r * 31 + i) % 97);
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < count; ++i) expected[i] += x[r * stride + i];  // whole: exact
      kernels::reduce().sum_columns(x.data(), rows, stride, found.data(), count);
      CHECK(found.back() == 0.5);
      found.pop_back();
      CHECK(found == expected);
    }
}

TEST_CASE("the columns of a sum are divided among the threads, with the same bits", "[kernels]") {
  const RestoreThreads restore;
  Random random(3);
  for (const Index columns : {264, 512, 1000}) {
    const Tensor x = random.normal({2, 1000, columns});
    std::vector<real> total(2 * columns);
    const auto sum = [&] { kernels::sum({2, 1000, columns}, x.data(), total.data()); };
    set_threads(1);
    sum();
    const std::vector<real> alone = total;
    for (const int threads : {2, 3, 8, 16}) {
      INFO(columns << " columns, " << threads << " threads");
      set_threads(threads);
      const std::vector<Index> tasks = sections_of(sum);
      REQUIRE(tasks.size() == 1);
      CHECK(tasks[0] >= threads);
      CHECK(total == alone);
    }
  }
}
