#include "tapegrad/zoo/draw.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

const DrawOptions small{.glimpses = 3, .hidden = 5, .latent = 2, .read = 2, .write = 3};

DrawOptions normalized(DrawOptions options) {
  options.recurrent = {.norm = "layer", .placement = CellNormPlacement::cell};
  return options;
}

Tensor binary(const Shape& shape, std::uint64_t seed) {
  return greater(Random(seed).uniform(shape), 0.5);
}

double nats(const Tensor& canvas, const Tensor& images) {
  return binary_cross_entropy_with_logits(canvas, images, {.reduction = Reduction::sum}).item();
}

}  // namespace

TEST_CASE("DRAW's reading and writing follow its equations", "[models]") {
  Random random(1), noise(2), same_noise(2);
  const Draw net(6, 5, random, small);
  const Tensor x = binary({2, 6, 5}, 3);
  const Draw::Result result = net(x, noise);
  REQUIRE(result.glimpses.size() == 3);

  Tensor canvas = zeros({2, 6, 5}), divergence = zeros({2});
  RecurrentState encoder = net.encoder.first(2), decoder = net.decoder.first(2);
  for (const Draw::Glimpse& found : result.glimpses) {
    const GlimpseWindow seen = glimpse_window(net.read_window(decoder.h), {2, 6, 5});
    const GlimpseFilters to_read = glimpse_filters(seen, {2, 6, 5});
    const Tensor missing = x - sigmoid(canvas);
    const Tensor r = concat({reshape(read_glimpse(x, to_read), {2, 4}),
                             reshape(read_glimpse(missing, to_read), {2, 4}), decoder.h},
                            1);
    encoder = net.encoder.step(r, encoder);
    const Tensor mean = net.latent_mean(encoder.h), l = net.latent_log_deviation(encoder.h);
    decoder = net.decoder.step(mean + exp(l) * same_noise.normal({2, 2}), decoder);
    const GlimpseWindow where = glimpse_window(net.write_window(decoder.h), {3, 6, 5});
    canvas = canvas + write_glimpse(reshape(net.patch(decoder.h), {2, 3, 3}),
                                    glimpse_filters(where, {3, 6, 5}));
    divergence = divergence + sum(0.5 * (square(mean) + exp(2.0 * l) - 1.0) - l, -1);
    CHECK(relative_error(found.canvas, canvas) < golden_tolerance);
    CHECK(relative_error(found.read.x, seen.x) < golden_tolerance);
    CHECK(relative_error(found.write.stride, where.stride) < golden_tolerance);
  }
  CHECK(relative_error(result.divergence, divergence) < golden_tolerance);
  CHECK(sum(result.reconstruction).item() == Approx(nats(canvas, x)));
  CHECK(relative_error(result.bound(), result.reconstruction + divergence) < golden_tolerance);
}

TEST_CASE("DRAW looks at the whole image first", "[models]") {
  Random random(1), noise(2);
  const Draw::Result result = Draw(9, 9, random, small)(binary({2, 9, 9}, 3), noise);
  CHECK(max(abs(result.glimpses[0].read.x - 5.0)).item() < 1e-5);
  CHECK(max(abs(result.glimpses[0].read.stride - 8.0)).item() < 1e-5);
}

TEST_CASE("a sample of DRAW comes from the decoder alone", "[models]") {
  Random random(1), noise(2), same_noise(2);
  const Draw net(6, 6, random, small);
  const std::vector<Draw::Glimpse> sample = net.sample(4, noise);
  REQUIRE(sample.size() == 3);
  std::vector<Tensor> latents;
  for (int t = 0; t < 3; ++t) latents.push_back(same_noise.normal({4, 2}));
  CHECK(relative_error(sample[2].canvas, net.draw(latents)[2].canvas) == 0);
  CHECK_FALSE(sample[0].read.x.defined());
}

// p(x) of one step with one latent variable, by quadrature.
TEST_CASE("DRAW's bound lies above -log p", "[models]") {
  Random random(4);
  const Draw net(2, 2, random, {.glimpses = 1, .hidden = 3, .latent = 1, .read = 2, .write = 2});
  const Tensor x = binary({1, 2, 2}, 5);
  constexpr int points = 2001;
  double p = 0;
  for (int i = 0; i < points; ++i) {
    const double z = -8 + 16.0 * i / (points - 1);
    const Tensor canvas = net.draw({Tensor({1, 1}, {static_cast<real>(z)})})[0].canvas;
    p += std::exp(-nats(canvas, x) - z * z / 2) / std::sqrt(2 * std::numbers::pi) * 16.0 /
         (points - 1);
  }
  Random noise(6);
  constexpr int draws = 2000;
  double bound = 0;
  for (int i = 0; i < draws; ++i) bound += net(x, noise).bound().item() / draws;
  CHECK(bound > -std::log(p));
  CHECK(bound < -std::log(p) + 1);
}

TEST_CASE("derivatives of DRAW, with and without layer normalization", "[models]") {
  Random random(7);
  for (const DrawOptions& options : {small, normalized(small)}) {
    const Draw net(5, 5, random, options);
    const Tensor x = binary({2, 5, 5}, 8);
    const Function bound = [&](const std::vector<Tensor>& in) {
      Random noise(9);
      return net(in[0], noise).bound();
    };
    const CheckResult result = check_gradient(bound, {0.2 + 0.6 * x});
    INFO(result.message);
    CHECK(result);
    check_parameters(net, [&] { return bound({x}); });
  }
}

TEST_CASE("DRAW refuses what does not fit by name", "[models]") {
  Random random(1), noise(2);
  CHECK_THROWS_WITH(Draw(6, 0, random), Contains("draw: sizes must be positive: 0"));
  CHECK_THROWS_WITH(Draw(6, 6, random, {.read = 1}),
                    Contains("draw: a window needs two filters at least: 1"));
  const Draw net(6, 6, random, small);
  CHECK_THROWS_WITH(net(zeros({2, 6, 5}), noise),
                    Contains("draw: needs images (B, 6, 6): (2, 6, 5)"));
  CHECK_THROWS_WITH(net.draw({}), Contains("needs latent variables for a step"));
  CHECK_THROWS_WITH(net.draw({zeros({2, 2}), zeros({2, 3})}),
                    Contains("needs latent variables (2, 2): (2, 3)"));
}
