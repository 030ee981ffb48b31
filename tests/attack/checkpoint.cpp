// Checkpoints: one that is refused changes nothing, one that is loaded is the same when saved.

#include "tapegrad/nn/checkpoint.h"

#include "attack.h"
#include "support/scratch.h"
#include "tapegrad/io/file.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::attack {
namespace {

struct Net {
  Linear linear;
  Norm norm{"batch", 1};
  explicit Net(Random& random) : linear(1, 1, random) {}
  void visit(Fields& field) const {
    field("linear", linear);
    field("norm", norm);
  }
};

// A small training run with all that a checkpoint can keep, with the best state of its net or not.
struct Run {
  Random random{1};
  Net net{random};
  Adam adam{parameters(net)};
  NetState best{fields(net)};
  Checkpoint checkpoint{fields(net), &adam, {{"training", &random}}, {}};

  explicit Run(bool with_best) {
    if (with_best) checkpoint.best = &best;
  }

  // Its state, as the bytes of a file.
  std::string saved(const std::filesystem::path& path) const {
    save_checkpoint(path, checkpoint);
    return read_text(path);
  }
};

void attack(const std::filesystem::path& path, bool with_best) {
  static const testing::Scratch folder;
  Run run(with_best);
  const std::string untouched = run.saved(folder / "untouched");
  if (refuses([&] { load_checkpoint(path, run.checkpoint); })) {
    expect_property(run.saved(folder / "refused") == untouched,
                    "a file that is refused changes nothing");
    return;
  }
  const std::string loaded = run.saved(folder / "loaded");
  Run again(with_best);
  load_checkpoint(folder / "loaded", again.checkpoint);
  expect_property(again.saved(folder / "again") == loaded, "a checkpoint survives saving");
}

}  // namespace

void attack(std::string_view input) {
  const File file(input);
  for (const bool with_best : {false, true}) attack(file.path(), with_best);
}

}  // namespace tapegrad::attack
