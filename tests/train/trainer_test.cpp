#include "tapegrad/train/trainer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "support/files.h"
#include "support/said.h"
#include "support/scratch.h"
#include "tapegrad/train.h"
#include "tapegrad/train/json.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// A run of two steps with dropout. Returns the exit code of its program.
int trained(std::vector<std::string> arguments,
            const std::function<void(Learner&, Random&)>& change) {
  TrainingFlags flags("toy", "Learns nothing.", {.epochs = 2});
  arguments.insert(arguments.begin(), {"toy", "--quiet"});
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  return flags.run(static_cast<int>(words.size()), words.data(), [&](Trainer& trainer) {
    Random random(flags.seed);
    const Mlp net({3, 4, 2}, random, {.dropout = 0.5});
    const Tensor x = random.normal({4, 3});
    Learner learner{.net = fields(net),
                    .steps = RunSteps::epochs(flags.epochs, 1),
                    .loss = [&](Index) { return sum(net(x, training(random))); }};
    change(learner, random);
    return trainer.train(learner);
  });
}

}  // namespace

TEST_CASE("streams of random numbers that a checkpoint would lose are refused") {
  const Scratch folder;
  const std::string save = "--save=" + (folder / "net").string();
  const auto nothing = [](Learner&, Random&) {};
  CHECK(trained({save}, nothing) == 1);
  CHECK_FALSE(std::filesystem::exists(folder / "net"));
  CHECK(trained({"--dry-run"}, nothing) == 1);
  CHECK(trained({}, nothing) == 0);  // nothing is kept
  CHECK(trained({save}, [](Learner& learner, Random& random) {
          learner.random = {{"dropout", &random}};
        }) == 0);
  CHECK(trained({save + "2"}, [](Learner& learner, Random& random) {
          learner.loss = [loss = learner.loss, &random](Index step) {
            Random own = random.stream(static_cast<std::uint64_t>(step));
            return sum(own.normal({2})) * 0.0 + sum(watch(1.0));
          };
        }) == 0);
}

TEST_CASE("what a run writes is its own until it ends") {
  const Scratch folder;
  std::filesystem::create_directory(folder / "there");
  std::filesystem::create_symlink(folder / "there", folder / "link");
  const auto named = [&](const char* flag, const char* name) {
    return fmt::format("{}={}", flag, (folder / name).string());
  };
  const auto nothing = [](Learner&, Random&) {};
  // Begins a second run at the end of each epoch of the first; returns what it writes.
  const auto beside = [&](const std::string& flag, const std::string& other_flag) {
    int code = 0;
    std::string said;
    const auto evaluates = [&](Learner& learner, Random& random) {
      learner.random = {{"dropout", &random}};
      learner.validate = [&] {
        said = said_by([&] { code = trained({other_flag, "--lr=0.5"}, nothing); });
        return Metrics();
      };
    };
    CHECK(trained({flag}, evaluates) == 0);
    CHECK(code == (said.empty() ? 0 : 2));
    return said;
  };
  CHECK_THAT(beside(named("--log-dir", "there"), named("--log-dir", "link")),
             Contains("--log-dir: another run, which has not ended, writes to"));
  CHECK(read_text(folder / "there" / "config.json").find("\"lr\": 0.001") != std::string::npos);
  CHECK_THAT(beside(named("--save", "net"), named("--save", "link/../net")),
             Contains("--save: ") && Contains("net"));
  CHECK(beside(named("--log-dir", "there"), named("--log-dir", "other")).empty());
  // A run that ends while this one reads its data.
  CHECK(trained({named("--save", "late")}, [&](Learner& learner, Random& random) {
          learner.random = {{"dropout", &random}};
          write_file(folder / "late", bytes_of({1}));
        }) == 2);
  CHECK(bytes_in(folder / "late") == bytes_of({1}));
  CHECK(trained({named("--log-dir", "there")}, nothing) == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "net.lock"));
}

TEST_CASE("weights that are not finite never replace a checkpoint") {
  const Scratch folder;
  const std::string net = (folder / "net").string();
  // Two epochs of three steps on the first parameter. The loss of the last step is 0, and its
  // derivative is not finite.
  const auto diverges = [](Learner& learner, Random&) {
    const Parameter w = learner.net.parameters()[0].parameter;
    learner.steps = RunSteps::epochs(2, 3);
    learner.loss = {[](Index) { return Index{2}; },
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

TEST_CASE("a save on the way ends a run whose weights are not finite, whatever the loss") {
  const Scratch folder;
  const std::string net = (folder / "net").string();
  // The third step breaks the first parameter, which no later loss shows.
  const auto diverges = [](Learner& learner, Random&) {
    const Parameter w = learner.net.parameters()[0].parameter;
    learner.steps = RunSteps::epochs(2, 3);
    learner.loss = [w](Index step) {
      return step == 2 ? sum(sqrt(square(w) * 0.0)) : sum(where(zeros({1}), w, 0.0));
    };
  };
  int code = 0;
  const std::string said = said_by([&] {
    code = trained({"--save=" + net, "--save-every=1"}, diverges);
  });
  CHECK(code == 1);
  CHECK_THAT(said, Contains("toy: step 3: save_checkpoint: ") && !Contains("cannot save"));
  CHECK(checkpoint_notes(net).at("steps_done") == "2");
}

TEST_CASE("the probe leaves out vectors of channels, as it leaves out vectors of features") {
  const Scratch folder;
  const std::string log = (folder / "log").string();
  Random random(1);
  const Conv2d layer(1, 4, 3, random);
  CHECK(trained({"--probe", "--log-dir=" + log}, [&](Learner& learner, Random&) {
          learner.net = fields(layer);
          learner.loss = [&](Index) { return sum(square(layer(ones({1, 1, 4, 4})))); };
        }) == 0);
  CHECK_THAT(read_text(log + "/probe_weights.csv"), Contains(",weight,") && !Contains(",bias,"));
}

TEST_CASE("a run resumes on the same files, wherever they lie") {
  const Scratch folder;
  const std::string net = "=" + (folder / "net").string();
  const auto code_with = [&](const std::string& flag, const std::vector<std::string>& digests) {
    TrainingFlags flags("toy", "Learns nothing.", {.epochs = 2});
    std::vector<std::string> words{"toy", "--quiet", flag + net};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return flags.run(3, arguments.data(), [&](Trainer& trainer) {
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

TEST_CASE("the first step reports parameters that are not trained, once") {
  const auto losses = [](Learner& learner, Random&) {
    const Parameter w = learner.net.parameters()[0].parameter, forgotten(ones({2}));
    learner.steps = RunSteps::epochs(2, 3);
    learner.loss = {[](Index) { return Index{2}; },
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
  CHECK(said_by([&] { trained({}, [](Learner&, Random&) {}); }).empty());
}

TEST_CASE("a dry run shows which layers share their parameters") {
  Random random(1);
  const Linear layer(3, 3, random);
  const Sequential net{layer, relu, layer};
  const auto uses = [&](Learner& learner, Random&) {
    learner.net = fields(net);
    learner.loss = [&](Index) { return sum(net(ones({2, 3}))); };
  };
  const std::string said = said_by([&] { CHECK(trained({"--dry-run"}, uses) == 0); }, stdout);
  CHECK(
      said.find("  layers.2.weight                                 shared with layers.0.weight\n"
                "  layers.2.bias                                   shared with layers.0.bias\n") !=
      std::string::npos);
}

TEST_CASE("the loss may read what is carried and not trained") {
  const Parameter frozen(ones({2}));
  const auto reads = [&](Learner& learner, Random&) {
    learner.net = {};
    const Parameter w(ones({2}));
    learner.net("w", w);
    learner.loss = [=](Index) { return sum(w * frozen); };
    learner.carried = [&](Fields& field) { field("w", frozen); };
  };
  CHECK(said_by([&] { CHECK(trained({}, reads) == 0); }).empty());
  CHECK(frozen.value().data()[0] == 1);
}

TEST_CASE("a metric with the name of a column of the log is refused") {
  for (const char* name : {"step", "seconds", "steps"})
    CHECK(trained({}, [&](Learner& learner, Random&) {
            learner.validate = [name] { return Metrics{{name, 1.0}}; };
          }) == (name == std::string("steps") ? 0 : 1));
}

TEST_CASE("an evaluation and an end without results are nothing to complain about") {
  const auto silent = [](Learner& learner, Random&) {
    learner.validate = [] { return Metrics(); };
    learner.test = [] { return Metrics(); };
  };
  CHECK(trained({}, silent) == 0);
}

TEST_CASE("a batch is trained in shards if its loss can be computed in parts") {
  const auto nothing = [](Learner&, Random&) {};
  CHECK(trained({"--shards=1"}, nothing) == 0);
  CHECK(trained({"--shards=2"}, nothing) == 2);  // of the whole batch alone

  const auto in_parts = [](std::vector<Shard>& seen, std::vector<double>& drawn) {
    return [&](Learner& learner, Random&) {
      learner.loss = {[](Index) { return Index{7}; },
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

TEST_CASE("the mean loss of an epoch is over its rows, whatever the order of the batches") {
  const Scratch folder;
  const Examples losses(Tensor({3}, std::vector<real>{0, 0, 9}));
  const bool in_parts = GENERATE(false, true);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    EpochBatches batches(losses, 2, seed);
    const auto of_batches = [&](Learner& learner, Random&) {
      const Parameter w = learner.net.parameters()[0].parameter;
      learner.steps =
          RunSteps::epochs(200, batches.per_epoch());  // a row of the log for each epoch
      const auto loss = [w](const Tensor& rows) { return mean(rows) + 0 * sum(w); };
      if (in_parts)
        learner.loss = {[&](Index step) { return batches.rows(step); },
                        [&batches, loss](Index step, const Shard& shard, Random&) {
                          return loss(part(std::get<0>(batches.at(step)), shard.begin, shard.end));
                        }};
      else
        learner.loss = {batches, [loss](const auto& batch) { return loss(std::get<0>(batch)); }};
    };
    CHECK(trained({in_parts ? "--shards=2" : "--shards=1", "--log-dir=" + folder.path.string()},
                  of_batches) == 0);
    const std::vector<Metrics> rows = logged_rows(folder.path);
    CHECK(rows.size() >= 200);
    for (const Metrics& row : rows)
      if (row.contains("train_loss")) CHECK(row.number("train_loss") == 3);
    CHECK(parse_json(read_text(folder / "summary.json"), 1).value()["train_loss"] == 3);
  }
}

TEST_CASE("projections act after each update") {
  int calls = 0;
  const auto project = [&](Learner& learner, Random& random) {
    learner.random = {{"dropout", &random}};
    std::vector<Parameter> all;
    for (const NamedParameter& each : learner.net.parameters()) all.push_back(each.parameter);
    learner.project = [&, all]() mutable {
      ++calls;
      for (Parameter& each : all) each.set(clamp(each.value(), 0, 0.1));
    };
    learner.test = [all] {
      for (const Parameter& each : all) {
        CHECK(min(each.value()).item() > -1e-4);
        CHECK(max(each.value()).item() < 0.1001);
      }
      return Metrics();
    };
  };
  CHECK(trained({}, project) == 0);
  CHECK(calls == 2);
  CHECK(trained({"--ema=0.00001"}, project) == 0);  // the averages are of what was projected
}

namespace {

// A run in which x falls from 1 by 0.1 in each of two steps per epoch. The validation loss is
// (x - 0.45)^2, least after epoch 3, where x is 0.4.
struct Descent {
  Index interrupted_at = -1;  // the step during which Ctrl-C comes
  std::function<void(Learner& learner)> change = [](Learner&) {};
  double last = 0, judged = 0;  // x after the run, and in `finish`

  // Returns the exit code of its program.
  int train(std::vector<std::string> words) {
    TrainingFlags flags("descent", "Falls.", {.epochs = 20, .optimizer = {.optimizer = "sgd"}});
    words.insert(words.begin(), {"descent", "--lr=0.1", "--schedule=constant"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return flags.run(static_cast<int>(words.size()), arguments.data(), [&](Trainer& trainer) {
      const Parameter x(Tensor(1.0), "x");
      Fields net;
      net("x", x);
      Learner learner{
          .net = net,
          .steps = RunSteps::epochs(flags.epochs, 2),
          .loss = {[](Index) { return Index{4}; },
                   [&](Index step, const Shard& shard, Random&) {
                     if (step == interrupted_at && shard.index == 0) std::raise(SIGINT);
                     return x + 0;
                   }},
          .validate =
              [&] {
                const double off = x.value().item() - 0.45;
                return Metrics{{"validation_loss", off * off}, {"validation_score", -off * off}};
              },
          .test =
              [&] {
                judged = x.value().item();
                return Metrics();
              }};
      change(learner);
      const int code = trainer.train(learner);
      last = x.value().item();
      return code;
    });
  }
};

}  // namespace

TEST_CASE("a run without a better validation for --patience evaluations stops") {
  const Scratch folder;
  const std::string save = "--save=" + (folder / "net").string();
  Descent descent;
  const std::string said = said_by([&] { CHECK(descent.train({"--patience=2", save}) == 0); });
  CHECK_THAT(said, Contains("epoch 5/20: ") && !Contains("epoch 6/20: "));
  CHECK_THAT(said, Contains("stopped: 2 evaluations without a better validation loss\n"
                            "best validation loss: 0.0025, after epoch 3/20\n"));
  CHECK_THAT(said, !Contains("kept"));
  CHECK(checkpoint_notes(folder / "net").at("steps_done") == "10");
  CHECK(descent.last == Approx(0).margin(1e-6));  // of the last step
  CHECK(descent.judged == descent.last);

  // Resumed, it only judges again.
  const std::string resume = "--resume=" + (folder / "net").string();
  CHECK_THAT(said_by([&] { CHECK(descent.train({resume}) == 0); }),
             Contains("stopped: ") && !Contains("epoch 6/20: "));
  CHECK(descent.train({resume, "--patience=3"}) == 2);  // another run
}

TEST_CASE("with --keep-best, a run ends with the weights of the best validation") {
  const Scratch folder;
  Descent descent;
  const std::string file = (folder / "net").string();
  const std::string said = said_by([&] {
    CHECK(descent.train({"--keep-best", "--save=" + file}) == 0);
  });
  CHECK_THAT(
      said, Contains("epoch 20/20: ") &&
                Contains("best validation loss: 0.0025, after epoch 3/20; its weights are kept\n"));
  CHECK(descent.last == Approx(0.4));
  CHECK(descent.judged == descent.last);
  Fields net;
  const Parameter x(Tensor(0.0));
  net("x", x);
  Checkpoint saved{.net = net};
  load_checkpoint(file, saved);
  CHECK(x.value().item() == Approx(0.4));
  CHECK(load_tensors(file).tensors.at("resume.x").item() == Approx(-3));

  // A greater score is better, and so is an earlier one of equal ones.
  descent.change = [](Learner& learner) {
    learner.metric = {.name = "validation_score", .higher_is_better = true};
  };
  CHECK(descent.train({"--quiet", "--keep-best"}) == 0);
  CHECK(descent.last == Approx(0.4));
  descent.change = [](Learner& learner) {
    learner.validate = [] { return Metrics{{"validation_loss", 1}}; };
  };
  CHECK(descent.train({"--quiet", "--keep-best"}) == 0);
  CHECK(descent.last == Approx(0.8));
}

TEST_CASE("with averages, the best ones are kept") {
  double x = 1, average = 1, best = 1;
  for (int step = 1; step <= 40; ++step) {
    x -= 0.1;
    const double decay = std::min(0.75, step / (step + 9.0));
    average = decay * average + (1 - decay) * x;
    if (step % 2 == 0 && std::abs(average - 0.45) < std::abs(best - 0.45)) best = average;
  }
  Descent descent;
  CHECK(descent.train({"--quiet", "--keep-best", "--ema=0.75"}) == 0);
  CHECK(descent.last == Approx(best));
  CHECK(descent.judged == Approx(best));
}

TEST_CASE("patience and the best weights survive an interruption, bit for bit") {
  const Scratch folder;
  const std::string whole = (folder / "whole").string(), part = (folder / "part").string();
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--patience=2"},
                                             {"--keep-best"},
                                             {"--patience=2", "--keep-best"},
                                             {"--patience=2", "--keep-best", "--ema=0.75"},
                                             {"--patience=2", "--keep-best", "--shards=2"}}) {
    const auto train = [&](Index interrupted_at, const std::string& file) {
      Descent descent{.interrupted_at = interrupted_at};
      std::vector<std::string> words{"--quiet", "--save=" + file};
      words.insert(words.end(), flags.begin(), flags.end());
      return descent.train(words);
    };
    std::filesystem::remove(whole);
    CHECK(train(-1, whole) == 0);
    for (Index step = 0; step < 10; ++step) {
      CAPTURE(flags, step);
      std::filesystem::remove(part);
      CHECK(train(step, part) == exit_interrupted);
      CHECK(Descent().train({"--quiet", "--resume=" + part, "--save=" + part}) == 0);
      CHECK(bytes_in(part) == bytes_in(whole));
    }
  }
}

TEST_CASE("a run is extended from its last weights, not its best") {
  const Scratch folder;
  const std::string whole = (folder / "whole").string(), part = (folder / "part").string();
  CHECK(Descent().train({"--quiet", "--keep-best", "--save=" + whole}) == 0);
  CHECK(Descent().train({"--quiet", "--keep-best", "--epochs=6", "--save=" + part}) == 0);
  said_by([&] {
    CHECK(Descent().train({"--quiet", "--resume=" + part, "--save=" + part, "--epochs=20"}) == 0);
  });
  CHECK(bytes_in(part) == bytes_in(whole));
}

TEST_CASE("what does not validate has no best validation") {
  Descent descent;
  descent.change = [](Learner& learner) { learner.validate = {}; };
  for (const std::string flag : {"--patience", "--keep-best"}) {
    const std::string word = flag == "--patience" ? "--patience=2" : flag;
    CHECK_THAT(said_by([&] { CHECK(descent.train({word}) == 2); }),
               Contains(flag + ": this program does not validate"));
    CHECK_THAT(said_by([&] {
                 CHECK(descent.train({word, "--overfit-batch"}) == 2);
               }),
               Contains(flag));
  }
  CHECK(descent.train({"--quiet"}) == 0);
  descent.change = [](Learner& learner) {
    learner.validate = [] { return Metrics{{"validation_error", 0.5}}; };
  };
  CHECK_THAT(said_by([&] {
               CHECK(descent.train({"--quiet", "--patience=1"}) == 1);
             }),
             Contains("returns no validation_loss; set Learner::metric to what it returns: "
                      "{\"validation_error\":0.5}"));
  // One that is not finite is never better.
  descent.change = [](Learner& learner) {
    learner.validate = [] { return Metrics{{"validation_loss", NAN}}; };
  };
  CHECK_THAT(said_by([&] { CHECK(descent.train({"--patience=2"}) == 0); }),
             Contains("epoch 2/20: ") && !Contains("epoch 3/20: "));
}
