#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a norm of four axes needs to know which are channels", "[norm]") {
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
    const NormSpec spec(name);
    if (!spec.method->normalizes) continue;
    INFO(name);
    for (const Index other : {0, 1, 2, 6}) {
      CHECK_THROWS_AS(Norm(name, 4, Channels::second)(ones({2, other, 3, 3})), ShapeError);
      CHECK_THROWS_AS(Norm(name, 4, Channels::second)(ones({2, other, 3})), ShapeError);
      if (spec.method->needs_positions) continue;
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
        const NormSpec spec(name);
        const bool lacks_positions = spec.method->needs_positions && shape.rank() == 2;
        const bool one_value = shape.size() == 1 &&  // per channel, less its mean
                               (spec.method->needs_positions || spec.method->mixes_samples);
        CHECK(refused ==
              (extent(1) == 0 || spec.method->parts() > 1 || lacks_positions || one_value));
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
        for (const NamedBuffer& each : norm.buffers)
          for (const real value : each.buffer.value().values()) all.push_back(value);
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
      norm(images ? ones({2, 3, 1, 1}) : ones({2, 3}), training(random));
      for (const real value : averages()) CHECK(std::isfinite(value));
    }
}
