#include "tapegrad/nn/layers/norm.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/range.h"
#include "tapegrad/io/file.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double norm_precision = sizeof(real) == 8 ? 1e-9 : 1e-4;

// The property that makes a normalization what it is, of features (N, C) before gain and bias.
void check_features(const NormMethod& method, const Tensor& x, const Tensor& y) {
  const auto is = [&](const char* name) { return method.name == name; };
  const Tensor means = mean(y, -1), squares = mean(square(y), -1);
  if (!method.normalizes) CHECK(relative_error(y, x) == 0);
  if (is("layer")) CHECK(norm(means).item() < norm_precision);
  if (is("layer") || is("rms")) CHECK(relative_error(squares, ones(squares.shape())) < 1e-3);
  if (is("rms")) CHECK(norm(means).item() > 0.1);
  if (is("ada")) CHECK(relative_error(means, full(means.shape(), -0.1)) < 1e-3);  // -c k
  if (method.mixes_samples) CHECK(norm(mean(y, 0)).item() < norm_precision * 10);
  if (is("batch")) CHECK(relative_error(mean(square(y), 0), ones({x.shape()[1]})) < 1e-3);
  if (is("group"))
    CHECK(norm(mean(reshape(y, {-1, x.shape()[1] / 2}), -1)).item() < norm_precision);
  if (is("divisive"))
    CHECK(relative_error(y, normalize(x, both({.window = {-1}, .radius = 8}))) == 0);
}

// Divides each row by its largest magnitude.
struct Largest : NormMethod {
  Largest() : NormMethod("largest") {}
  Tensor compute(const Tensor& x, const Norm& norm, Index, Mode) const override {
    return x / (max(abs(x), -1, Keep::yes) + norm.epsilon());
  }
};

}  // namespace

TEST_CASE("a normalization is made from its name", "[nn][norm]") {
  const Tensor x = Random(1).normal({6, 24}, 0.8, 1.5);
  Random random(2);
  for (const std::string& name : norm_names()) {
    const NormSpec spec(name);
    if (spec.method->needs_positions) continue;
    DYNAMIC_SECTION(name) { check_features(*spec.method, x, Norm(spec, 24)(x, training(random))); }
  }
}

TEST_CASE("detached statistics by name", "[nn][norm]") {
  const Tensor x = Random(1).normal({4, 8}), g = Random(2).normal({4, 8}, 1);
  const auto gradient = [&](const char* name) {
    const Norm norm(name, 8);
    return vjp([&](const auto& in) { return norm(in[0]); }, {x}, g)[0];
  };
  const Tensor s = sqrt(var(x, -1, Keep::yes) + 1e-5);
  CHECK(relative_error(gradient("detach"), g / s) < norm_precision);
  CHECK(relative_error(gradient("detach_variance"), (g - mean(g, -1, Keep::yes)) / s) <
        norm_precision);
  CHECK(relative_error(gradient("detach_mean") - mean(gradient("detach_mean"), -1, Keep::yes),
                       gradient("layer_simple")) < norm_precision);
}

TEST_CASE("each option has an effect", "[nn][norm]") {
  const Tensor x = Random(3).normal({4, 12}, 0.5), image = Random(4).normal({2, 4, 5, 5});
  Random random(5);
  const auto differs = [&](const char* a, const char* b) {
    INFO(a << " and " << b);
    CHECK(relative_error(Norm(a, 12)(x, training(random)), Norm(b, 12)(x, training(random))) >
          1e-6);
  };
  differs("layer", "layer:eps=0.1");
  differs("layer", "layer:s=1");
  differs("layer", "layer:eps=0.1,place=out");
  differs("layer", "layer:unbiased=1");
  differs("layer", "layer:gain=0.1");
  differs("ada", "ada:c=2");
  differs("ada", "ada:k=0.2");
  differs("rms", "rms:p=0.5");
  differs("group", "group:groups=3");
  differs("divisive", "divisive:radius=2");
  differs("whiten", "whiten:groups=3");
  differs("whiten", "whiten:iterations=4");
  differs("whiten", "whiten:eps=0.1");
  differs("whiten", "whiten:unbiased=1");
  differs("whiten", "whiten:s=0.5,learn_s=1");
  CHECK(relative_error(Norm("layer:s=0.5", 12)(x), Norm("layer:eps=0.25", 12)(x)) < norm_precision);
  CHECK(parameter_count(Norm("layer", 12)) == 24);
  CHECK(parameter_count(Norm("layer:affine=0", 12)) == 0);
  CHECK(parameter_count(Norm("layer:learn_s=1", 12)) == 25);
  CHECK(parameter_count(Norm("rms", 12)) == 12);
  CHECK(NormSpec("layer:weight=1").normalized_weights);
  CHECK(relative_error(Norm("layer", 4, Channels::second)(image),
                       Norm("layer:over=channels", 4, Channels::second)(image)) > 1e-3);

  const auto gradient = [&](const char* name) {
    const Norm ada(name, 12);
    return vjp([&](const auto& in) { return ada(in[0]); }, {x}, x * x)[0];
  };
  CHECK(relative_error(gradient("ada"), gradient("ada:detached=0")) > 1e-3);
  CHECK(relative_error(gradient("rms"), gradient("rms:factor=1")) > 1e-3);

  const Norm slow("batch:momentum=0.01", 12);
  slow(x, training(random));
  CHECK(relative_error(slow.buffers[0].buffer.value(), 0.01 * mean(x, 0)) < norm_precision);
}

TEST_CASE("a learned smoothing term is learnt", "[nn][norm]") {
  const Norm norm("layer:s=0.5,learn_s=1", 6);
  CHECK(norm.smoothing.value().item() == Approx(0.5));
  const Tape tape;
  const Tensor loss = sum(square(norm(Random(1).normal({3, 6}))));
  CHECK(grad(loss, Tensor(norm.smoothing)).item() < 0);  // more smoothing, smaller values
}

TEST_CASE("batch normalization uses its running averages in evaluation", "[nn][norm]") {
  Random random(6);
  const Tensor x = random.normal({8, 3, 2, 2}, 2, 3), g = random.normal({8, 3, 2, 2});
  const Norm norm("batch", 3, Channels::second);
  norm(x, training(random));
  const Tensor mean_now = mean(x, {0, 2, 3}),
               var_now = var(x, {0, 2, 3}, Keep::no, Variance::unbiased);
  CHECK(relative_error(reshape(norm.buffers[0].buffer, {3}), 0.1 * mean_now) < norm_precision);
  CHECK(relative_error(reshape(norm.buffers[1].buffer, {3}), 0.9 + 0.1 * var_now) < norm_precision);
  const Tensor y = norm(x);
  CHECK(relative_error(norm(slice(x, 0, 2, 3)), slice(y, 0, 2, 3)) == 0);  // batch-independent
  CHECK(relative_error(reshape(norm.buffers[0].buffer, {3}), 0.1 * mean_now) <
        norm_precision);  // unchanged
  CHECK(range(Norm("batch", 5)(random.normal({1, 5}))).non_finite == 0);
}

TEST_CASE("a channel of one value is refused where its mean is subtracted", "[nn][norm]") {
  Random random(6);
  const auto refusal = [&](const char* name, const Tensor& x, Mode mode) {
    const Channels where = x.rank() == 2 ? Channels::features : Channels::second;
    try {
      Norm(name, x.shape()[1], where)(x, mode);
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Tensor row = random.normal({1, 5}), pixel = random.normal({1, 5, 1, 1}),
               pixels = random.normal({2, 3, 1, 1}), steps = random.normal({2, 3, 1});
  CHECK_THAT(refusal("batch", row, training(random)),
             Catch::StartsWith("norm: batch normalization needs more than one value per channel: "
                               "(1, 5); train with larger batches"));
  CHECK_THAT(refusal("batch", pixel, training(random)), Contains("(1, 5, 1, 1); train with"));
  CHECK_THAT(refusal("whiten", row, training(random)), Contains("whitening needs more than one"));
  CHECK_THAT(refusal("whiten", pixel, training(random)), Contains("(1, 5, 1, 1)"));
  for (const Mode mode : {Mode(), training(random)}) {
    CHECK_THAT(refusal("instance", pixels, mode),
               Catch::StartsWith("norm: instance normalization needs more than one value per "
                                 "channel: (2, 3, 1, 1); normalize more than"));
    CHECK_THAT(refusal("instance", steps, mode), Contains("(2, 3, 1, 1)"));
    CHECK(refusal("instance", zeros({0, 3, 1, 1}), mode).empty());
    for (const char* name : {"layer", "group:groups=5", "rms"})
      CHECK(refusal(name, pixel, mode).empty());
  }
  CHECK(Norm::of_steps("batch", 5).at_step(row, 1, training(random)).shape() == row.shape());
  for (const char* name : {"batch", "whiten"}) {
    CHECK(refusal(name, row, {}).empty());
    CHECK(refusal(name, zeros({0, 5}), training(random)).empty());
    CHECK(refusal(name, random.normal({2, 5}), training(random)).empty());
    CHECK(refusal(name, pixels, training(random)).empty());
  }
}

TEST_CASE("networks take every normalization that fits them", "[nn][norm]") {
  Random random(7);
  const Tensor images = random.uniform({2, 1, 28, 28});
  for (const std::string& name : norm_names()) {
    DYNAMIC_SECTION(name) {
      const NormSpec spec(name);
      const ConvNet conv(random, {.norm = spec});
      const Tensor before = conv.first(images);
      const Tensor after = conv.first_norm(before, training(random));
      const std::string& method = spec.method->name;
      if (method == "instance")
        CHECK(tapegrad::norm(mean(after, {2, 3})).item() < norm_precision * 10);
      if (method == "batch")
        CHECK(tapegrad::norm(mean(after, {0, 2, 3})).item() < norm_precision * 10);
      if (method == "layer")
        CHECK(tapegrad::norm(mean(after, {1, 2, 3})).item() < norm_precision * 10);
      if (method == "group")
        CHECK(tapegrad::norm(mean(reshape(after, {4, -1}), 1)).item() < norm_precision * 10);
      if (method == "divisive") {
        const NormField field{.axes = {1}, .window = {2, 3}, .radius = 2};
        CHECK(relative_error(after, normalize(before, both(field))) == 0);
      }
      CHECK(range(conv(images, training(random))).non_finite == 0);
      if (spec.method->needs_positions) {
        CHECK_THROWS_WITH(Mlp({784, 8, 10}, random, {.norm = spec}), Contains(name));
        return;
      }
      const Mlp mlp({784, 8, 10}, random, {.norm = spec});
      CHECK(range(mlp(images, training(random))).non_finite == 0);
      const bool has_gain = [&] {
        for (const auto& [field, parameter] : fields(mlp).parameters())
          if (field == "layers.0.gain") return true;
        return false;
      }();
      CHECK(has_gain == spec.normalized_weights);
    }
  }
}

TEST_CASE("weight normalization of layers", "[nn][norm]") {
  Random random(8);
  const Linear linear(4, 3, random, {.weight_norm = true});
  const Tensor x = random.normal({2, 4});
  const Tensor plain = matmul(x, linear.weight) + linear.bias;
  CHECK(relative_error(linear(x), plain) < norm_precision);  // the gain starts as |v|
  const Conv2d conv(2, 3, 3, random, {.weight_norm = true});
  const Tensor image = random.normal({1, 2, 5, 5});
  CHECK(relative_error(conv(image), conv2d(image, conv.weight) + conv.bias) < norm_precision);
  const Conv1d line(2, 3, 3, random, {.weight_norm = true});
  const Tensor row = random.normal({1, 2, 5});
  CHECK(relative_error(line(row), conv1d(row, line.weight) + line.bias) < norm_precision);
  CHECK(line.gain.shape() == Shape{3, 1, 1});
  const Tensor before = linear(x);
  Parameter weight = linear.weight;
  weight.set(detach(weight) * 3.0);
  CHECK(relative_error(linear(x), before) < norm_precision);  // only the direction of v counts
}

TEST_CASE("norms that do not exist are refused by name", "[nn][norm]") {
  CHECK_THROWS_WITH(NormSpec("lyer"), Contains("lyer") && Contains("layer_simple"));
  CHECK_THROWS_WITH(NormSpec("ada:q=1"), Contains("q=1") && Contains("c, ") && Contains("k"));
  CHECK_THROWS_WITH(NormSpec("layer:c=1"), Contains("c=1"));
  CHECK_THROWS_WITH(NormSpec("layer:eps"), Contains("eps"));
  CHECK_THROWS_WITH(NormSpec("layer:eps=abc"), Contains("abc"));
  CHECK_THROWS_WITH(NormSpec("layer:eps=-1"), Contains("-1"));
  CHECK_THROWS_WITH(NormSpec("none:eps=1"), Contains("none"));
  CHECK_THROWS_WITH(NormSpec("divisive:unbiased=1"), Contains("biased"));
  CHECK_THROWS_WITH(NormSpec("layer:learn_s=1,place=out"), Contains("inside"));
  CHECK_THROWS_WITH(Norm("group:groups=5", 12), Contains("5 groups") && Contains("12"));
  CHECK_THROWS_WITH(Norm("instance", 4), Contains("images"));
}

TEST_CASE("a program's own normalization goes wherever others go", "[nn][norm]") {
  Random random(9);
  const Tensor x = random.normal({4, 3, 8});
  NormSpec spec;
  spec.method = std::make_shared<Largest>();
  CHECK(relative_error(max(abs(Norm(spec, 8)(x)), -1), ones({4, 3})) < 1e-3);
  const RecurrentLayer layer(Cell::lstm, 8, 5, random, {.norm = spec});
  CHECK(&*layer.cell_norm->spec.method == &*spec.method);
  CHECK(range(layer(x).outputs).non_finite == 0);
  const TransformerOptions options{.layers = 1, .heads = 2, .channels = 8, .norm = spec};
  const TransformerStack stack(random, options);
  CHECK(relative_error(max(abs(stack(x)), -1), ones({4, 3})) < 1e-3);  // its last norm

  CHECK_THROWS_WITH(spec.method = std::shared_ptr<Largest>(), Contains("must not be null"));
  const auto mixing = std::make_shared<Largest>();
  mixing->mixes_samples = true;
  spec.method = mixing;
  CHECK_THROWS_WITH(expect_transformer_norm(spec), Contains("largest normalization"));
  CHECK_THROWS_WITH(RecurrentLayer(Cell::gru, 2, 3, random, {.norm = spec}),
                    Contains("largest normalization") && Contains("statistics for each step"));
}

TEST_CASE("the fuzzer's dictionary has every name and every option of norms", "[nn][norm]") {
  const std::string words = read_text("tests/attack/dictionaries/named_options.dict");
  for (const std::string& name : norm_names()) {
    CHECK_THAT(words, Contains('"' + name + '"'));
    const std::string refusal = [&] {
      try {
        NormSpec(name + ":?");
      } catch (const ArgumentError& error) {
        return std::string(error.what());
      }
      return std::string();
    }();
    std::stringstream options(refusal.substr(refusal.find("available: ") + 11));
    for (std::string option; std::getline(options, option, ',');)
      if (option != " ")
        CHECK_THAT(words, Contains(option.substr(option.find_first_not_of(' ')) + '='));
  }
}

TEST_CASE("normalization layers agree with PyTorch", "[nn][norm]") {
  struct GoldenRow {
    const char* name;
    NormSpec spec;
    Channels where;
  };
  const GoldenRow rows[] = {
      {"layer", "layer", Channels::last},
      {"rms", "rms", Channels::last},
      {"batch", "batch", Channels::last},
      {"batch_evaluated", "batch", Channels::last},
      {"batch_images", "batch", Channels::second},
      {"batch_images_evaluated", "batch", Channels::second},
      {"instance", "instance", Channels::second},
      {"group", "group", Channels::second},
      {"group_features", "group", Channels::last},
      {"layer_images", "layer", Channels::second},
  };
  for (const GoldenRow& row : rows) {
    DYNAMIC_SECTION(row.name) {
      const Golden expected = golden("norms.json", row.name);
      const Tensor& x = expected.inputs[0];
      const Index channels = expected.inputs[1].size();
      Norm norm(row.spec, channels, row.where);
      norm.gain.set(expected.inputs[1].view(norm.gain.shape()));
      const bool with_bias = norm.bias.defined();
      if (with_bias) norm.bias.set(expected.inputs[2].view(norm.bias.shape()));
      Random random(1);
      const bool evaluated = std::string(row.name).ends_with("evaluated");
      for (std::size_t i = 3; evaluated && i < expected.inputs.size(); ++i)
        norm(expected.inputs[i], training(random));
      const Function f = [&](const std::vector<Tensor>& in) {
        return evaluated ? norm(in[0]) : norm(in[0], training(random));
      };
      CHECK(relative_error(f({x}), expected.value) < golden_tolerance);
      const Tape tape;
      const Tensor leaf = watch(x);
      const Tensor value = f({leaf});
      std::vector<Tensor> leaves{leaf, norm.gain};
      if (with_bias) leaves.push_back(norm.bias);
      const std::vector<Tensor> found = grad(value, leaves, {.seed = expected.seed});
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(relative_error(reshape(found[i], expected.gradients[i].shape()),
                             expected.gradients[i]) < golden_tolerance);
    }
  }
}

TEST_CASE("every normalization goes around the function in scope", "[nn][norm]") {
  Random random(3);
  const Mlp mlp({6, 8, 8, 2}, random, {.norm = "layer_simple"});
  const Tensor x = random.normal({4, 6});
  const Tensor plain = mlp(x);
  const auto named = fields(mlp).norms();
  REQUIRE(named.size() == 2);
  CHECK(named[0].name == "layers.1");
  CHECK(named[1].name == "layers.4");

  std::vector<const void*> seen;
  {
    const AroundNorms around([&](const Norm& norm, const Tensor& in, const auto& apply) {
      seen.push_back(norm.identity());
      return apply(in) * 2.0;
    });
    CHECK(AroundNorms::active());
    CHECK(relative_error(mlp(x), plain) > 0.1);
    const Mlp copy = mlp;
    copy(x);
    const Norm none("none", 6);
    CHECK(relative_error(none(x), 2.0 * x) == 0);
    {
      const AroundNorms inner(
          [](const Norm&, const Tensor& in, const auto& apply) { return apply(in); });
      CHECK(relative_error(mlp(x), plain) == 0);
    }
    CHECK(AroundNorms::active());
  }
  CHECK_FALSE(AroundNorms::active());
  CHECK(relative_error(mlp(x), plain) == 0);
  REQUIRE(seen.size() == 5);
  CHECK(seen[0] == named[0].identity);
  CHECK(seen[1] == named[1].identity);
  CHECK(seen[2] == seen[0]);
  CHECK(seen[4] != seen[0]);
}

TEST_CASE("the norms of a recurrent layer are seen at each step", "[nn][norm]") {
  Random random(4);
  const RecurrentLayer layer(Cell::lstm, 3, 5, random, {.norm = "layer"});
  const Tensor x = random.normal({7, 2, 3});
  const Tensor plain = layer(x).outputs;
  int uses = 0;
  const AroundNorms around([&](const Norm&, const Tensor& in, const auto& apply) {
    ++uses;
    return apply(in);
  });
  CHECK(relative_error(layer(x).outputs, plain) < norm_precision);
  CHECK(uses == 1 + 7 + 7);  // of all inputs at once, of h W_h and of c
}
