#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <functional>

#include "support/restore_threads.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

Tensor product(In x) { return matmul(x[0], x[1]); }

// Value and gradients of f, the same bits for 1, 2, 3 and 8 threads.
void check_bits(const Function& f, const std::vector<Tensor>& inputs) {
  const RestoreThreads restore;
  std::vector<Tensor> reference;
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    const Tensor value = f(inputs);
    std::vector<Tensor> found = vjp(f, inputs, value);
    found.push_back(value);
    if (reference.empty()) reference = found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(count << " threads, result " << i);
      CHECK(same_bits(found[i], reference[i]));
    }
  }
}

}  // namespace

TEST_CASE("every tile runs once, for any number of threads", "[threads]") {
  const RestoreThreads restore;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    std::vector<std::atomic<int>> visits(1000);
    parallel_ranges(1000, 7, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) ++visits[i];
    });
    for (const auto& visit : visits) REQUIRE(visit == 1);
  }
  CHECK_THROWS_AS(set_threads(0), Error);
}

TEST_CASE("an error in a tile reaches the caller", "[threads]") {
  CHECK_THROWS_AS(parallel_for(100, [](Index i) { expect(i != 57, "tile {}", i); }), ShapeError);
}

TEST_CASE("large products are the same bits for any number of threads", "[threads]") {
  Random random(3);
  SECTION("1024^3") {
    check_bits(product, {random.normal({1024, 1024}), random.normal({1024, 1024})});
  }
  SECTION("2048x512x128") {
    check_bits(product, {random.normal({2048, 128}), random.normal({128, 512})});
  }
}

TEST_CASE("results are the same bits for any number of threads", "[threads]") {
  Random random(3);
  SECTION("matmul ragged") {
    check_bits(product, {random.normal({773, 517}), random.normal({517, 331})});
  }
  SECTION("matmul batched") {
    check_bits(product, {random.normal({6, 130, 70}), random.normal({70, 90})});
  }
  SECTION("conv2d") {
    check_bits([](In x) { return conv2d(x[0], x[1], {.padding = 1}); },
               {random.normal({30, 3, 20, 20}), random.normal({16, 3, 3, 3})});
  }
  SECTION("reductions") {
    check_bits([](In x) { return sum(x[0]) + sum(x[0], 0) + logsumexp(x[0], 1, Keep::yes); },
               {random.normal({700, 901})});
  }
  SECTION("normalization and softmax") {
    check_bits([](In x) { return softmax(layer_norm(tanh(x[0]) * x[1])); },
               {random.normal({513, 700}), random.normal({700})});
  }
  SECTION("a layer-normalized LSTM") {
    const RecurrentNorms norms{.product = {.statistics = NormOptions{}},
                               .cell = {.statistics = NormOptions{}}};
    check_bits(
        [&](In x) {
          return recurrent(Cell::lstm, x[0], x[1], {x[2], x[3]}, norms).outputs;
        },
        {random.normal({9, 37, 4 * 70}), random.normal({70, 4 * 70}), random.normal({37, 70}),
         random.normal({37, 70})});
  }
  SECTION("attention") {
    check_bits([](In x) { return self_attention(gelu(x[0]), {.heads = 3, .causal = true}); },
               {random.normal({5, 70, 3 * 48})});
  }
  SECTION("attention of one head") {
    check_bits([](In x) { return self_attention(gelu(x[0]), {.heads = 1, .causal = true}); },
               {random.normal({1, 900, 3 * 16})});
  }
  SECTION("random numbers") {
    const RestoreThreads restore;
    set_threads(1);
    const Tensor one = Random(7).normal({100'001});
    set_threads(2);
    CHECK(same_bits(one, Random(7).normal({100'001})));
  }
}
