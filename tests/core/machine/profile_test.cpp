#include "tapegrad/core/machine/profile.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include "ops/table.h"
#include "support/golden.h"
#include "support/restore_threads.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/nn/optimizers/gradients.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

namespace {

Profile::Entry entry(const Profile& profile, const std::string& name) {
  for (const Profile::Entry& each : profile.entries())
    if (each.name == name) return each;
  return {};
}

double bytes_of_all(const Profile& profile) {
  double bytes = 0;
  for (const auto& [work, calls] : profile.kernels())
    bytes += static_cast<double>(calls) * work.bytes;
  return bytes;
}

// Writes down what a profile reports: "3(..." are the tasks of a section.
struct ObserverLog : Profile::Observer {
  void section_began(Index tasks) override { text += std::to_string(tasks) + "("; }
  void task_ended() override { text += "."; }
  void operation_ended(const std::string& name) override { text += " " + name + "; "; }
  std::string text;
};

}  // namespace

TEST_CASE("a profile knows the work of products, forward and backward", "[profile]") {
  Random random(1);
  const Tensor a = random.normal({3, 5}), b = random.normal({5, 7});
  Profile profile;
  {
    const Profile::Scope measured(profile);
    const Tape tape;
    const Tensor x = watch(a), w = watch(b);
    grad(sum(matmul(x, w)), {x, w});
  }
  CHECK(entry(profile, "matmul").calls == 1);
  CHECK(entry(profile, "matmul").work.flops == 2 * 3 * 5 * 7);
  CHECK(entry(profile, "matmul").work.bytes == sizeof(real) * (15 + 35 + 21));
  CHECK(entry(profile, "matmul backward").work.flops == 4 * 3 * 5 * 7);
  CHECK(entry(profile, "sum backward").calls == 1);
  CHECK(entry(profile, "matmul").work.bfloat16_flops == 0);
}

TEST_CASE("a profile counts products in bfloat16 and in full precision apart", "[profile]") {
  const Tensor x = ones({2, 6, 4}), w = ones({4, 5});
  Profile profile;
  {
    const Profile::Scope measured(profile);
    matmul(x, w);
    const PrecisionScope scope(Precision::bfloat16);
    matmul(x, w);
    attention(x, x, x, {.heads = 2});
  }
  const Work products = entry(profile, "matmul").work, pairs = entry(profile, "attention").work;
  CHECK(products.flops == 2 * 2 * 12 * 4 * 5);
  CHECK(products.bfloat16_flops == products.flops / 2);
  CHECK(pairs.flops == 2 * 2 * 2 * (2 * 6 * 6 * 2));
  CHECK(pairs.bfloat16_flops == pairs.flops);
}

TEST_CASE("the times of a profile add up to the times of its scopes", "[profile]") {
  using Clock = std::chrono::steady_clock;
  const Tensor a = ones({512, 512});
  Profile profile;
  const auto begin = Clock::now();
  for (int i = 0; i < 3; ++i) {
    const Profile::Scope measured(profile);
    exp(matmul(a, a));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const double whole = std::chrono::duration<double>(Clock::now() - begin).count();
  double total = 0;
  for (const Profile::Entry& each : profile.entries()) total += each.seconds;
  CHECK(total <= whole);
  CHECK(total >= 0.015);  // what the three scopes slept
  CHECK(profile.scopes() == 3);
  CHECK(entry(profile, "rest").calls == 3);
  CHECK(profile.entries().front().seconds >= profile.entries().back().seconds);
  CHECK(to_string(profile).find("matmul") != std::string::npos);
}

TEST_CASE("nothing is measured out of scope", "[profile]") {
  Profile profile;
  exp(ones({8}));
  CHECK(Profile::active() == nullptr);
  CHECK(profile.entries().empty());
  {
    const Profile::Scope measured(profile);
    Profile other;
    const Profile::Scope inner(other);
    exp(ones({8}));
    CHECK(entry(other, "exp").calls == 1);
  }
  CHECK(entry(profile, "exp").calls == 0);
}

TEST_CASE("an observer learns of sections, tasks and operations", "[profile]") {
  const testing::RestoreThreads restore;
  const auto run = [](int threads) {
    set_threads(threads);
    ObserverLog log;
    Profile profile(&log);
    const Tensor values = ones({2, elements_per_tile});
    {
      const Profile::Scope measured(profile);
      const Tape tape;
      const Tensor x = watch(values);
      parallel_for(3, [](Index task) {
        if (task == 1) parallel_for(2, [](Index) {});
      });
      grad(sum(exp(x)), {x});
    }
    parallel_for(2, [](Index) {});  // out of scope
    return log.text;
  };
  for (const int threads : {1, 2})
    CHECK(run(threads) ==
          "3(.2(....2(.. exp; 2(.. sum; 2(.. sum backward; 2(.. exp backward;  rest; ");
}

TEST_CASE("optimizers and clipping have entries of their own", "[profile]") {
  const Parameter w(ones({100}));
  Adam adam({w});
  Profile profile;
  {
    const Profile::Scope measured(profile);
    std::vector<Tensor> gradients{full({100}, 3)};
    clip_by_global_norm(gradients, 1);
    adam.step(gradients);
  }
  CHECK(entry(profile, "clip_by_global_norm").calls == 1);
  CHECK(entry(profile, "mul").calls == 0);
  // w, the gradient and two moments are read; w and the moments are written
  CHECK(entry(profile, "optimizer").work.bytes == 7 * 100 * sizeof(real));
}

TEST_CASE("a recurrent sequence counts its products", "[profile]") {
  Random random(1);
  const Index T = 5, B = 3, H = 4;
  const Tensor inputs = random.normal({T, B, 4 * H}), weight = random.normal({H, 4 * H});
  const RecurrentState first{zeros({B, H}), zeros({B, H})};
  Profile profile;
  {
    const Profile::Scope measured(profile);
    const Tape tape;
    const Tensor x = watch(inputs), w = watch(weight);
    grad(sum(recurrent(Cell::lstm, x, w, first).outputs), {x, w});
  }
  const double products = 2 * static_cast<double>(T * B * H * 4 * H);
  CHECK(entry(profile, "recurrent").work.flops == products);
  CHECK(entry(profile, "recurrent backward").work.flops == 2 * products);
}

// An operation whose kernel reports nothing would look like one without work.
TEST_CASE("every operation reports its work", "[profile]") {
  for (const testing::Row& row : testing::table()) {
    if (row.name == "reshape") continue;  // shares the values
    DYNAMIC_SECTION(row.name) {
      const testing::Golden at = testing::golden(row);
      Profile forward, both;
      {
        const Profile::Scope measured(forward);
        row.f(at.inputs);
      }
      {
        const Profile::Scope measured(both);
        vjp(row.f, at.inputs, at.seed);
      }
      Index gradients = 0;
      for (const Tensor& gradient : at.gradients) gradients += gradient.size();
      CHECK(bytes_of_all(forward) >= static_cast<double>(sizeof(real) * at.value.size()));
      CHECK(bytes_of_all(both) - bytes_of_all(forward) >=
            static_cast<double>(sizeof(real) * gradients));
    }
  }
}
