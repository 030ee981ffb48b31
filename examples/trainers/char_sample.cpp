#include "trainers/char_sample.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

Index held(const Memory& memory) { return memory.empty() ? 0 : memory[0].shape()[1]; }

// Samples a character by its probability.
Index choose(const Tensor& logits, const CharFlags& flags, Random& random) {
  std::vector<std::pair<double, Index>> candidates;
  for (Index i = 0; i < logits.size(); ++i)
    candidates.emplace_back(logits.data()[i] / flags.temperature, i);
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  if (flags.top_k > 0 && flags.top_k < logits.size())
    candidates.resize(static_cast<std::size_t>(flags.top_k));
  double total = 0;
  const double greatest = candidates.front().first;
  for (auto& [weight, id] : candidates) total += weight = std::exp(weight - greatest);
  double left = random.uniform() * total;
  for (const auto& [weight, id] : candidates)
    if ((left -= weight) < 0) return id;
  return candidates.back().second;
}

}  // namespace

void check_prompt(const CharFlags& flags, const Characters& characters) {
  expect<DataError>(!flags.prompt.empty(),
                    "--prompt: it is empty: --sample {} needs at least one character to continue",
                    flags.sample);
  characters.encode(flags.prompt);
}

std::string sample(const CharFlags& flags, const CharModel& model, const Characters& characters,
                   const std::function<bool(const std::string&)>& write) {
  Random random = Random(flags.seed).stream(9);
  Memory memory;
  std::string text = flags.prompt;
  Indices next = characters.encode(text);
  bool goes_on = write(text);
  for (Index i = 0; goes_on && i < flags.sample; ++i) {
    if (model.context > 0 && held(memory) + next.size() > model.context) {
      memory.clear();  // read the last half again
      const Index half =
          std::min<Index>(static_cast<Index>(text.size()), std::max<Index>(1, model.context / 2));
      next = characters.encode(
          std::string_view(text).substr(text.size() - static_cast<std::size_t>(half)));
    }
    const Tensor logits = model.logits(next.reshape({1, next.size()}), &memory, {});
    const Tensor last = select(select(logits, 0), next.size() - 1);
    next = Indices({1}, {choose(last, flags, random)});
    text += characters.decode(next);
    goes_on = write(characters.decode(next));
  }
  return text;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
