#include <catch2/catch.hpp>

#include <malloc.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/restore_threads.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/models/char_rnn.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using testing::RestoreThreads;

namespace {

// Bytes of a tensor's block, as the pool rounds them.
std::size_t block(const Shape& shape) {
  return Storage::allocate(static_cast<std::size_t>(shape.size()) * sizeof(real)).capacity();
}

// The memory of this process that is in use, in bytes.
double resident() {
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return static_cast<double>(sysconf(_SC_PAGESIZE)) * pages;
}

struct DeepNet {
  Parameter first, second;
  explicit DeepNet(Random& random)
      : first(random.normal({64, 128}, 0, 0.1)), second(random.normal({128, 10}, 0, 0.1)) {}
  Tensor operator()(const Tensor& x) const {
    return matmul(relu(layer_norm(matmul(x, first))), second);
  }
};

}  // namespace

TEST_CASE("a tape holds what its rules need and no more", "[memory]") {
  Random random(1);
  const Parameter weight(random.normal({64, 128})), bias(random.normal({128}));
  const Tensor input = random.normal({32, 64});
  const Tape tape;
  SECTION("a linear layer: its input and its weight") {
    const Tensor y = matmul(watch(input), weight) + bias;
    CHECK(tape.bytes() == block({32, 64}) + block({64, 128}));
  }
  SECTION("a linear layer on data: only its input") {
    const Tensor y = matmul(input, weight) + bias;
    CHECK(tape.bytes() == block({32, 64}));
  }
  SECTION("layer_norm: its input for second derivatives, its output and two factors a row") {
    const Tensor y = layer_norm(watch(input));
    CHECK(tape.bytes() == 2 * block({32, 64}) + block({32, 2}));
  }
  SECTION("a chain of products: each factor once") {
    Tensor y = watch(random.normal({16, 16}));
    const Tensor x = y;
    for (int i = 0; i < 4; ++i) y = matmul(y, x);
    CHECK(tape.bytes() == 4 * block({16, 16}));
  }
  SECTION("nothing after the sweep") {
    const Tensor loss = sum(matmul(input, weight));
    grad(loss, std::vector{weight});
    CHECK(tape.bytes() == 0);
  }
}

TEST_CASE("a training loop asks the system for nothing once it is warm", "[memory]") {
  const int before = threads(), count = GENERATE(1, 2);
  set_threads(count);
  Random random(1);
  DeepNet net(random);
  std::vector<Parameter> parameters{net.first, net.second};
  const Tensor x = random.normal({32, 64});
  const Indices labels({32}, std::vector<Index>(32, 3));
  const auto heap = [] { return mallinfo2().arena + mallinfo2().hblkhd; };
  std::int32_t nodes = 0;
  const real* address = nullptr;
  // A second thread warms up with its first tile, whenever it gets one; one alone within 30 steps.
  constexpr int enough = 20;
  int idle_steps = 0, step = 0;
  while (step < 50 || (idle_steps < enough && count > 1 && step < 1000)) {
    ++step;
    const std::int64_t allocations = memory_use().allocations;
    const std::size_t heap_before = heap();
    const Tape tape;
    const std::vector<Tensor> gradients = grad(cross_entropy(net(x), labels), parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      real* values = parameters[i].mutable_data();
      for (Index j = 0; j < gradients[i].size(); ++j)
        values[j] -= real{0.01} * gradients[i].data()[j];
    }
    const bool idle = memory_use().allocations == allocations && heap() == heap_before;
    idle_steps = idle ? idle_steps + 1 : 0;
    if (step == 2) {
      nodes = tape.size();
      address = net.second.value().data();  // which a rule held
    }
    if (step > 2) REQUIRE(tape.size() == nodes);
  }
  set_threads(before);
  CHECK(idle_steps >= enough);
  CHECK(net.second.value().data() == address);  // updated in place, not copied
}

TEST_CASE("a tensor takes the memory that its values need", "[memory]") {
  // Three megabytes: with nothing but huge pages of two megabytes it would be four.
  constexpr Index count = 3 * (Index{1} << 20) / static_cast<Index>(sizeof(real));
  std::vector<Tensor> tensors;
  // What earlier tests held goes back first.
  for (int step = 0; step < 2000; ++step) {
    const Tape tape;
    square(watch(ones({1})));
  }
  malloc_trim(0);
  const double before = resident();
  for (int i = 0; i < 20; ++i) tensors.push_back(ones({count}));
  CHECK((resident() - before) / (20 * count * sizeof(real)) == Approx(1.0).margin(0.2));
}

TEST_CASE("what goes back to the system leaves memory, between blocks in use too", "[memory]") {
  constexpr std::size_t bytes = 100'000;  // less than malloc would map
  constexpr int count = 500;
  std::vector<Storage> kept, given_back;
  for (int i = 0; i < count; ++i) {
    given_back.push_back(Storage::allocate(bytes));
    std::memset(given_back.back().data(), 1, bytes);
    kept.push_back(Storage::allocate(1000));
  }
  const double before = resident();
  given_back.clear();
  for (int step = 0; step < 5000; ++step) const Tape tape;  // forget the large step
  CHECK(before - resident() > 0.9 * count * bytes);
}

TEST_CASE("costs grow linearly with the length of a sequence", "[memory]") {
  // The bytes allocated in total would grow quadratically if each slice's gradient had the size of
  // the whole; the number of nodes would if an inner sweep walked the whole tape.
  const auto nodes_of_recorded_sweep = [](Index steps) {
    const Tape tape;
    const Tensor x = watch(ones({4, 8}));
    Tensor y = x;
    for (Index i = 0; i < steps; ++i) y = layer_norm(y + x);
    const Tensor dx = grad(sum(square(y)), x, {.record = true});
    return tape.size();
  };
  const std::int32_t n10 = nodes_of_recorded_sweep(10), n20 = nodes_of_recorded_sweep(20),
                     n40 = nodes_of_recorded_sweep(40);
  CHECK(n40 - n20 == 2 * (n20 - n10));

  const auto nodes_of_slices = [](Index steps) {
    const Tape tape;
    const Tensor x = watch(ones({steps, 8}));
    Tensor total = zeros({8});
    for (Index i = 0; i < steps; ++i) total = total + square(select(x, i));
    const Tensor dx = grad(sum(total), x, {.record = true});
    CHECK(dx.values()[0] == 2);
    return std::pair(tape.size(), tape.bytes());
  };
  const auto s10 = nodes_of_slices(100), s20 = nodes_of_slices(200), s40 = nodes_of_slices(400);
  CHECK(s40.first - s20.first == 2 * (s20.first - s10.first));
  CHECK(static_cast<double>(s40.second) < 2.2 * static_cast<double>(s20.second));
}

TEST_CASE("steps 2 and 50 of a training loop write the same tape and allocate nothing new",
          "[nn][memory]") {
  const auto check = [](const auto& net) {
    Random random(5);
    Adam adam(parameters(net));
    const Tensor images = random.uniform({2, 1, 28, 28});
    std::int32_t nodes = 0;
    std::int64_t before = 0;
    for (int step = 1; step <= 50; ++step) {
      if (step == 50) before = memory_use().allocations;
      const Tape tape;
      const Tensor loss = cross_entropy(net(images, training(random)), Indices({2}, {3, 7}));
      adam.step(grad(loss, adam.parameters()));
      if (step == 2) nodes = tape.size();
      if (step == 50) CHECK(tape.size() == nodes);
    }
    CHECK(memory_use().allocations == before);
  };
  Random random(1);
  const RestoreThreads one;  // with several, chance decides whose pool serves a tile
  set_threads(1);
  SECTION("mlp") { check(Mlp({784, 32, 32, 10}, random, {.norm = "layer", .dropout = 0.1})); }
  SECTION("conv_net") { check(ConvNet(random, {.hidden_norm = "layer", .dropout = 0.1})); }
}

TEST_CASE("generation asks the system for memory only as its caches and scores grow",
          "[nn][memory]") {
  Random random(1);
  const RestoreThreads one;
  set_threads(1);
  const auto steps_that_allocate = [&](const auto& next) {
    Indices last({2}, {0, 0});
    int count = 0;
    for (int step = 1; step <= 500; ++step) {
      const std::int64_t before = memory_use().allocations;
      last = random.categorical(softmax(reshape(next(last), {2, 16})));
      count += step > 2 && memory_use().allocations != before;
    }
    return count;
  };
  SECTION("an LSTM") {
    const CharRnn net(16, random, {.embedding = 8, .hidden = 8});
    std::vector<RecurrentState> states;
    CHECK(steps_that_allocate([&](const Indices& last) {
            const auto [logits, now] = net(last.reshape({1, 2}), states);
            states = now;
            return logits;
          }) == 0);
  }
  SECTION("a Transformer") {
    const TransformerLm net(16, random,
                            {.stack = {.layers = 2, .heads = 2, .channels = 8}, .length = 500});
    std::vector<AttentionCache> caches;
    // While 500 keys double nine times, a cache does so once, and scores pass four sizes of blocks.
    CHECK(steps_that_allocate([&](const Indices& last) {
            return net(last.reshape({2, 1}), {}, &caches);
          }) <= 9 * 5);
  }
}

// Hidden, since sanitizers would take minutes: a test of its own (tests/CMakeLists.txt) runs it.
TEST_CASE("nothing grows over 100,000 steps of many shapes", "[.soak]") {
  const RestoreThreads restored;
  set_threads(GENERATE(1, 2));
  Random random(1);
  const CharRnn rnn(16, random, {.embedding = 8, .hidden = 8, .recurrent = {.norm = "layer"}});
  const TransformerLm transformer(
      16, random, {.stack = {.layers = 1, .heads = 2, .channels = 8}, .length = 12});
  Adam rnn_adam(parameters(rnn)), transformer_adam(parameters(transformer));
  const auto step = [&](Index rows, Index columns) {
    const Indices ids({rows, columns},
                      std::vector<Index>(static_cast<std::size_t>(rows * columns), 3));
    const Tape tape;
    rnn_adam.step(grad(cross_entropy(rnn(ids).logits, ids), rnn_adam.parameters()));
    transformer_adam.step(
        grad(cross_entropy(transformer(ids), ids), transformer_adam.parameters()));
  };
  struct Use {
    std::int64_t storage = 0;  // that this process has requested, in bytes
    std::size_t heap = 0;      // all that malloc has given out, in bytes
  };
  const auto largest_use = [&](Index steps) {
    Use use;
    for (Index i = 0; i < steps; ++i) {
      step(1 + i % 12, 1 + i / 12 % 4);
      use = {std::max(use.storage, memory_use().bytes), std::max(use.heap, mallinfo2().uordblks)};
    }
    return use;
  };
  const Use first = largest_use(10'000);
  largest_use(80'000);
  const Use last = largest_use(10'000);
  // Where malloc finds room varies for a while. A leak would be of at least a byte a step.
  CHECK(last.storage < first.storage + 90'000);
  CHECK(last.heap < first.heap + 90'000);
}
