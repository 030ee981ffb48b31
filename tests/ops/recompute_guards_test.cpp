#include <catch2/catch.hpp>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/transformer.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// A stack of recomputed blocks or plain ones, and an input for it.
struct Blocks {
  Random random{1};
  TransformerStack stack;
  Tensor data;

  explicit Blocks(bool recomputed)
      : stack(random, {.layers = 2, .heads = 2, .channels = 8, .recompute = recomputed}),
        data(random.normal({1, 3, 8})) {}
};

}  // namespace

TEST_CASE("a tensor that leaves recompute beside the result is refused", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(2.0));
  Tensor kept;
  const Tensor y = recompute(
      [&](const Tensors& in) {
        kept = in[0] * in[0];
        return kept * 5.0;
      },
      {x});
  CHECK_THROWS_WITH(y + 7.0 * kept,
                    Contains("mul: input 1") && Contains("recompute") && Contains("detach()"));
  CHECK_THROWS_WITH(grad(kept, x), Contains("grad: input 0") && Contains("recompute"));
  CHECK((y + 7.0 * detach(kept)).item() == 48);  // its value lives on
  CHECK(grad(y, x).item() == 20);
  CHECK_THROWS_AS(kept + 1.0, TapeError);  // the second run's as well
}

TEST_CASE("tensors from around recompute may be used in it, and after it", "[tape]") {
  const Parameter w(Tensor(3.0), "w");
  const Tape tape;
  const Tensor x = watch(Tensor(2.0)), outer = x * w;
  Tensor leaf;
  const Function f = [&](const Tensors& in) {
    leaf = w;
    const Function inner = [&](const Tensors& deeper) { return deeper[0] * outer * leaf; };
    return recompute(inner, {in[0] * outer});
  };
  const Tensor y = recompute(f, {x});  // x (3 x) (3 x) 3 = 27 x^3, or 3 w^3 x^3 / 3
  CHECK(y.item() == 216);
  CHECK((leaf * x).item() == 6);  // the leaf was there before
  CHECK(tape.label(leaf.node()) == "w");
  CHECK(grad(y, x).item() == 324);  // 81 x^2
}

TEST_CASE("what leaves nothing to recompute leaves nothing on the tape", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(2.0));
  Tensor kept;
  const Tensor y = recompute(
      [&](const Tensors& in) {
        kept = square(in[0]);
        return in[0];
      },
      {x});
  CHECK(y.node() == x.node());
  CHECK(tape.size() == 1);
  CHECK_THROWS_AS(kept + 1.0, TapeError);
}

TEST_CASE("a function that throws leaves tape and random numbers as they were", "[tape]") {
  Random random(5);
  const Tape tape;
  const Tensor x = watch(ones({4}));
  int calls = 0, throws_in = 1;
  const Function f = [&](const Tensors& in) {
    const Tensor y = dropout(in[0], 0.5, random);
    if (++calls == throws_in) throw std::runtime_error("boom");
    return y;
  };
  CHECK_THROWS_WITH(recompute(f, {x}), "boom");
  CHECK(tape.size() == 1);
  throws_in = 3;
  const Tensor y = recompute(f, {x});
  random.uniform({6});
  const auto before = random.state();
  const std::int32_t size = tape.size();
  CHECK_THROWS_WITH(grad(sum(y), x, {.keep = true}), "boom");
  CHECK(random.state() == before);
  CHECK(tape.size() == size + 1);  // the sum
  CHECK_FALSE(recomputing());
  CHECK(recording());
  const Tensor slope = grad(sum(y), x);
  for (const real g : slope.values()) CHECK((g == 0 || g == 2));
}

TEST_CASE("a parameter that has changed before the sweep is refused", "[tape]") {
  Parameter p(Tensor(3.0), "p");
  const auto recomputed = [&] {
    return recompute([&](const Tensors& in) { return in[0] * p; }, {watch(Tensor(0.0))});
  };
  SECTION("set") {
    const Tape tape;
    const Tensor y = recomputed();
    p.set(Tensor(100.0));
    CHECK_THROWS_WITH(grad(y, std::vector{p}), Contains("parameter p") && Contains("has changed"));
  }
  SECTION("by an optimizer, read before and inside") {
    Sgd optimizer({p});
    const Tape tape;
    const Tensor other = p * 2.0, y = recomputed();
    optimizer.step(grad(other, optimizer.parameters()));
    CHECK_THROWS_WITH(grad(y, std::vector{p}), Contains("has changed"));
  }
  SECTION("by an optimizer after the sweep") {
    Sgd optimizer({p});
    const Tape tape;
    CHECK_NOTHROW(optimizer.step(grad(recomputed(), optimizer.parameters())));
  }
}

TEST_CASE("a function that gives something else the second time is refused", "[tape]") {
  const Tape tape;
  const Tensor x = watch(ones({3}));
  double factor = 2;
  const Tensor y = recompute([&](const Tensors& in) { return in[0] * factor; }, {x});
  factor = 3;
  CHECK_THROWS_WITH(grad(sum(y), x), Contains("did something else the second time"));
}

TEST_CASE("a function that reads something else the second time is refused", "[tape]") {
  const Tape tape;
  const Tensor a = watch(Tensor(3.0)), b = watch(Tensor(3.0)), x = watch(Tensor(2.0));
  const auto refused = [&](const Function& f, const std::function<void()>& change) {
    const Tensor y = recompute(f, {x});
    change();
    CHECK_THROWS_WITH(grad(sum(y), {x, a, b}), Contains("did something else the second time"));
  };
  Tensor w = a;
  const Function product = [&](const Tensors& in) { return in[0] * w; };
  SECTION("another tensor of the same value") {
    refused(product, [&] { w = b; });
  }
  SECTION("its value alone") {
    refused(product, [&] { w = detach(a); });
  }
  SECTION("a later node") {
    refused(product, [&] { w = a * 1.0; });
  }
  SECTION("another parameter of the same value") {
    Parameter p(Tensor(2.0));
    refused([&](const Tensors& in) { return in[0] * p; }, [&] { p = Parameter(Tensor(2.0)); });
  }
  SECTION("the same, detached") {
    bool detached = false;
    refused([&](const Tensors& in) { return in[0] * (detached ? detach(in[0]) : in[0]); },
            [&] { detached = true; });
  }
  SECTION("the same values in another shape") {
    bool turned = false;
    refused(
        [&](const Tensors& in) {
          return reshape(in[0] * ones({6}), turned ? Shape{3, 2} : Shape{2, 3});
        },
        [&] { turned = true; });
  }
  SECTION("nothing that is recorded") {
    bool constant = false;
    refused([&](const Tensors& in) { return constant ? Tensor(6.0) : in[0] * 3.0; },
            [&] { constant = true; });
  }
  SECTION("its input") {
    bool input = false;
    refused([&](const Tensors& in) { return input ? in[0] : in[0] * 1.0; }, [&] { input = true; });
  }
}

TEST_CASE("what a function computes beside its result may differ", "[tape]") {
  const Tape tape;
  const Tensor x = watch(Tensor(2.0));
  std::vector<double> seen;
  const Tensor y = recompute(
      [&](const Tensors& in) {
        const Tensor squared = square(in[0]);
        if (!recomputing()) seen.push_back((squared * 3.0).item());
        return squared * in[0];
      },
      {x});
  CHECK(grad(y, x).item() == 12);
  CHECK(seen == std::vector<double>{12});
}

TEST_CASE("random numbers that have ended are refused, the function's own are not", "[tape]") {
  const Tape tape;
  const Tensor x = watch(ones({64}));
  auto outer = std::make_unique<Random>(3);
  const Tensor y = recompute([&](const Tensors& in) { return dropout(in[0], 0.5, *outer); }, {x});
  outer.reset();
  CHECK_THROWS_WITH(grad(sum(y), x), Contains("a Random that the function drew from has ended"));
  Tensor total(0.0);
  for (int i = 0; i < 20; ++i)
    total = total + sum(recompute(
                        [](const Tensors& in) {
                          const auto own = std::make_unique<Random>(4);
                          return dropout(in[0], 0.5, *own);
                        },
                        {x}));
  const Tensor g = grad(total, x);
  for (const real each : g.values()) CHECK((each == 0 || each == 40));
}

TEST_CASE("a function must be there, and return something", "[tape]") {
  const auto check = [](const Tensor& x) {
    CHECK_THROWS_WITH(recompute(Function(), {x}), Contains("is empty"));
    CHECK_THROWS_WITH(recompute(ManyFunction(), {x}), Contains("is empty"));
    CHECK_THROWS_WITH(recompute([](const Tensors&) { return Tensor(); }, {x}),
                      Contains("undefined"));
    CHECK_THROWS_WITH(recompute([](const Tensors&) { return Tensors{Tensor()}; }, {x}),
                      Contains("result 0 is undefined"));
    CHECK_THROWS_WITH(recompute([](const Tensors&) { return Tensors(); }, {x}),
                      Contains("no results"));
  };
  check(ones({2}));
  const Tape tape;
  check(watch(ones({2})));
}

TEST_CASE("a function may own the random numbers that it draws", "[tape]") {
  const auto gradient = [](bool recomputed) {
    const Tape tape;
    const Tensor x = watch(ones({64}));
    const Function f = [own = Random(3)](const Tensors& in) mutable {
      return dropout(in[0], 0.5, own);
    };
    return grad(sum(recomputed ? recompute(f, {x}) : f({x})), x);
  };
  CHECK(sum(abs(gradient(true) - gradient(false))).item() == 0);
}

TEST_CASE("the readable definition is recomputed where it was taken first", "[tape]") {
  const auto gradient = [](bool recomputed) {
    Random random(2);
    const Tape tape;
    const Tensor x = watch(random.normal({4, 8}));
    const Function f = [](const Tensors& in) { return layer_norm(gelu(in[0])); };
    std::optional<Composite> readable(std::in_place);
    const Tensor y = recomputed ? recompute(f, {x}) : f({x});
    readable.reset();
    return grad(sum(sin(y)), x);
  };
  CHECK(sum(abs(gradient(true) - gradient(false))).item() == 0);
}

TEST_CASE("penalties on the activations of recomputed blocks are refused", "[tape][norm]") {
  for (const bool recomputed : {false, true}) {
    Blocks blocks(recomputed);
    const Tape tape;
    Tensor penalty(0.0);
    const AroundNorms collect([&](const Norm&, const Tensor& v, const AroundNorms::Apply& apply) {
      penalty = penalty + sum(square(v));
      return apply(v);
    });
    const auto run = [&] {
      const Tensor y = blocks.stack(watch(blocks.data));
      grad(sum(y) + penalty, parameters(blocks.stack));
    };
    if (recomputed)
      CHECK_THROWS_WITH(run(), Contains("add: input 0") && Contains("recompute"));
    else
      CHECK_NOTHROW(run());
  }
}

TEST_CASE("what surrounds recomputed blocks must last until the sweep", "[tape][norm]") {
  const auto twice = [](const Norm&, const Tensor& v, const AroundNorms::Apply& apply) {
    return apply(v) * 2.0;
  };
  const auto gradient = [&](bool recomputed, bool ends_early) {
    Blocks blocks(recomputed);
    const Tape tape;
    const Tensor x = watch(blocks.data);
    std::optional<AroundNorms> around(std::in_place, twice);
    const Tensor y = blocks.stack(x);
    if (ends_early) around.reset();
    return grad(sum(y * y), x);
  };
  CHECK(sum(abs(gradient(true, false) - gradient(false, false))).item() == 0);
  CHECK_THROWS_WITH(gradient(true, true), Contains("AroundNorms"));
  CHECK_NOTHROW(gradient(false, true));

  Blocks blocks(true);
  const Tape tape;
  const Tensor x = watch(blocks.data), y = blocks.stack(x);
  const AroundNorms late(twice);
  CHECK_THROWS_WITH(grad(sum(y), x), Contains("AroundNorms"));
}
