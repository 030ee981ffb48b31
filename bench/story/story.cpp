// Measures a training step of a small net with one engine: a workload that tapegrad_mini.h and the
// library both run. engine.h names the engine and what can be switched in it.
// story.py runs this program in all its forms.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine.h"
#include "timing.h"

namespace {

using namespace tapegrad;

// Numbers in [-1, 1) from a small generator, so that every engine sees the same.
struct Numbers {
  std::uint64_t state = 1;
  double next() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
  }
  Tensor tensor(const Shape& shape, double scale = 1) {
    std::vector<real> values(static_cast<std::size_t>(shape.size()));
    for (real& value : values) value = static_cast<real>(scale * next());
    return Tensor(shape, values);
  }
  Parameter weight(Index in, Index out) {
    return Parameter(tensor({in, out}, 1.7 / std::sqrt(in)));
  }
  Indices ids(const Shape& shape, Index below) {
    std::vector<Index> values(static_cast<std::size_t>(shape.size()));
    for (Index& value : values)
      value = static_cast<Index>((next() + 1) / 2 * static_cast<double>(below));
    return Indices(shape, values);
  }
};

struct Workload {
  std::vector<Parameter> parameters;
  std::function<Tensor()> loss;
};

// Two hidden layers of 256 units with layer normalization, on 32 images of 28 x 28 pixels.
Workload mlp(Numbers& numbers) {
  const Parameter first = numbers.weight(784, 256), gain1(ones({256})), bias1(zeros({256})),
                  second = numbers.weight(256, 256), gain2(ones({256})), bias2(zeros({256})),
                  last = numbers.weight(256, 10), bias(zeros({10}));
  const Tensor images = numbers.tensor({32, 784});
  const Indices labels = numbers.ids({32}, 10);
  return {{first, gain1, bias1, second, gain2, bias2, last, bias}, [=] {
            const Tensor h1 = relu(layer_norm(matmul(images, first)) * gain1 + bias1);
            const Tensor h2 = relu(layer_norm(matmul(h1, second)) * gain2 + bias2);
            return cross_entropy(linear(h2, last, bias), labels);
          }};
}

// 128 units, on 8 texts of 32 characters.
Workload lstm(Numbers& numbers) {
  const Parameter table(numbers.tensor({65, 64})),
      weight_x = numbers.weight(64, 4 * 128), bias_x(zeros({4 * 128})),
      weight_h = numbers.weight(128, 4 * 128), last = numbers.weight(128, 65), bias(zeros({65}));
  const Indices ids = numbers.ids({32, 8}, 65), targets = numbers.ids({32, 8}, 65);
  return {{table, weight_x, bias_x, weight_h, last, bias}, [=] {
            const Tensor inputs = linear(embedding(table, ids), weight_x, bias_x);
            const Tensor none = zeros({8, 128});
            const Tensor h = recurrent(Cell::lstm, inputs, weight_h, {none, none}).outputs;
            return cross_entropy(linear(h, last, bias), targets);
          }};
}

// Two causal blocks of 128 channels and 4 heads, on 2 texts of 64 characters.
Workload transformer(Numbers& numbers) {
  struct Block {
    Parameter q, k, v, out, up, up_bias, down, down_bias;
  };
  const Parameter table(numbers.tensor({65, 128})), positions(numbers.tensor({64, 128}));
  std::vector<Block> blocks;
  std::vector<Parameter> parameters{table, positions};
  for (int i = 0; i < 2; ++i) {
    const Block& b = blocks.emplace_back(Block{numbers.weight(128, 128), numbers.weight(128, 128),
                                               numbers.weight(128, 128), numbers.weight(128, 128),
                                               numbers.weight(128, 512), Parameter(zeros({512})),
                                               numbers.weight(512, 128), Parameter(zeros({128}))});
    parameters.insert(parameters.end(),
                      {b.q, b.k, b.v, b.out, b.up, b.up_bias, b.down, b.down_bias});
  }
  const Parameter last = numbers.weight(128, 65), bias(zeros({65}));
  parameters.insert(parameters.end(), {last, bias});
  const Indices ids = numbers.ids({2, 64}, 65), targets = numbers.ids({2, 64}, 65);
  return {parameters, [=] {
            Tensor x = embedding(table, ids) + positions;
            for (const Block& b : blocks) {
              const Tensor n = layer_norm(x);
              x += matmul(attention(matmul(n, b.q), matmul(n, b.k), matmul(n, b.v),
                                    {.heads = 4, .causal = true}),
                          b.out);
              x += linear(gelu_tanh(linear(layer_norm(x), b.up, b.up_bias)), b.down, b.down_bias);
            }
            return cross_entropy(linear(layer_norm(x), last, bias), targets);
          }};
}

// A number that another bit in any parameter changes.
std::uint32_t fingerprint(const std::vector<Parameter>& parameters) {
  std::uint32_t sum = 2166136261u;
  for (const Parameter& each : parameters)
    for (const real value : each.value().values())
      sum = (sum ^ std::bit_cast<std::uint32_t>(value)) * 16777619u;
  return sum;
}

int measure(const std::string& name, const Switches& switches) {
  Numbers numbers;
  const Workload work = name == "mlp"    ? mlp(numbers)
                        : name == "lstm" ? lstm(numbers)
                                         : transformer(numbers);
  const std::string instructions = switches.apply();
  Adam adam(work.parameters);
  double loss = 0;
  const std::function<void()> step = [&] {
    switches.run([&] {
      const Tape tape;
      const Tensor now = work.loss();
      loss = now.item();
      adam.step(grad(now, work.parameters));
    });
  };
  for (int i = 0; i < 5; ++i) step();
  const double fifth = loss;
  const std::uint32_t bits = fingerprint(work.parameters);
  const bench::Timing timing = bench::measure(step);
  std::printf(
      "{\"ms\": %.4g, \"processor_ms\": %.4g, \"mb\": %.4g, \"loss\": %.7g, \"bits\": %u, "
      "\"instructions\": \"%s\"}\n",
      timing.median, timing.processor, bench::peak_megabytes(), fifth, bits, instructions.c_str());
  return 0;
}

}  // namespace

// WORKLOAD THREADS FUSED REUSE: mlp, lstm or transformer; a number; 1 or 0, each.
int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    return measure(argv[1],
                   {std::stoi(argv[2]), argv[3] == std::string("1"), argv[4] == std::string("1")});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
