#include "tapegrad/nn/checkpoint.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/file.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A small training run: `steps` steps from where the checkpoint was saved.
struct Run {
  Random init{1}, random{2};
  Mlp net{{4, 8, 3}, init, {.norm = "layer", .dropout = 0.2}};
  Adam adam{parameters(net)};
  Checkpoint checkpoint{.net = fields(net), .optimizer = &adam, .random = {{"training", &random}}};

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      const Tensor x = random.normal({5, 4});
      const Indices labels({5}, {0, 1, 2, 0, 1});
      const Tape tape;
      adam.set_learning_rate(1e-2 / static_cast<double>(adam.steps() + 1));
      adam.step(grad(cross_entropy(net(x, training(random)), labels), adam.parameters()));
    }
  }
};

}  // namespace

TEST_CASE("a resumed run is bitwise the one that never stopped", "[files]") {
  const Scratch folder;
  Run whole;
  whole.train(20);
  save_checkpoint(folder / "whole", whole.checkpoint);

  Run before;
  before.train(7);
  before.checkpoint.notes.emplace("epoch", "1");
  save_checkpoint(folder / "half", before.checkpoint);
  Run after;
  after.random.normal({100});
  load_checkpoint(folder / "half", after.checkpoint);
  CHECK(after.checkpoint.notes.at("epoch") == "1");
  CHECK(after.adam.steps() == 7);
  after.checkpoint.notes.clear();
  after.train(13);
  save_checkpoint(folder / "resumed", after.checkpoint);
  CHECK(bytes_in(folder / "resumed") == bytes_in(folder / "whole"));
}

TEST_CASE("another net takes what fits of a checkpoint", "[files]") {
  const Scratch folder;
  Run run;
  run.train(3);
  save_checkpoint(folder / "saved", run.checkpoint);
  {
    Run same;
    const Unfit unfit = load_fitting(folder / "saved", same.checkpoint);
    CHECK((unfit.missing.empty() && unfit.unused.empty()));
    same.train(2);
    save_checkpoint(folder / "same", same.checkpoint);
    Run whole;
    whole.train(5);
    save_checkpoint(folder / "whole", whole.checkpoint);
    CHECK(bytes_in(folder / "same") == bytes_in(folder / "whole"));
  }
  Random random(5), other(6);
  const Mlp net({4, 8, 5}, random);  // without norms, for five classes
  Sgd sgd(parameters(net), {.momentum = 0.9});
  Plateau plateau(0.1);
  Checkpoint into{.net = fields(net),
                  .optimizer = &sgd,
                  .random = {{"training", &other}, {"other", &random}},
                  .plateau = &plateau};
  const Tensor last = parameters(net)[2].value();
  const auto [missing, unused] = load_fitting(folder / "saved", into);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string first = fields(net).parameters()[0].name;
  CHECK(has(missing, fields(net).parameters()[2].name));
  CHECK(!has(missing, first));
  CHECK((has(missing, "random.other.seed") && has(missing, "plateau.rate")));
  CHECK(has(unused, "optimizer.mean." + first));
  CHECK(parameters(net)[0].value().values()[0] == parameters(run.net)[0].value().values()[0]);
  CHECK(parameters(net)[2].value().data() == last.data());
  CHECK(other.state() == run.random.state());
  CHECK(sgd.steps() == 0);  // none of its moments is in the file
  CHECK(plateau.learning_rate() == 0.1);
}

TEST_CASE("an optimizer of some parameters is saved under their names", "[files]") {
  const Scratch folder;
  Random random(1);
  const Linear net(2, 3, random);
  Adam adam({net.bias});
  adam.step({Tensor({3}, {1, 2, 3})});
  Checkpoint checkpoint{.net = fields(net), .optimizer = &adam};
  save_checkpoint(folder / "run", checkpoint);
  const TensorFile file = load_tensors(folder / "run");
  CHECK(file.tensors.at("optimizer.mean.bias").data()[2] == Approx(0.3));
  CHECK(file.tensors.count("optimizer.mean.weight") == 0);
  adam.step({Tensor({3}, {1, 2, 3})});
  load_checkpoint(folder / "run", checkpoint);
  CHECK(adam.steps() == 1);
  CHECK(adam.moments()[0].values[0].data()[2] == Approx(0.3));

  const Linear other(2, 3, random);
  Checkpoint foreign{.net = fields(other), .optimizer = &adam};
  CHECK_THROWS_WITH(save_checkpoint(folder / "other", foreign), Contains("not in the net"));
  TensorFile damaged = file;
  damaged.metadata["optimizer.steps"] = "-1";
  save_tensors(folder / "damaged", damaged);
  CHECK_THROWS_WITH(load_checkpoint(folder / "damaged", checkpoint), Contains("optimizer.steps"));
}

TEST_CASE("a checkpoint keeps how many steps have skipped a parameter", "[files]") {
  const Scratch folder;
  Random random(1);
  const Linear net(2, 3, random);
  const double before = net.bias.value().data()[0];
  Adam adam(parameters(net), {.learning_rate = 0.1});
  adam.step({ones({2, 3}), ones({3})});
  for (int step = 0; step < 2; ++step) adam.step({ones({2, 3}), Tensor()});
  Checkpoint checkpoint{.net = fields(net), .optimizer = &adam};
  save_checkpoint(folder / "run", checkpoint);
  Adam other(parameters(net), {.learning_rate = 0.1});
  Checkpoint into{.net = fields(net), .optimizer = &other};
  load_checkpoint(folder / "run", into);
  CHECK(other.skipped() == std::vector<Index>{0, 2});
  other.step({ones({2, 3}), ones({3})});
  CHECK(net.bias.value().data()[0] == Approx(before - 0.2));  // its second step of 0.1

  TensorFile file = load_tensors(folder / "run");
  CHECK(file.metadata.at("optimizer.skipped.bias") == "2");
  CHECK(file.metadata.count("optimizer.skipped.weight") == 0);
  for (const char* wrong : {"-1", "4", "x"}) {
    file.metadata["optimizer.skipped.bias"] = wrong;
    save_tensors(folder / "damaged", file);
    CHECK_THROWS_WITH(load_checkpoint(folder / "damaged", into),
                      Contains("optimizer.skipped.bias"));
  }
  file.metadata.erase("optimizer.skipped.bias");  // as earlier versions wrote it
  save_tensors(folder / "earlier", file);
  load_checkpoint(folder / "earlier", into);
  CHECK(other.skipped() == std::vector<Index>{0, 0});
}

TEST_CASE("two tensors of a checkpoint never share a name", "[files]") {
  const Scratch folder;
  const Bytes before = bytes_of({1, 2, 3});
  write_file(folder / "kept", before);
  const Parameter x(ones({2})), moment(ones({3}));
  Fields net;
  net("x", x);
  net("optimizer.mean.x", moment);
  Adam adam(parameters(net));
  CHECK_THROWS_WITH(save_checkpoint(folder / "kept", {.net = net, .optimizer = &adam}),
                    Contains("kept: two tensors are called optimizer.mean.x") &&
                        Contains("(3) and of shape (2)"));
  CHECK(bytes_in(folder / "kept") == before);
  CHECK_NOTHROW(save_checkpoint(folder / "weights", {.net = net}));
}

TEST_CASE("a checkpoint with a value that is not finite is neither written nor read", "[files]") {
  const Scratch folder;
  const Bytes before = bytes_of({1, 2, 3});
  write_file(folder / "kept", before);
  const Tensor good({2}, {1, 2});
  for (const real bad : {NAN, INFINITY, -INFINITY}) {
    const Tensor broken({2}, {1, bad});
    const auto refused = [&](const Checkpoint& checkpoint, const char* tensor) {
      CHECK_THROWS_MATCHES(save_checkpoint(folder / "kept", checkpoint), NonFiniteError,
                           Catch::Message(fmt::format("save_checkpoint: {}: tensor {} has a value "
                                                      "that is not finite: {}",
                                                      (folder / "kept").string(), tensor, bad)));
      CHECK(bytes_in(folder / "kept") == before);
    };
    Fields net, weights, buffers;
    net("w", Parameter(good));
    weights("w", Parameter(broken));
    buffers("b", Buffer(broken));
    Adam adam(parameters(net));
    Ema ema(parameters(net));
    refused({.net = weights}, "w");
    refused({.net = buffers}, "b");
    refused({.net = net, .carried = buffers}, "carried.b");
    adam.restore(1, {{"mean", {good}}, {"square", {broken}}});
    refused({.net = net, .optimizer = &adam}, "optimizer.square.w");
    ema.restore({broken});
    refused({.net = net, .ema = &ema}, "ema.w");

    // Another program could write such a file.
    save_checkpoint(folder / "file", {.net = net});
    TensorFile file = load_tensors(folder / "file");
    file.tensors.at("w") = broken;
    save_tensors(folder / "file", file);
    Checkpoint into{.net = net};
    CHECK_THROWS_WITH(load_checkpoint(folder / "file", into),
                      Contains("file: tensor w has a value that is not finite"));
  }
}

TEST_CASE("the net of a checkpoint is read without what was carried", "[files]") {
  const Scratch folder;
  Fields net, carried;
  const Parameter w(ones({2})), best(full({3}, 5));
  const Buffer memory(full({4}, 7));
  net("w", w);
  carried("c", std::vector<Parameter>{best});
  carried("memory", memory);
  save_checkpoint(folder / "run", {.net = net, .carried = carried});
  Parameter(w).set(zeros({2}));
  Parameter(best).set(zeros({3}));
  Buffer(memory).set(zeros({4}));
  Checkpoint alone{.net = net};
  load_checkpoint(folder / "run", alone);
  CHECK(w.value().data()[1] == 1);
  CHECK(best.value().data()[2] == 0);
  Checkpoint all{.net = net, .carried = carried};
  load_checkpoint(folder / "run", all);
  CHECK(best.value().data()[2] == 5);
  CHECK(memory.value().data()[3] == 7);

  Fields some;
  some("memory", memory);
  Checkpoint part{.net = net, .carried = some};
  CHECK_THROWS_WITH(load_checkpoint(folder / "run", part),
                    Contains("unexpected tensor carried.c.0"));
  save_checkpoint(folder / "other", {.net = net});
  CHECK_THROWS_WITH(load_checkpoint(folder / "other", all), Contains("has no tensor carried.c.0"));
  Checkpoint none{.net = some};
  CHECK_THROWS_WITH(load_checkpoint(folder / "other", none), Contains("has no tensor memory"));
}

TEST_CASE("the net alone has its best weights, and the run goes on from its last", "[files]") {
  const Scratch folder;
  Fields net, other;
  const Parameter w(Tensor({2}, {1, 2}));
  const Buffer mean(Tensor({1}, {3}));
  net("w", w);
  net("mean", mean);
  NetState best(net);
  Parameter(w).set(Tensor({2}, {4, 5}));
  Buffer(mean).set(Tensor({1}, {6}));
  Adam adam(parameters(net));
  save_checkpoint(folder / "run", {.net = net, .optimizer = &adam, .best = &best});
  const TensorFile file = load_tensors(folder / "run");
  CHECK(file.tensors.at("w").data()[1] == 2);
  CHECK(file.tensors.at("mean").data()[0] == 3);
  CHECK(file.tensors.at("resume.w").data()[1] == 5);
  CHECK(file.tensors.at("resume.mean").data()[0] == 6);

  const auto values = [&] { return std::pair(w.value().data()[0], mean.value().data()[0]); };
  Checkpoint alone{.net = net};
  load_checkpoint(folder / "run", alone);
  CHECK(values() == std::pair<real, real>(1, 3));
  best.restore({zeros({2}), zeros({1})});
  Checkpoint all{.net = net, .optimizer = &adam, .best = &best};
  load_checkpoint(folder / "run", all);
  CHECK(values() == std::pair<real, real>(4, 6));
  best.swap();
  CHECK(values() == std::pair<real, real>(1, 3));

  other("w", w);
  CHECK_THROWS_WITH(save_checkpoint(folder / "other", {.net = other, .best = &best}),
                    Contains("another net"));
  save_checkpoint(folder / "other", {.net = net});
  CHECK_THROWS_WITH(load_checkpoint(folder / "other", all), Contains("has no tensor resume.w"));
  CHECK(values() == std::pair<real, real>(1, 3));
}

TEST_CASE("what is not there is not saved", "[files]") {
  const Scratch folder;
  CHECK_THROWS_AS(save_tensors(folder / "file", {.tensors = {{"a", Tensor()}}}), DataError);
  CHECK_THROWS_AS(save_tensors(folder / "file", {.indices = {{"a", Indices()}}}), DataError);
  CHECK_THROWS_WITH(save_checkpoint(folder / "file", {.net = {}, .random = {{"order", nullptr}}}),
                    Contains("no Random for order"));
  CHECK_FALSE(fs::exists(folder / "file"));
}

TEST_CASE("a checkpoint is distinguished from other files", "[files]") {
  const Scratch folder;
  Random random(1);
  const Linear net(2, 2, random);  // square: PyTorch's weight, transposed, would fit
  Checkpoint checkpoint{.net = fields(net)};
  const std::map<std::string, Tensor> tensors{{"weight", zeros({2, 2})}, {"bias", zeros({2})}};
  save_tensors(folder / "plain", {.tensors = tensors});
  CHECK_THROWS_WITH(load_checkpoint(folder / "plain", checkpoint),
                    Contains("plain") && Contains("not given") && Contains("load_pytorch"));
  save_tensors(folder / "torch", {.tensors = tensors, .metadata = {{"format", "pt"}}});
  CHECK_THROWS_WITH(load_checkpoint(folder / "torch", checkpoint), Contains("its format is pt"));
  CHECK(max(abs(net.bias.value())).item() > 0);
}

TEST_CASE("a checkpoint that does not fit changes nothing", "[files]") {
  const Scratch folder;
  Run run;
  run.train(2);
  save_checkpoint(folder / "run", run.checkpoint);
  const Bytes before = bytes_in(folder / "run");

  Random random(1);
  const Linear other(2, 2, random);
  save_checkpoint(folder / "other", {.net = fields(other)});
  CHECK_THROWS_WITH(load_checkpoint(folder / "other", run.checkpoint),
                    Contains("other") && Contains("layers.0.weight"));
  TensorFile file = load_tensors(folder / "run");
  file.tensors["layers.4.weight"] = zeros({1});
  save_tensors(folder / "misshapen", file);
  CHECK_THROWS_WITH(load_checkpoint(folder / "misshapen", run.checkpoint), Contains("(1)"));
  file = load_tensors(folder / "run");
  file.metadata.erase("random.training.seed");
  save_tensors(folder / "weights", file);
  CHECK_THROWS_WITH(load_checkpoint(folder / "weights", run.checkpoint),
                    Contains("random.training"));
  save_checkpoint(folder / "run", run.checkpoint);
  CHECK(bytes_in(folder / "run") == before);
}

TEST_CASE("what a checkpoint holds beyond a training run is refused or left out on purpose",
          "[files]") {
  const Scratch folder;
  Run run;
  run.train(2);
  run.checkpoint.notes.emplace("epoch", "1");
  save_checkpoint(folder / "run", run.checkpoint);
  const Bytes before = bytes_in(folder / "run");
  CHECK(checkpoint_notes(folder / "run") == run.checkpoint.notes);

  Checkpoint weights{.net = fields(run.net)};  // to evaluate
  CHECK_NOTHROW(load_checkpoint(folder / "run", weights));
  CHECK(weights.notes == run.checkpoint.notes);
  TensorFile third_moment = load_tensors(folder / "run");
  third_moment.tensors.emplace("optimizer.third.layers.0.weight", zeros({4, 8}));
  save_tensors(folder / "third", third_moment);
  CHECK_NOTHROW(load_checkpoint(folder / "third", weights));
  CHECK_THROWS_WITH(load_checkpoint(folder / "third", run.checkpoint),
                    Contains("third has an unexpected tensor optimizer.third.") &&
                        Contains("another net or optimizer"));

  // A net whose tensors are among the file's.
  Random random(1);
  Fields larger = fields(run.net);
  const Parameter more(ones({2}));
  larger("more", more);
  save_checkpoint(folder / "larger", {.net = larger});
  CHECK_THROWS_WITH(load_checkpoint(folder / "larger", weights),
                    Contains("unexpected tensor more:"));
  TensorFile file = load_tensors(folder / "run");
  file.indices.emplace(std::string(1'000'000, 'n'), Indices({1}, {1}));
  save_tensors(folder / "named", file);
  try {
    load_checkpoint(folder / "named", run.checkpoint);
    FAIL("a surplus tensor of integers was not seen");
  } catch (const DataError& error) {
    CHECK_THAT(error.what(), Contains("nnn..."));
    CHECK(std::string(error.what()).size() < 1000);
  }
  const std::string header = R"({"__metadata__":{"format":"tapegrad"},)"
                             R"("odd":{"dtype":"C64","shape":[0],"data_offsets":[0,0]}})";
  Bytes unread = bytes_of({static_cast<int>(header.size()), 0, 0, 0, 0, 0, 0, 0});
  for (const char c : header) unread.push_back(static_cast<std::byte>(c));
  write_file(folder / "unread", unread);
  Checkpoint empty;
  CHECK_THROWS_WITH(load_checkpoint(folder / "unread", empty), Contains("unexpected tensor odd:"));
  save_checkpoint(folder / "run", run.checkpoint);
  CHECK(bytes_in(folder / "run") == before);
}

TEST_CASE("words of a checkpoint are quoted in brief", "[files]") {
  const Scratch folder;
  Run run;
  save_checkpoint(folder / "run", run.checkpoint);
  for (const char* key : {"format", "optimizer.steps", "optimizer.rate", "random.training.seed"}) {
    TensorFile file = load_tensors(folder / "run");
    file.metadata[key] = std::string(1'000'000, 'v');
    save_tensors(folder / "long", file);
    try {
      load_checkpoint(folder / "long", run.checkpoint);
      FAIL(key << " was believed");
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), Contains("long") && Contains("vvv..."));
      CHECK(std::string(error.what()).size() < 1000);
    }
  }
}

TEST_CASE("averages and a plateau resume bitwise", "[files]") {
  // Learns at the plateau's rate, measured by the loss, and averages its parameters.
  struct Averaged : Run {
    Ema ema{parameters(net), 0.9};
    Plateau plateau{1e-2, {.factor = 0.5, .patience = 0, .threshold = 0.5}};
    Averaged() {
      checkpoint.ema = &ema;
      checkpoint.plateau = &plateau;
    }
    void train_averaged(int steps) {
      for (int i = 0; i < steps; ++i) {
        train(1);
        ema.update();
        plateau.next(random.uniform({}).item());
      }
    }
  };
  const Scratch folder;
  Averaged whole;
  whole.train_averaged(12);
  save_checkpoint(folder / "whole", whole.checkpoint);
  Averaged before, after;
  save_checkpoint(folder / "new", before.checkpoint);  // its best measure is still infinite
  load_checkpoint(folder / "new", after.checkpoint);
  before.train_averaged(5);
  save_checkpoint(folder / "half", before.checkpoint);
  load_checkpoint(folder / "half", after.checkpoint);
  CHECK(after.plateau.learning_rate() < 1e-2);
  after.train_averaged(7);
  save_checkpoint(folder / "resumed", after.checkpoint);
  CHECK(read_text(folder / "resumed") == read_text(folder / "whole"));

  Run plain;  // needs neither
  load_checkpoint(folder / "half", plain.checkpoint);
  save_checkpoint(folder / "plain", plain.checkpoint);
  CHECK_THROWS_WITH(load_checkpoint(folder / "plain", after.checkpoint),
                    Contains("has no tensor ema.layers.0."));
  after.checkpoint.ema = nullptr;
  CHECK_THROWS_WITH(load_checkpoint(folder / "plain", after.checkpoint),
                    Contains("has no plateau.rate: it does not hold a training run"));
  Ema foreign({Parameter(ones({2}), "foreign")});
  after.checkpoint.ema = &foreign;
  CHECK_THROWS_WITH(save_checkpoint(folder / "x", after.checkpoint),
                    "checkpoint: the ema's parameter foreign is not in the net");
}
