#include "machine_limits.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "peak.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The best of several times, in seconds: what the machine can do, not what it does on average. The
// first is not counted: it may touch fresh memory.
template <class Body>
double best_seconds(double enough, const Body& body) {
  body();
  double best = std::numeric_limits<double>::infinity(), total = 0;
  while (total < enough) {
    const auto begin = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

// The rate of rounds on all threads, in operations per second. round() returns its number of them.
template <class Round>
double peak_of(const Round& round) {
  constexpr Index rounds = 1 << 18;
  double operations = 0;
  const double seconds = best_seconds(0.3, [&] {
    parallel_for(threads(), [&](Index thread) {
      const double own = round(rounds);
      if (thread == 0) operations = own;
    });
  });
  return static_cast<double>(threads()) * operations / seconds;
}

// Each thread reads its own part of `bytes` again and again.
double read_bandwidth(double bytes) {
  const Index own = static_cast<Index>(bytes) / threads() / static_cast<Index>(sizeof(real));
  const Index passes = std::max<Index>(1, (Index{1} << 24) / own);
  std::vector<Tensor> parts(static_cast<std::size_t>(threads()));
  for (Tensor& part : parts) part = ones({own});
  std::vector<real> sums(parts.size());
  const double seconds = best_seconds(0.15, [&] {
    parallel_for(threads(), [&](Index thread) {
      for (Index pass = 0; pass < passes; ++pass) sums[thread] += sum_of(parts[thread].data(), own);
    });
  });
  return static_cast<double>(threads() * own * passes) * sizeof(real) / seconds;
}

// a = b + c, on arrays that no cache holds.
double triad_bandwidth(double bytes) {
  const Index count = static_cast<Index>(bytes / 3) / static_cast<Index>(sizeof(real));
  const Tensor b = ones({count}), c = ones({count});
  const double seconds = best_seconds(0.3, [&] { (void)add(b, c); });
  return static_cast<double>(3 * count) * sizeof(real) / seconds;
}

double cache_bytes(int name, double otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<double>(bytes) : otherwise;
}

Limits measure_here() {
  const double l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1e6) * threads();
  const double l3 = std::max(cache_bytes(_SC_LEVEL3_CACHE_SIZE, 8e6), 2 * l2);
  // A cache that many cores share is measured with as much data as two of them would use.
  const double flops = peak_of(multiply_adds);
  // Without instructions of its own, bfloat16 is multiplied as float.
  return {.flops = flops,
          .bfloat16_flops = std::max(flops, peak_of(bfloat16_multiply_adds)),
          .levels = {{"L2", l2, read_bandwidth(l2 / 2)},
                     {"L3", l3, read_bandwidth(std::min(l3 / 2, 8 * l2))},
                     {"memory", std::numeric_limits<double>::max(),
                      triad_bandwidth(std::max(1.5 * l3, 256e6))}}};
}

}  // namespace

Limits measure_limits(int threads) {
  int ends[2];
  expect<Error>(pipe(ends) == 0, "bench: cannot make a pipe");
  const pid_t child = fork();
  expect<Error>(child >= 0, "bench: cannot start a process");
  if (child == 0) {
    set_threads(threads);
    const Limits limits = measure_here();
    nlohmann::json message{{"flops", limits.flops}, {"bfloat16_flops", limits.bfloat16_flops}};
    for (const Limits::Level& level : limits.levels)
      message["levels"].push_back({level.name, level.capacity, level.bandwidth});
    const std::string text = message.dump();
    const bool written =
        write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  expect<Error>(status == 0, "bench: the measurement of the machine's limits failed");
  const nlohmann::json message = nlohmann::json::parse(text);
  Limits limits{
      .flops = message["flops"], .bfloat16_flops = message["bfloat16_flops"], .levels = {}};
  for (const auto& level : message["levels"])
    limits.levels.push_back({level[0], level[1], level[2]});
  return limits;
}

double least_seconds(const Limits& limits, const std::vector<Profile::Kernel>& kernels) {
  double seconds = 0;
  for (const Profile::Kernel& kernel : kernels) {
    const Work& work = kernel.work;
    const auto level =
        std::find_if(limits.levels.begin(), limits.levels.end() - 1,
                     [&](const Limits::Level& each) { return work.bytes <= each.capacity; });
    const double multiplying = (work.flops - work.bfloat16_flops) / limits.flops +
                               work.bfloat16_flops / limits.bfloat16_flops;
    seconds +=
        static_cast<double>(kernel.calls) * std::max(multiplying, work.bytes / level->bandwidth);
  }
  return seconds;
}

std::vector<ProductRate> measure_products() {
  // mlp, mlp_b4, mlp_b32, an LSTM's step and its weight gradient, a Transformer's, and squares
  const std::vector<std::array<Index, 3>> shapes{
      {64, 64, 64},     {256, 256, 256},  {1024, 1024, 1024}, {128, 1024, 784},
      {4, 1024, 1024},  {32, 1024, 784},  {32, 2048, 512},    {512, 2048, 2048},
      {2048, 512, 128}, {2048, 384, 128}, {1024, 1536, 384},  {128, 512, 2048}};
  std::vector<ProductRate> rates;
  Random random(1);
  for (const auto& [m, n, k] : shapes) {
    const Tensor a = random.normal({m, k}), b = random.normal({k, n});
    const Index repeats = std::max<Index>(1, (Index{1} << 24) / (m * n * k));
    const double seconds = best_seconds(0.1, [&, a = a, b = b] {
      for (Index i = 0; i < repeats; ++i) (void)matmul(a, b);
    });
    rates.push_back({m, n, k, 2.0 * static_cast<double>(m * n * k * repeats) / seconds});
  }
  return rates;
}

}  // namespace tapegrad::bench
