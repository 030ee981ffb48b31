#include "tapegrad/train/training.h"

#include <catch2/catch.hpp>
#include <set>

#include "support/said.h"
#include "support/scratch.h"
#include "tapegrad/inspect/trace.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a dry run changes nothing and finds what the net does not list") {
  Random random(1);
  const Linear net(3, 4, random);
  const Parameter forgotten(ones({4, 2}));
  const Tensor x = random.normal({5, 3});
  RunFlags flags;
  flags.dry_run = true;
  Training training({}, flags, fields(net), 10);
  const real before = net.weight.value().data()[0];
  CHECK(training.step([&] { return sum(net(x)); }) == Approx(sum(net(x)).item()));
  CHECK(training.optimizer().steps() == 0);
  CHECK(net.weight.value().data()[0] == before);
  CHECK_THROWS_WITH(training.step([&] { return sum(matmul(net(x), forgotten)); }),
                    Contains("parameter of shape (4, 2) that matmul at training_test.cpp"));
}

TEST_CASE("an examined step leaves what was in it, and nothing of the probe's own") {
  Random random(1);
  const testing::Scratch folder;
  const Mlp net({3, 4, 2}, random, {.norm = "layer"});
  const Tensor x = random.normal({5, 3});
  RunFlags flags;
  flags.log_dir = folder / "step";
  Training training({}, flags, fields(net), 10);
  training.examine(2, true);
  const auto step = [&] { training.step([&] { return mean(net(named(x, "x"))); }); };
  step();
  CHECK(!std::filesystem::exists(folder / "step"));
  step();
  CHECK(load_tensors(folder / "step" / batch_file).tensors.at("x").shape() == x.shape());
  std::multiset<std::string> operations;
  for (const TracedValue& one : read_trace(folder / "step" / trace_file).values)
    operations.insert(one.operation);
  CHECK(operations.count("linear") == 2);
  CHECK(operations.count("probe") == 2);
  CHECK(operations.count("permute") == 0);  // of its statistics
}

TEST_CASE("an examined step explains the gradients of what is trained") {
  Random random(1);
  const testing::Scratch folder;
  const Linear body(3, 4, random), head(4, 2, random);
  const Tensor x = random.normal({5, 3});
  RunFlags flags;
  flags.log_dir = folder / "step";
  const auto said = [&](double shift) {
    Training training({}, flags, fields(head), 10);
    training.carries([&](Fields& field) { field("body", body); });
    training.examine(1, false);
    return testing::said_by(
        [&] { training.step([&] { return sum(head(relu(body(x) + shift))); }); });
  };
  CHECK(said(100).empty());
  CHECK_THAT(said(-100), Contains("weight is zero.") && !Contains("body"));
}

TEST_CASE("a dry run reports why gradients are zero") {
  Random random(1);
  const Linear net(3, 4, random);
  const Tensor x = random.normal({5, 3});
  RunFlags flags;
  flags.dry_run = true;
  Training training({}, flags, fields(net), 10);
  CHECK(testing::said_by([&] { training.step([&] { return sum(net(x)); }); }).empty());
  const std::string said =
      testing::said_by([&] { training.step([&] { return sum(relu(net(x) - 100.0)); }); });
  CHECK_THAT(said, Contains("weight is zero.") && Contains("The same holds for bias.") &&
                       Contains("It ends at %4 relu (training_test.cpp:") &&
                       Contains("0 of 20 inputs are positive"));
  CHECK_THAT(testing::said_by([&] { training.step([&] { return sum(x); }); }),
             Contains("does not depend on these parameters"));
}
