#include "tapegrad/train/trainer.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/said.h"
#include "support/scratch.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// A training of two steps with dropout. Returns the exit code of its program.
int trained(std::vector<std::string> arguments, const std::function<void(Task&, Random&)>& change) {
  TrainingFlags flags("toy", "Learns nothing.", {.epochs = 2});
  arguments.insert(arguments.begin(), {"toy", "--quiet"});
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  return flags.run(static_cast<int>(words.size()), words.data(), [&] {
    Trainer trainer(flags);
    Random random(flags.seed);
    const Mlp net({3, 4, 2}, random, {.dropout = 0.5});
    const Tensor x = random.normal({4, 3});
    Task task{.net = fields(net), .steps = RunSteps::epochs(flags.epochs, 1), .loss = [&](Index) {
                return sum(net(x, training(random)));
              }};
    change(task, random);
    return trainer.train(task);
  });
}

}  // namespace

TEST_CASE("streams of random numbers that a checkpoint would lose are refused") {
  const Scratch folder;
  const std::string save = "--save=" + (folder / "net").string();
  const auto nothing = [](Task&, Random&) {};
  CHECK(trained({save}, nothing) == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "net"));
  CHECK(trained({"--dry-run"}, nothing) == 1);
  CHECK(trained({}, nothing) == 0);  // nothing is kept
  CHECK(trained({save}, [](Task& task, Random& random) {
          task.random = {{"dropout", &random}};
        }) == 0);
  CHECK(trained({save + "2"}, [](Task& task, Random& random) {
          task.loss = [loss = task.loss, &random](Index step) {
            Random own = random.stream(static_cast<std::uint64_t>(step));
            return sum(own.normal({2})) * 0.0 + sum(watch(1.0));
          };
        }) == 0);
}

TEST_CASE("weights that are not finite never replace a checkpoint") {
  const Scratch folder;
  const std::string net = (folder / "net").string();
  // Two epochs of three steps on the first parameter. The loss of the last step is 0, and its
  // derivative is not finite.
  const auto diverges = [](Task& task, Random&) {
    const Parameter w = task.net.parameters()[0].parameter;
    task.steps = RunSteps::epochs(2, 3);
    task.loss = {[](Index) { return Index{2}; },
                 [w](Index step, const Shard&, Random&) {
                   return step < 5 ? sum(square(w)) : sum(sqrt(square(w) * 0.0));
                 }};
  };
  const std::vector<std::string> flags{"", "--clip-norm=1", "--ema=0.9", "--shards=2",
                                       "--save-every=1"};
  for (const std::string& flag : flags) {
    CAPTURE(flag);
    std::filesystem::remove(folder / "net");
    std::vector<std::string> words{"--save=" + net};
    if (!flag.empty()) words.push_back(flag);
    int code = 0;
    const std::string said = said_by([&] { code = trained(words, diverges); });
    CHECK(code == 1);
    CHECK_THAT(said, Contains("step 6: save_checkpoint: " + net + ": tensor layers.0.weight has") &&
                         Contains("not finite") &&
                         Contains("nothing was written; lower --lr, limit "
                                  "gradients with --clip-norm"));
    CHECK(checkpoint_notes(net).at("steps_done") == (flag == "--save-every=1" ? "5" : "3"));
  }
}

TEST_CASE("a training resumes on the same files, wherever they lie") {
  const Scratch folder;
  const std::string net = "=" + (folder / "net").string();
  const auto code_with = [&](const std::string& flag, const std::vector<std::string>& digests) {
    TrainingFlags flags("toy", "Learns nothing.", {.epochs = 2});
    std::vector<std::string> words{"toy", "--quiet", flag + net};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return flags.run(3, arguments.data(), [&] {
      Trainer trainer(flags);
      for (const std::string& digest : digests) trainer.uses_data("at " + flag, digest);
      Random random(1);
      const Linear layer(2, 3, random);
      return trainer.train(
          {.net = fields(layer), .steps = RunSteps::epochs(2, 1), .loss = [&](Index) {
             return sum(layer(ones({1, 2})));
           }});
    });
  };
  CHECK(code_with("--save", {"images", "words"}) == 0);
  CHECK(code_with("--resume", {"images", "words"}) == 0);
  CHECK(code_with("--resume", {"images", "other words"}) == 2);
  CHECK(code_with("--resume", {"other images", "words"}) == 2);
}

TEST_CASE("the first step tells of parameters that are not trained, once") {
  const auto losses = [](Task& task, Random&) {
    const Parameter w = task.net.parameters()[0].parameter, forgotten(ones({2}));
    task.steps = RunSteps::epochs(2, 3);
    task.loss = {[](Index) { return Index{2}; },
                 [=](Index, const Shard&, Random&) { return sum(square(w)) + sum(forgotten); }};
  };
  for (const std::string shards : {"--shards=1", "--shards=2"}) {
    int code = 1;
    const std::string said = said_by([&] { code = trained({shards}, losses); });
    CHECK(code == 0);
    CHECK_THAT(said, Contains("visit: it does not list what the tape used: the parameter of shape "
                              "(2) that sum at trainer_test.cpp"));
    CHECK_THAT(said, Contains("does not depend on these parameters, so no gradient reaches them: "
                              "layers.0.bias, layers.3.weight, layers.3.bias\n"));
    CHECK(std::count(said.begin(), said.end(), '\n') == 2);
  }
  CHECK(said_by([&] { trained({}, [](Task&, Random&) {}); }).empty());
}

TEST_CASE("an evaluation and an end without results are nothing to complain about") {
  const auto silent = [](Task& task, Random&) {
    task.evaluate = [] { return Json(); };
    task.finish = [](const Run&) { return Json(); };
  };
  CHECK(trained({}, silent) == 0);
}

TEST_CASE("a batch is trained in shards if its loss can be computed in parts") {
  const auto nothing = [](Task&, Random&) {};
  CHECK(trained({"--shards=1"}, nothing) == 0);
  CHECK(trained({"--shards=2"}, nothing) == 2);  // of the whole batch alone

  const auto in_parts = [](std::vector<Shard>& seen, std::vector<double>& drawn) {
    return [&](Task& task, Random&) {
      task.loss = {[](Index) { return Index{7}; },
                   [&](Index step, const Shard& shard, Random& random) {
                     seen.push_back(shard);
                     drawn.push_back(random.uniform());
                     return watch(static_cast<double>(step + shard.index)) * 1.0;
                   }};
    };
  };
  std::vector<Shard> seen;
  std::vector<double> drawn;
  const Scratch folder;
  CHECK(trained({"--shards=3", "--save=" + (folder / "net").string()}, in_parts(seen, drawn)) == 0);
  REQUIRE(seen.size() == 6);
  const std::vector<Index> ends{2, 4, 7};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(seen[i].begin == (i % 3 == 0 ? 0 : ends[i % 3 - 1]));
    CHECK(seen[i].end == ends[i % 3]);
    for (std::size_t other = 0; other < i; ++other) CHECK(drawn[i] != drawn[other]);
  }
  const std::vector<double> before = drawn;
  drawn.clear();
  CHECK(trained({"--shards=3"}, in_parts(seen, drawn)) == 0);
  CHECK(drawn == before);
  CHECK(trained({"--shards=8"}, in_parts(seen, drawn)) == 2);  // 7 rows
  CHECK(trained({"--shards=3", "--probe", "--log-dir=" + (folder / "log").string()},
                in_parts(seen, drawn)) == 2);
}

TEST_CASE("projections act after each update") {
  int calls = 0;
  const auto project = [&](Task& task, Random& random) {
    task.random = {{"dropout", &random}};
    std::vector<Parameter> all;
    for (const NamedParameter& each : task.net.parameters()) all.push_back(each.parameter);
    task.project = [&, all]() mutable {
      ++calls;
      for (Parameter& each : all) each.set(clamp(each.value(), 0, 0.1));
    };
    task.finish = [all](const Run&) {
      for (const Parameter& each : all) {
        CHECK(min(each.value()).item() > -1e-4);
        CHECK(max(each.value()).item() < 0.1001);
      }
      return Json();
    };
  };
  CHECK(trained({}, project) == 0);
  CHECK(calls == 2);
  CHECK(trained({"--ema=0.00001"}, project) == 0);  // the averages are those of what was projected
}
