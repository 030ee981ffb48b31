#include "experiments/char_models.h"

#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

support::CharText text_to_learn(const std::string& source, const std::string& text, Index length) {
  expect<DataError>(!text.empty(), "{}: it is empty", source);
  support::CharText characters(text);
  expect<DataError>(characters.training.size() > length && characters.rest.size() >= 4,
                    "{}: {} characters are too few for rows of {}", source, text.size(), length);
  return characters;
}

void initialize_like_paper(std::vector<Parameter> parameters, Random& random) {
  for (Parameter& parameter : parameters) {
    if (parameter.shape().rank() != 2) continue;
    const double bound = 1 / std::sqrt(parameter.shape()[0]);
    parameter.set(random.uniform(parameter.shape(), -bound, bound));
  }
}

double bits_a_character(const TransformerLm& net, const Indices& text, Index length) {
  constexpr Index rows = 64;
  double total = 0;
  for (const auto& group : text_blocks(text, rows, length))
    for (const auto& [inputs, targets] : group)
      total += cross_entropy(net(inputs), targets).item() * static_cast<double>(targets.size());
  return total / (text.size() - 1) / std::log(2.0);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
