#include "tapegrad/zoo/draw.h"

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr Index numbers_of_window = 5;

DrawOptions checked(Index height, Index width, const DrawOptions& options) {
  const auto [glimpses, hidden, latent, read, write, recurrent] = options;
  for (const Index size : {height, width, glimpses, hidden, latent})
    expect<ArgumentError>(size >= 1, "draw: sizes must be positive: {}", size);
  for (const Index filters : {read, write})
    expect<ArgumentError>(filters >= 2, "draw: a window needs two filters at least: {}", filters);
  return options;
}

// With biases 0 a window begins as the whole image.
Linear without_bias_at_first(Index in, Index out, Random& random) {
  Linear layer(in, out, random);
  layer.bias.set(zeros({out}));
  return layer;
}

}  // namespace

Draw::Draw(Index image_height, Index image_width, Random& random, const DrawOptions& chosen)
    : height(image_height),
      width(image_width),
      options(checked(height, width, chosen)),
      read_window(without_bias_at_first(options.hidden, numbers_of_window, random)),
      encoder(Cell::lstm, 2 * options.read * options.read + options.hidden, options.hidden, random,
              options.recurrent),
      latent_mean(options.hidden, options.latent, random),
      latent_log_deviation(options.hidden, options.latent, random),
      decoder(Cell::lstm, options.latent, options.hidden, random, options.recurrent),
      patch(options.hidden, options.write * options.write, random),
      write_window(without_bias_at_first(options.hidden, numbers_of_window, random)) {}

Draw::State Draw::first(Index batch) const {
  return {zeros({batch, height, width}), encoder.first(batch), decoder.first(batch)};
}

GlimpseWindow Draw::window(const Linear& layer, const Tensor& h, Index filters) const {
  return glimpse_window(layer(h), {filters, height, width});
}

GlimpseWindow Draw::write(State& state, const Tensor& z, Mode mode) const {
  state.decoder = decoder.step(z, state.decoder, mode);
  const Tensor& h = state.decoder.h;
  const GlimpseWindow where = window(write_window, h, options.write);
  const Tensor patches = reshape(patch(h), {h.shape()[0], options.write, options.write});
  const GlimpseFilters filters = glimpse_filters(where, {options.write, height, width});
  state.canvas = state.canvas + write_glimpse(patches, filters);
  return where;
}

Draw::Result Draw::operator()(const Tensor& images, Random& noise, Mode mode) const {
  expect_defined("draw", images);
  expect(images.rank() == 3 && images.shape().without(0) == Shape{height, width},
         "draw: needs images (B, {}, {}): {}", height, width, images.shape());
  const Index batch = images.shape()[0];
  State state = first(batch);
  Result result{.glimpses = {}, .reconstruction = {}, .divergence = zeros({batch})};
  for (Index t = 0; t < options.glimpses; ++t) {
    const GlimpseWindow seen = window(read_window, state.decoder.h, options.read);
    const GlimpseFilters filters = glimpse_filters(seen, {options.read, height, width});
    const auto read = [&](const Tensor& image) {
      return reshape(read_glimpse(image, filters), {batch, options.read * options.read});
    };
    const Tensor missing = images - sigmoid(state.canvas);
    state.encoder = encoder.step(concat({read(images), read(missing), state.decoder.h}, 1),
                                 state.encoder, mode);
    const Tensor mean = latent_mean(state.encoder.h),
                 log_deviation = latent_log_deviation(state.encoder.h);
    result.divergence =
        result.divergence + gaussian_kl(mean, log_deviation, {.reduction = Reduction::none});
    const Tensor z = mean + exp(log_deviation) * noise.normal(mean.shape());
    const GlimpseWindow written = write(state, z, mode);
    result.glimpses.push_back({seen, written, state.canvas});
  }
  result.reconstruction =
      sum(binary_cross_entropy_with_logits(state.canvas, images, {.reduction = Reduction::none}),
          Axes{1, 2});
  return result;
}

Tensor Draw::Result::bound() const { return reconstruction + divergence; }

std::vector<Draw::Glimpse> Draw::draw(const std::vector<Tensor>& latents) const {
  expect<ArgumentError>(!latents.empty(), "draw: needs latent variables for a step at least");
  expect_defined("draw", latents.front());
  expect(latents.front().rank() == 2, "draw: needs latent variables (B, {}): {}", options.latent,
         latents.front().shape());
  const Shape expected{latents.front().shape()[0], options.latent};
  State state = first(expected[0]);
  std::vector<Glimpse> glimpses;
  for (const Tensor& z : latents) {
    expect_defined("draw", z);
    expect(z.shape() == expected, "draw: needs latent variables {}: {}", expected, z.shape());
    const GlimpseWindow written = write(state, z, {});
    glimpses.push_back({{}, written, state.canvas});
  }
  return glimpses;
}

std::vector<Draw::Glimpse> Draw::sample(Index count, Random& noise) const {
  std::vector<Tensor> latents;
  for (Index t = 0; t < options.glimpses; ++t)
    latents.push_back(noise.normal({count, options.latent}));
  return draw(latents);
}

void Draw::visit(Fields& field) const {
  field("read_window", read_window);
  field("encoder", encoder);
  field("latent_mean", latent_mean);
  field("latent_log_deviation", latent_log_deviation);
  field("decoder", decoder);
  field("patch", patch);
  field("write_window", write_window);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
