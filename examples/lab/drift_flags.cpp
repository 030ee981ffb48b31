#include "lab/drift_flags.h"

#include <algorithm>

#include "lab/char_models.h"
#include "support/data_files.h"
#include "support/grammar.h"
#include "tapegrad/train.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void DriftFlags::add_to(Flags& flags) {
  const auto names = [](const char* first, const char* second) {
    return CLI::IsMember({first, second});
  };
  flags.setting("--tasks", tasks, "What nets learn: grammar, text (with --text), mnist, cnn")
      ->check(CLI::IsMember({"grammar", "text", "mnist", "cnn"}));
  flags.setting("--optimizers", optimizers, "Optimizers; sign: steps of equal size")
      ->check(CLI::IsMember(drift_optimizers()));
  flags
      .setting("--initials", initials,
               "Initial weights of Transformers: the library's, N(0, "
               "0.02), or those of the paper's code, U(+-1/sqrt(inputs))")
      ->check(names("library", "paper"));
  flags.setting("--placements", placements, "Norms of Transformers")->check(names("pre", "post"));
  flags.setting("--axes", axes, "What norms of the cnn take statistics over")
      ->check(names("image", "channels"));
  flags.setting("--layers", layers, "Layers of Transformers and perceptrons")
      ->check(between(1, 100));
  flags
      .setting("--channels", channels,
               "Channels of Transformers, a multiple of 4; perceptrons "
               "have four times as many")
      ->check(between(4, 4096));
  flags.setting("--steps", steps, "Steps, in multiples of 20")->check(between(20, 1 << 20));
  flags.setting("--lr-factors", factors, "Learning rates to try, as parts of the usual one")
      ->check(positive());
  comparison.add_to(flags, 1);
  flags.input("--text", text, "Text file for the task text");
  flags
      .input("--data", images, support::data_help("MNIST", "mnist/") + "; without it, draws digits")
      ->envname("TAPEGRAD_MNIST");
  flags.setting("--from-ledger", from_ledger, "Show what --runs has, and train nothing");
  flags.setting("--quiet", quiet, "No progress on standard error");
}

void DriftFlags::check(const Flags& given) const {
  const auto refuse_unless = [](bool fits, const char* flag, const std::string& what) {
    if (!fits) throw CLI::ValidationError(flag, what);
  };
  for (const Index count : steps)
    refuse_unless(count % DriftOptions{}.measures == 0, "--steps",
                  fmt::format("{} is not a multiple of {}", count, DriftOptions{}.measures));
  for (const Index count : channels)
    refuse_unless(count % 4 == 0, "--channels", fmt::format("{} is not a multiple of 4", count));
  refuse_unless(!from_ledger || given.given("--runs"), "--from-ledger", "needs --runs");
  refuse_unless(learns("text") == !text.empty(), "--text", "goes with the task text");
}

bool DriftFlags::learns(const std::string& task) const {
  return std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

DriftData DriftFlags::make_data() const {
  Random random = Random(comparison.seed).stream(7);
  DriftData data{.grammar = support::CharText(support::grammar_text(8000, random))};
  if (learns("text")) data.text = text_to_learn(text, read_text(text), characters_in_row);
  if (reads_images())
    data.images = images.empty() ? support::draw_image_sets(comparison.seed)
                                 : support::read_image_sets(images);
  return data;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
