#include "tapegrad/train/trainer.h"

#include <catch2/catch.hpp>

#include "support/scratch.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::testing;

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

TEST_CASE("an evaluation and an end without results are nothing to complain about") {
  const auto silent = [](Task& task, Random&) {
    task.evaluate = [] { return Json(); };
    task.finish = [](const Run&) { return Json(); };
  };
  CHECK(trained({}, silent) == 0);
}
