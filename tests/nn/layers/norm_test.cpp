#include "tapegrad/nn/layers/norm.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double precision = sizeof(real) == 8 ? 1e-9 : 1e-4;

// The property that makes each normalization what it is, of features (N, C) before gain and bias.
void check_features(const NormSpec& spec, const Tensor& x, const Tensor& y) {
  const Tensor zero = zeros({1});
  switch (spec.kind) {
    case NormKind::none:
      CHECK(relative_error(y, x) == 0);
      break;
    case NormKind::layer:
      CHECK(norm(mean(y, -1)).item() < precision);
      CHECK(relative_error(mean(square(y), -1), ones({x.shape()[0]})) < 1e-3);
      break;
    case NormKind::ada:
      CHECK(relative_error(mean(y, -1), full({x.shape()[0]}, -spec.ada.factor * spec.ada.slope)) <
            1e-3);
      break;
    case NormKind::rms:
      CHECK(relative_error(mean(square(y), -1), ones({x.shape()[0]})) < 1e-3);
      CHECK(norm(mean(y, -1)).item() > 0.1);
      break;
    case NormKind::whiten:
      CHECK(norm(mean(y, 0)).item() < precision * 10);
      break;
    case NormKind::batch:
      CHECK(norm(mean(y, 0)).item() < precision);
      CHECK(relative_error(mean(square(y), 0), ones({x.shape()[1]})) < 1e-3);
      break;
    case NormKind::group:
      CHECK(norm(mean(reshape(y, {-1, x.shape()[1] / spec.groups}), -1)).item() < precision);
      break;
    case NormKind::divisive:
      CHECK(relative_error(y, normalize(x, both({.window = {-1}, .radius = 8}))) == 0);
      break;
    case NormKind::instance:
      FAIL("features have no positions");
  }
}

}  // namespace

TEST_CASE("a normalization is made from its name", "[nn][norm]") {
  const Tensor x = Random(1).normal({6, 24}, 0.8, 1.5);
  Random random(2);
  for (const std::string& name : norm_names()) {
    const NormSpec spec(name);
    if (spec.kind == NormKind::instance) continue;
    DYNAMIC_SECTION(name) { check_features(spec, x, Norm(spec, 24)(x, training(random))); }
  }
}

TEST_CASE("detached statistics by name", "[nn][norm]") {
  const Tensor x = Random(1).normal({4, 8}), g = Random(2).normal({4, 8}, 1);
  const auto gradient = [&](const char* name) {
    const Norm norm(name, 8);
    return vjp([&](const auto& in) { return norm(in[0]); }, {x}, g)[0];
  };
  const Tensor s = sqrt(var(x, -1, Keep::yes) + 1e-5);
  CHECK(relative_error(gradient("detach"), g / s) < precision);
  CHECK(relative_error(gradient("detach_variance"), (g - mean(g, -1, Keep::yes)) / s) < precision);
  CHECK(relative_error(gradient("detach_mean") - mean(gradient("detach_mean"), -1, Keep::yes),
                       gradient("layer_simple")) < precision);
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
  CHECK(relative_error(Norm("layer:s=0.5", 12)(x), Norm("layer:eps=0.25", 12)(x)) < precision);
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
  CHECK(relative_error(slow.running_mean.value(), 0.01 * mean(x, 0)) < precision);
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
  CHECK(relative_error(reshape(norm.running_mean, {3}), 0.1 * mean_now) < precision);
  CHECK(relative_error(reshape(norm.running_variance, {3}), 0.9 + 0.1 * var_now) < precision);
  const Tensor y = norm(x);
  CHECK(relative_error(norm(slice(x, 0, 2, 3)), slice(y, 0, 2, 3)) == 0);  // batch-independent
  CHECK(relative_error(reshape(norm.running_mean, {3}), 0.1 * mean_now) < precision);  // unchanged
  // one case: no deviation, no NaN
  const Norm features("batch", 5);
  const Tensor single = features(random.normal({1, 5}), training(random));
  CHECK(tapegrad::norm(single).item() == 0);
  CHECK(range(features(random.normal({1, 5}))).non_finite == 0);
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
      if (spec.kind == NormKind::instance)
        CHECK(tapegrad::norm(mean(after, {2, 3})).item() < precision * 10);
      if (spec.kind == NormKind::batch)
        CHECK(tapegrad::norm(mean(after, {0, 2, 3})).item() < precision * 10);
      if (spec.kind == NormKind::layer)
        CHECK(tapegrad::norm(mean(after, {1, 2, 3})).item() < precision * 10);
      if (spec.kind == NormKind::group)
        CHECK(tapegrad::norm(mean(reshape(after, {4, -1}), 1)).item() < precision * 10);
      CHECK(range(conv(images, training(random))).non_finite == 0);
      if (spec.kind == NormKind::instance) {
        CHECK_THROWS_WITH(Mlp({784, 8, 10}, random, {.norm = spec}), Contains("instance"));
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
  CHECK(relative_error(linear(x), plain) < precision);  // the gain starts as |v|
  const Conv2d conv(2, 3, 3, random, {.weight_norm = true});
  const Tensor image = random.normal({1, 2, 5, 5});
  CHECK(relative_error(conv(image), conv2d(image, conv.weight) + conv.bias) < precision);
  const Conv1d line(2, 3, 3, random, {.weight_norm = true});
  const Tensor row = random.normal({1, 2, 5});
  CHECK(relative_error(line(row), conv1d(row, line.weight) + line.bias) < precision);
  CHECK(line.gain.shape() == Shape{3, 1, 1});
  const Tensor before = linear(x);
  Parameter weight = linear.weight;
  weight.set(detach(weight) * 3.0);
  CHECK(relative_error(linear(x), before) < precision);  // only the direction of v counts
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
  CHECK(relative_error(layer(x).outputs, plain) < precision);
  CHECK(uses == 1 + 7 + 7);  // of all inputs at once, of h W_h and of c
}

TEST_CASE("four axes may be images, and it has to be said", "[norm]") {
  const Tensor image = Random(4).normal({2, 6, 6, 6});  // as wide as it has channels
  for (const char* name : {"layer", "batch", "group", "rms", "ada", "divisive"}) {
    CHECK_THROWS_WITH(Norm(name, 6)(image),
                      Contains("(2, 6, 6, 6)") && Contains("Channels::second"));
    CHECK_NOTHROW(Norm(name, 6, Channels::second)(image));
    CHECK_NOTHROW(Norm(name, 6, Channels::last)(image));
  }
  const Norm last("batch", 6, Channels::last), second("batch", 6, Channels::second);
  Random random(5);
  CHECK(max(abs(last(image, training(random)) - second(image, training(random)))).item() > 0.1);
}

TEST_CASE("a signal is normalized as an image one element wide", "[norm]") {
  Random random(6);
  const Tensor signal = random.normal({3, 4, 7});
  for (const std::string& name : norm_names()) {
    const Norm norm(name, 4, Channels::second), twin = clone(norm);
    for (const Mode mode : {training(random), Mode()}) {
      const Tensor y = norm(signal, mode);
      const Tensor image = twin(reshape(signal, {3, 4, 7, 1}), mode);
      CHECK(max(abs(reshape(y, image.shape()) - image)).item() == 0);
    }
  }
  CHECK_THROWS_WITH(Norm("batch", 4, Channels::second)(ones({3, 4})), Contains("(3, 4)"));
}

TEST_CASE("every normalization refuses other channels than its own", "[norm]") {
  for (const std::string& name : norm_names()) {
    if (NormSpec(name).kind == NormKind::none) continue;
    INFO(name);
    for (const Index other : {0, 1, 2, 6}) {
      CHECK_THROWS_AS(Norm(name, 4, Channels::second)(ones({2, other, 3, 3})), ShapeError);
      CHECK_THROWS_AS(Norm(name, 4, Channels::second)(ones({2, other, 3})), ShapeError);
      if (NormSpec(name).kind == NormKind::instance) continue;
      CHECK_THROWS_AS(Norm(name, 4)(ones({2, other})), ShapeError);
      CHECK_THROWS_AS(Norm(name, 4)(ones({0, other})), ShapeError);
    }
  }
  CHECK_THROWS_WITH(Norm("layer_simple", 3)(ones({4, 6})),
                    Contains("3 channels, on axis 1: (4, 6)"));
}

TEST_CASE("every normalization of every small batch keeps its shape or refuses it", "[norm]") {
  Random random(8);
  for (const std::string& name : norm_names())
    for (int bits = 0; bits < 16; ++bits) {
      const auto extent = [&](int bit) { return Index{bits >> bit & 1}; };
      const Shape image{extent(0), extent(1), extent(2), extent(3)};
      for (const Shape& shape : {image.without(3).without(2), image.without(3), image}) {
        const Channels where = shape.rank() == 2 ? Channels::features : Channels::second;
        INFO(name << " of " << shape);
        bool refused = false;
        for (const Mode mode : {training(random), Mode()}) try {
            const Norm norm(name, extent(1), where);
            const Tape tape;
            const Tensor x = watch(ones(shape)), y = norm(x, mode);
            CHECK(y.shape() == shape);
            for (const Tensor& each : {y, grad(sum(y), x)})
              CHECK(std::ranges::all_of(each.values(), [](real v) { return std::isfinite(v); }));
          } catch (const Error&) {
            refused = true;
          }
        const NormKind kind = NormSpec(name).kind;
        const bool lacks_positions = kind == NormKind::instance && shape.rank() == 2;
        CHECK(refused == (extent(1) == 0 || kind == NormKind::group || lacks_positions));
      }
    }
}

TEST_CASE("a batch of nothing leaves running averages unchanged", "[norm]") {
  Random random(7);
  for (const std::string name : {"batch", "whiten:groups=1", "whiten:groups=1,unbiased=1"})
    for (const bool images : {false, true}) {
      const Norm norm(name, 3, images ? Channels::second : Channels::features);
      const auto averages = [&] {
        std::vector<real> all;
        for (const Buffer& each :
             {norm.running_mean, norm.running_variance, norm.running_whitening})
          for (const real value : each.value().values()) all.push_back(value);
        return all;
      };
      const std::vector<real> before = averages();
      const std::vector<Shape> empty = images ? std::vector<Shape>{{0, 3, 2, 2}, {2, 3, 0, 2}}
                                              : std::vector<Shape>{{0, 3}, {2, 0, 3}};
      for (const Shape& shape : empty)
        for (const Mode mode : {training(random), Mode()}) {
          const Tape tape;
          const Tensor x = watch(zeros(shape)), y = norm(x, mode);
          CHECK(y.shape() == shape);
          CHECK(grad(sum(y), x).shape() == shape);
          CHECK(averages() == before);
        }
      norm(images ? ones({1, 3, 1, 1}) : ones({1, 3}), training(random));  // one row
      for (const real value : averages()) CHECK(std::isfinite(value));
    }
}
