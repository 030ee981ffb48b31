// Weights from PyTorch: a file that is refused changes nothing, others survive saving.

#include "tapegrad/nn/pytorch.h"

#include "attack.h"
#include "support/scratch.h"
#include "tapegrad/io/file.h"
#include "tapegrad/nn/layers/linear.h"

namespace tapegrad::attack {
namespace {

struct Net {
  Random random{1};
  Linear linear{2, 1, random};
  void visit(Fields& field) const { field("linear", linear); }

  // Its weights, as the bytes of a file.
  std::string saved(const std::filesystem::path& path) const {
    save_pytorch(path, *this);
    return read_text(path);
  }
};

}  // namespace

void attack(std::string_view input) {
  static const testing::Scratch folder;
  static const std::string untouched = Net().saved(folder / "untouched");
  const File file(input);
  const Net net;
  if (refuses([&] { load_pytorch(net, file.path()); })) {
    expect_property(net.saved(folder / "refused") == untouched,
                    "a file that is refused changes nothing");
    return;
  }
  const std::string loaded = net.saved(folder / "loaded");
  const Net again;
  load_pytorch(again, folder / "loaded");
  expect_property(again.saved(folder / "again") == loaded, "weights survive saving");
}

}  // namespace tapegrad::attack
