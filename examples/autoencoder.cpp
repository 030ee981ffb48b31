// Trains a variational autoencoder (Kingma and Welling 2014) on rings: learns two numbers for each
// image from the images alone, and draws new images on a grid of such numbers.
#include <tapegrad/tapegrad.h>

#include <cmath>

using namespace tapegrad;

const Index side = 12, pixels = side * side, latent = 2;

// Rings of all sizes, anywhere along a line: images in [0, 1], of shape (count, pixels).
Tensor draw_rings(Index count, Random& random) {
  const Tensor y = reshape(floor(arange(pixels) / side), {1, pixels});
  const Tensor x = reshape(arange(pixels), {1, pixels}) - side * y;
  const Tensor radius = random.uniform({count, 1}, 1, 5), middle = 5.5;
  const Tensor shift = random.uniform({count, 1}, -3, 3);
  const Tensor distance = sqrt(square(x - middle - shift) + square(y - middle)) - radius;
  return exp(-square(distance));
}

struct Autoencoder {
  Mlp encoder, decoder;

  explicit Autoencoder(Random& random)
      : encoder({pixels, 128, 64, 2 * latent}, random),
        decoder({latent, 64, 128, pixels}, random) {}
  void visit(Fields& field) const {
    field("encoder", encoder);
    field("decoder", decoder);
  }
};

// Minus the evidence lower bound in nats, as a mean over the images: what is lost in the images,
// and how far the latent numbers are from N(0, 1).
Tensor loss_of(const Autoencoder& net, const Tensor& images, Random& random) {
  const std::vector<Tensor> code = split(net.encoder(images), {latent, latent}, 1);
  const Tensor &mean = code[0], &log_variance = code[1];
  const Tensor z = mean + exp(0.5 * log_variance) * random.normal(mean.shape());
  const Tensor divergence = 0.5 * sum(square(mean) + exp(log_variance) - 1.0 - log_variance);
  const Tensor reconstruction =
      binary_cross_entropy_with_logits(net.decoder(z), images) * images.size();
  return (reconstruction + divergence) / images.shape()[0];
}

int main() {
  Random random(1);
  const Autoencoder net(random);
  Adam adam(parameters(net));
  for (Index step = 0; step <= 3000; ++step) {
    const Tensor images = draw_rings(64, random);
    Tape tape;
    const Tensor loss = loss_of(net, images, random);
    adam.step(grad(loss, adam.parameters()));
    if (step % 1000 == 0) fmt::print("step {:4}: loss {:.2f} nats\n", step, loss.item());
  }
  fmt::print("unseen images: {:.2f} nats\n", loss_of(net, draw_rings(1000, random), random).item());

  const char* shades = " .:-=+*#%@";
  for (const real second : {-1.0, 0.0, 1.0}) {
    const Tensor z({4, latent}, {-1.5, second, -0.5, second, 0.5, second, 1.5, second});
    const Tensor drawn = sigmoid(net.decoder(z));
    for (Index row = 0; row < side; ++row) {
      for (Index i = 0; i < 4; ++i) {
        for (Index column = 0; column < side; ++column)
          fmt::print(
              "{0}{0}",
              shades[static_cast<int>(9.99 * drawn.data()[(i * side + row) * side + column])]);
        fmt::print("  ");
      }
      fmt::print("\n");
    }
  }
}
