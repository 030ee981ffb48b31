#include <map>

#include "live.h"
#include "tapegrad/tapegrad.h"

namespace live {
namespace {

using namespace tapegrad;

constexpr Index rows = 32, channels = 32, most_layers = 30;

Tensor initial(const Json& init, Random& random) {
  const Shape shape{channels, channels};
  if (init.is_number()) return random.normal(shape, 0, init.get<double>() / std::sqrt(channels));
  const auto name = init.get<std::string>();
  if (name == "he") return kaiming_normal(shape, random);
  if (name == "xavier") return xavier_normal(shape, random);
  if (name == "orthogonal") return orthogonal(shape, random);
  throw ArgumentError(fmt::format("unknown init {}; available: he, xavier, orthogonal", name));
}

using Activation = Tensor (*)(const Tensor&);

Activation activation_of(const std::string& name) {
  static const std::map<std::string, Activation> all{
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"identity", [](const Tensor& x) { return x; }}};
  const auto found = all.find(name);
  expect<ArgumentError>(found != all.end(),
                        "unknown activation {}; available: relu, tanh, gelu, identity", name);
  return found->second;
}

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

// One layer: a product, a norm and an activation, with or without a residual connection.
struct Layer {
  Tensor weight;
  Norm norm;
  Activation activation;

  Tensor operator()(const Tensor& x, const std::string& residual, Mode mode) const {
    if (residual == "pre") return x + activation(matmul(norm(x, mode), weight));
    if (residual == "post") return norm(x + activation(matmul(x, weight)), mode);
    return activation(norm(matmul(x, weight), mode));
  }
};

}  // namespace

Json depth(const Json& request) {
  const auto layers = request.at("layers").get<Index>();
  expect<ArgumentError>(1 <= layers && layers <= most_layers, "layers: {}; 1 to {} are possible",
                        layers, most_layers);
  const auto residual = request.at("residual").get<std::string>();
  const NormSpec spec(request.at("norm").get<std::string>());
  const Activation activation = activation_of(request.at("activation").get<std::string>());
  Random random(1);
  const Tensor input = random.normal({rows, channels}), arriving = random.normal({rows, channels});
  const Tape tape;
  std::vector<Tensor> states{watch(input)};
  for (Index i = 0; i < layers; ++i) {
    const Layer layer{initial(request.at("init"), random), Norm(spec, channels), activation};
    states.push_back(layer(states.back(), residual, training(random)));
  }
  Json sizes = Json::array(), gradients = Json::array();
  for (const Tensor& gradient : grad(states.back(), states, {.seed = arriving}))
    gradients.push_back(rms(gradient));
  for (const Tensor& state : states) sizes.push_back(rms(state));
  return {{"states", sizes}, {"gradients", gradients}};
}

Json norms() {
  Json all = Json::array();
  const Tensor x = zeros({2, channels});
  for (const std::string& name : norm_names()) try {
      if (NormSpec(name).normalized_weights) continue;  // of which a product without them has none
      Norm(name, channels)(x);
      all.push_back(name);
    } catch (const ArgumentError&) {  // instance normalization needs images
    }
  return all;
}

}  // namespace live
