#include <memory>

#include "rows.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::bench {

BenchRow overhead() {
  constexpr int chain_length = 1000;
  const auto prepare = []() -> std::function<void()> {
    Random random(1);
    // With other factors, products would vanish along the chain: each subnormal number costs the
    // processor some hundred cycles.
    const Tensor factor({8}, {1, -1, 1, -1, 1, -1, 1, -1});
    const Tensor start = random.normal({8}), seed = ones({8});
    return [=] {
      const Tape tape;
      const Tensor x = watch(start);
      Tensor y = x;
      for (int i = 0; i < chain_length / 2; ++i) y = y * factor + x;
      grad(y, x, {.seed = seed});
    };
  };
  return {"overhead", prepare, chain_length};
}

}  // namespace tapegrad::bench
