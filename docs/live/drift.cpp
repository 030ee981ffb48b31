#include "live.h"
#include "support/remedy.h"
#include "tapegrad/tapegrad.h"

namespace live {
namespace {

using namespace tapegrad;

struct Weight {
  Parameter weight;
  void visit(Fields& field) const { field("weight", weight); }
};

std::unique_ptr<Optimizer> make_optimizer(const Json& request, const Parameter& weight) {
  const auto name = request.at("optimizer").get<std::string>();
  const auto rate = request.at("rate").get<double>();
  expect<ArgumentError>(rate > 0, "rate: {} is not positive", rate);
  const std::vector<Parameter> all{weight};
  if (name == "sgd") return std::make_unique<Sgd>(all, SgdOptions{.learning_rate = rate});
  if (name == "momentum")
    return std::make_unique<Sgd>(all, SgdOptions{.learning_rate = rate, .momentum = 0.9});
  if (name == "adam") return std::make_unique<Adam>(all, AdamOptions{.learning_rate = rate});
  if (name == "sign")
    return std::make_unique<Lion>(all, LionOptions{.learning_rate = rate, .beta1 = 0, .beta2 = 0});
  throw ArgumentError(
      fmt::format("unknown optimizer {}; available: sgd, momentum, adam, sign", name));
}

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

}  // namespace

struct Drift::Training {
  Tensor x, target;
  Weight net;
  Norm norm;
  support::Remedy remedy;
  std::unique_ptr<Optimizer> optimizer;
  int step = 0;

  // The numbers of docs/drift.md are drawn in this order.
  Training(Random random, const Json& request)
      : x(random.normal({64, 16}) + 0.5),
        target(random.normal({64, 32}) + 0.5),
        net{Parameter(random.normal({16, 32}, 0, 0.25))},
        norm(request.at("detach_mean").get<bool>() ? "detach_mean" : "layer_simple", 32),
        remedy(support::remedy_of(request.at("remedy").get<std::string>())),
        optimizer(make_optimizer(request, net.weight)) {
    support::set_remedy(
        *optimizer, fields(net), [](const std::string&) { return true; }, remedy);
  }

  Tensor loss() const { return mean(square(norm(matmul(x, net.weight)) - target)); }

  void take_step() {
    const Tape tape;
    const Tensor found = support::remedied(remedy, [&] { return loss(); });
    optimizer->step(grad(found, std::vector{net.weight}));
    ++step;
  }
};

Drift::Drift(const Json& request) : training_(std::make_unique<Training>(Random(1), request)) {}
Drift::~Drift() = default;

Json Drift::steps(int count) {
  for (int i = 0; i < count; ++i) training_->take_step();
  const Tensor w = training_->net.weight, c = mean(w, 1, Keep::yes);
  const auto [mu, s] = support::moments(training_->norm, matmul(training_->x, w));
  return {{"step", training_->step},
          {"loss", training_->loss().item()},
          {"ratio", mean(abs(mu) / s).item()},
          {"c", rms(c)},
          {"V", rms(w - c)}};
}

}  // namespace live
