#include "tapegrad/nn/pytorch.h"
#include "tapegrad/nn/checkpoint.h"

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "support/golden_file.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/safetensors.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/nn/layers/sequential.h"
#include "tapegrad/nn/layers/transformer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

fs::path pytorch_file(const std::string& name) {
  return testing::golden_file("pytorch/" + name + ".safetensors");
}

// PyTorch adds its two biases; ours is their sum, but for the candidate of a GRU.
void add_biases(std::map<std::string, Tensor>& tensors) {
  for (auto& [name, tensor] : tensors) {
    const std::size_t at = name.find("bias_hh");
    if (at == std::string::npos) continue;
    std::string first = name;
    first.replace(at, 7, "bias_ih");
    tensors[first] = tensors[first] + tensor;
    tensor = zeros(tensor.shape());
  }
}

// Loads a golden file into a net, compares outputs, saves it and compares the files.
template <class Net, class Call>
void check_whole(const std::string& name, const Net& net, const Call& call,
                 const PyTorchOptions& options = {}) {
  INFO(name);
  const TensorFile io = load_tensors(pytorch_file(name + ".io"));
  load_pytorch(net, pytorch_file(name), options);
  CHECK(relative_error(call(io), io.tensors.at("output")) < golden_tolerance);

  const Scratch folder;
  save_pytorch(folder / "saved", net, options);
  std::map<std::string, Tensor> before = load_tensors(pytorch_file(name)).tensors;
  std::map<std::string, Tensor> after = load_tensors(folder / "saved").tensors;
  CHECK(before.size() == after.size());
  add_biases(before);
  add_biases(after);
  for (const auto& [each, tensor] : before) {
    INFO(each);
    REQUIRE(after.count(each) == 1);
    CHECK(relative_error(after.at(each), tensor) == 0);
  }
}

auto on_input(const auto& net) {
  return [&net](const TensorFile& io) { return net(io.tensors.at("input0")); };
}

struct Convolutions {
  Conv2d conv1, conv2;
  Norm bn1, gn;
  ConvTranspose2d up;
  Linear fc;
  explicit Convolutions(Random& random)
      : conv1(1, 4, 3, random, {.padding = 1}),
        conv2(2, 3, 3, random, {.weight_norm = true}),
        bn1("batch", 4, Channels::second),
        gn("group:groups=3", 3, Channels::second),
        up(4, 2, 2, random, {.stride = 2}),
        fc(3 * 6 * 6, 2, random, {.weight_norm = true}) {}
  Tensor operator()(const Tensor& x) const {
    return fc(Flatten()(relu(gn(conv2(up(relu(bn1(conv1(x)))))))));
  }
  void visit(Fields& field) const {
    field("conv1", conv1);
    field("bn1", bn1);
    field("up", up);
    field("conv2", conv2);
    field("gn", gn);
    field("fc", fc);
  }
};

struct Tagger {
  Embedding embedding;
  Recurrent lstm;
  Linear output;
  explicit Tagger(Random& random)
      : embedding(7, 3, random),
        lstm(Cell::lstm, 3, 4, random, {.layers = 2, .bidirectional = true}),
        output(8, 2, random) {}
  Tensor operator()(const Indices& ids) const { return output(lstm(embedding(ids)).outputs); }
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("lstm", lstm);
    field("output", output);
  }
};

TransformerOptions small(NormPlacement placement) {
  return {.layers = 2,
          .heads = 2,
          .channels = 8,
          .feed_forward = 12,
          .activation = Activation::relu,
          .placement = placement};
}

}  // namespace

TEST_CASE("whole networks of PyTorch's load, run and save", "[pytorch]") {
  Random random(1);
  for (const char* name : {"mlp", "mlp_f16", "mlp_bf16"}) {
    const Mlp mlp({4, 4, 4, 3}, random);
    check_whole(name, mlp, on_input(mlp));
    const Sequential sequential{Linear(4, 4, random), relu, Linear(4, 4, random), relu,
                                Linear(4, 3, random)};
    check_whole(name, sequential, on_input(sequential));
  }
  const Convolutions cnn(random);
  check_whole("cnn", cnn, on_input(cnn));

  const Sequential signal{Conv1d(2, 4, 3, random, {.groups = 2}), Conv1d(4, 1, 2, random)};
  check_whole("conv1d", signal, on_input(signal), {.names = {{"", "stack"}}});

  const Tagger tagger(random);
  const auto tag = [&](const TensorFile& io) { return tagger(io.indices.at("input0")); };
  check_whole("tagger", tagger, tag, {.names = {{"output", "out"}}});

  const Recurrent gru(Cell::gru, 3, 4, random);
  check_whole("gru", gru,
              [&](const TensorFile& io) { return gru(io.tensors.at("input0")).outputs; });
}

TEST_CASE("Transformers of PyTorch's load, run and save", "[pytorch]") {
  Random random(1);
  const TransformerStack encoder(random, small(NormPlacement::pre));
  check_whole("encoder_pre", encoder, on_input(encoder));
  const TransformerBlock block(random, small(NormPlacement::post));
  check_whole("encoder_post", block, on_input(block));

  TransformerOptions options = small(NormPlacement::pre);
  options.causal = true;
  const auto with_memory = [](const auto& net) {
    return [&net](const TensorFile& io) {
      return net(io.tensors.at("input0"), {.memory = io.tensors.at("input1")});
    };
  };
  const TransformerStack decoder(random, options, true);
  check_whole("decoder_pre", decoder, with_memory(decoder));
  options.placement = NormPlacement::post;
  const TransformerBlock decoder_block(random, options, true);
  check_whole("decoder_post", decoder_block, with_memory(decoder_block));
}

TEST_CASE("PyTorch's weights that do not fit are refused and change nothing", "[pytorch]") {
  Random random(1);
  const Convolutions net(random);
  const Tensor before = net.conv1.weight.value().view(net.conv1.weight.shape());
  const Scratch folder;
  const fs::path file = folder / "weights";
  const TensorFile good = load_tensors(pytorch_file("cnn"));
  const auto refused = [&](const std::function<void(TensorFile&)>& change) {
    TensorFile changed = good;
    change(changed);
    save_tensors(file, changed);
    try {
      load_pytorch(net, file);
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), Contains(file.string()));
      return std::string(error.what());
    }
    return std::string("loaded");
  };
  CHECK_THAT(refused([](TensorFile& f) { f.tensors.erase("fc.bias"); }),
             Contains("fc.bias is missing"));
  CHECK_THAT(refused([](TensorFile& f) { f.tensors["fc.bias"] = zeros({3}); }),
             Contains("fc.bias has shape (3), the net needs (2)"));
  CHECK_THAT(refused([](TensorFile& f) {
               f.tensors["fc.weight_v"] = zeros({108, 2});
             }),
             Contains("fc.weight_v has shape (108, 2), the net needs (2, 108)"));
  CHECK_THAT(refused([](TensorFile& f) { f.tensors["extra"] = zeros({3}); }),
             Contains("extra is not expected"));
  CHECK_THAT(refused([](TensorFile& f) { f.tensors[std::string(1'000'000, 'n')] = zeros({3}); }),
             Contains("nnn... is not expected"));
  CHECK_THAT(
      refused([](TensorFile& f) { f.indices["bn2.num_batches_tracked"] = Indices({}, {1}); }),
      Contains("bn2.num_batches_tracked is not expected"));
  CHECK_THAT(refused([](TensorFile& f) {
               f.tensors.erase("up.bias");
               f.indices["up.bias"] = Indices({2}, {1, 2});
             }),
             Contains("up.bias holds integers"));
  CHECK_THAT(refused([](TensorFile& f) {
               for (int i = 0; i < 100; ++i) f.tensors[fmt::format("more.{}", i)] = zeros({1});
             }),
             Contains("and 92 more"));
  CHECK(relative_error(net.conv1.weight, before) == 0);
  CHECK_NOTHROW(load_pytorch(net, file, {.allow_unexpected = true}));
  CHECK(relative_error(net.conv1.weight, good.tensors.at("conv1.weight")) == 0);
}

TEST_CASE("a checkpoint is no file of PyTorch's", "[pytorch]") {
  Random random(1);
  const Linear square(2, 2, random), other(2, 2, random);
  const Scratch folder;
  save_checkpoint(folder / "ours", {.net = fields(square)});
  const Tensor before = other.weight.value();
  CHECK_THROWS_WITH(load_pytorch(other, folder / "ours"), Contains("load_checkpoint"));
  CHECK(relative_error(other.weight, before) == 0);
}

TEST_CASE("names of the net take those that PyTorch has", "[pytorch]") {
  Random random(1);
  const Convolutions net(random);
  const Scratch folder;
  const fs::path file = folder / "weights";
  const auto saved = [&](const std::map<std::string, std::string>& names) {
    save_pytorch(file, net, {.names = names});
    return load_tensors(file);
  };
  const TensorFile renamed =
      saved({{"", "model"}, {"conv1", "first.conv"}, {"fc.bias", "shift"}, {"bn1", ""}});
  CHECK(renamed.metadata.at("format") == "pt");
  for (const char* name : {"first.conv.weight", "shift", "running_var", "model.fc.weight_v"})
    CHECK(renamed.tensors.count(name) == 1);
  CHECK_THROWS_WITH(saved({{"con", "x"}}), Contains("no name begins with con"));
  CHECK_THROWS_WITH(saved({{"conv1", "up"}}), Contains("two tensors would be called up.") &&
                                                  Contains("conv1.") && Contains("(4, 1, 3, 3)"));

  const Sequential smoothed{Norm("layer:learn_s=1", 3)};
  CHECK_THROWS_WITH(save_pytorch(file, smoothed),
                    Contains("no counterpart of a norm with a learned smoothing term: 0"));
  const SelfAttention attention(4, random, {.weight_norm = true});
  CHECK_THROWS_WITH(save_pytorch(file, attention), Contains("normalized weights"));
}

TEST_CASE("a slot with two names has both in PyTorch", "[pytorch]") {
  Random random(1);
  Sequential net{Linear(3, 3, random)};
  net.add(net.layers[0]);
  const Scratch folder;
  const fs::path file = folder / "weights";
  save_pytorch(file, net);
  TensorFile saved = load_tensors(file);
  CHECK(saved.tensors.size() == 4);
  CHECK_NOTHROW(load_pytorch(net, file));
  saved.tensors["1.bias"] = ones({3});
  save_tensors(file, saved);
  CHECK_THROWS_WITH(load_pytorch(net, file),
                    Contains("0.bias and 1.bias differ, but the net has one tensor for both"));
}
