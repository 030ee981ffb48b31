#include "support/saved_net.h"

#include <algorithm>
#include <set>

#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/nn/optimizers/ema.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

Flag in_place_of_training(const Flag& flag) {
  return flag.needs({"--resume"})
      .excludes({"--save", "--log-dir", "--dry-run", "--profile", "--check-nan"});
}

void add_query_flag(Flags& flags, std::string& query, const std::string& description) {
  in_place_of_training(flags.setting("--query", query, description))
      .check([](const std::string& text) {
        return text.find_first_not_of(' ') == std::string::npos ? "the text is blank" : "";
      });
}

void load_saved_net(const RunFlags& run, const OptimizerFlags& optimizer, const Fields& net) {
  Checkpoint saved{.net = net};
  std::optional<Ema> averages;
  // The best ones are averages already.
  if (optimizer.ema > 0 && !run.keep_best) averages.emplace(net, optimizer.ema);
  if (averages) saved.ema = &*averages;
  load_checkpoint(run.resume, saved);
  if (averages) averages->swap();
}

std::optional<std::vector<std::string>> saved_texts(const Json& note) {
  const auto is_text = [](const Json& each) { return each.is_string(); };
  if (!note.is_array() || !std::ranges::all_of(note, is_text)) return {};
  return note.get<std::vector<std::string>>();
}

std::optional<std::vector<std::string>> saved_words(const Json& note) {
  const auto words = saved_texts(note);
  if (words && std::set(words->begin(), words->end()).size() != words->size()) return {};
  return words;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
