#include "support/remedy.h"

#include <map>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

Tensor penalized(const std::function<Tensor()>& loss) {
  constexpr double strength = 0.01;
  Tensor penalty = zeros({});
  const AroundNorms around([&](const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply) {
    const auto [mu, s] = moments(norm, x);
    penalty = penalty + strength * mean(square(mu / detach(s)));
    return apply(x);
  });
  const Tensor plain = loss();
  return plain + penalty;
}

Tensor clipped(const std::function<Tensor()>& loss) {
  const AroundNorms around([](const Norm& norm, const Tensor& x, const AroundNorms::Apply& apply) {
    const auto [mu, s] = moments(norm, x);
    return apply(x - (mu - detach(mu)) * detach(greater(abs(mu), s)));
  });
  return loss();
}

}  // namespace

Remedy remedy_of(const std::string& name) {
  static const std::map<std::string, Remedy> known{{"none", Remedy::none},
                                                   {"project", Remedy::project},
                                                   {"center", Remedy::center},
                                                   {"penalty", Remedy::penalty},
                                                   {"clip", Remedy::clip}};
  const auto found = known.find(name);
  expect<ArgumentError>(found != known.end(),
                        "unknown remedy {}; available: none, project, center, penalty, clip", name);
  return found->second;
}

std::pair<std::string, Remedy> norm_and_remedy(const std::string& system) {
  const std::size_t plus = system.find('+');
  if (plus == std::string::npos) return {system, Remedy::none};
  return {system.substr(0, plus), remedy_of(system.substr(plus + 1))};
}

void set_remedy(Optimizer& optimizer, const Fields& net, const FeedsNorms& feeds_norms,
                Remedy remedy) {
  if (remedy != Remedy::project && remedy != Remedy::center) return;
  const std::vector<Parameter> chosen = parameters(net, feeds_norms);
  expect<ArgumentError>(!chosen.empty(), "remedy: no parameter of this net feeds a norm");
  if (remedy == Remedy::project)
    optimizer.set_group(chosen, {.center_gradients = Centering::outputs});
  else
    optimizer.set_group(chosen, {.center_weights = Centering::outputs});
}

Tensor remedied(Remedy remedy, const std::function<Tensor()>& loss) {
  if (remedy == Remedy::penalty) return penalized(loss);
  if (remedy == Remedy::clip) return clipped(loss);
  return loss();
}

NormMoments moments(const Norm& norm, const Tensor& x) {
  const NormField field = norm.fields_of(x.shape()).scale;
  const Tensor mu = mean(x, Axes(field.axes), Keep::yes);
  const Tensor v = mean(square(x - mu), Axes(field.axes), Keep::yes);
  return {mu, sqrt(v + norm.spec.statistics.epsilon)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
