// IDX files: the input as images beside good labels, and as labels beside good images.

#include <algorithm>
#include <numeric>

#include "attack.h"
#include "tapegrad/io/idx.h"

namespace tapegrad::attack {
namespace {

using namespace std::string_view_literals;

void read_and_check(const std::filesystem::path& images, const std::filesystem::path& labels) {
  const ImageSet set = read_idx(images, labels);
  std::vector<Index> all(static_cast<std::size_t>(set.count()));
  std::iota(all.begin(), all.end(), Index{0});
  const Tensor pixels = set.images(all);
  expect_property(pixels.shape() == Shape{set.count(), 1, set.height, set.width},
                  "there are as many pixels as the header declares");
  expect_property(std::all_of(pixels.values().begin(), pixels.values().end(),
                              [](real value) { return 0 <= value && value <= 1; }),
                  "pixels lie in [0, 1]");
  expect_property(set.labels_of(all).size() == set.count(), "every image has a label");
}

}  // namespace

void attack(std::string_view input) {
  const File images("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02pixl"sv);
  const File labels("\0\0\x08\x01\0\0\0\x02\x07\x03"sv);
  refuses([&] { read_and_check(File(input).path(), labels.path()); });
  refuses([&] { read_and_check(images.path(), File(input).path()); });
  refuses([&] { read_idx(File(input).path()); });
}

}  // namespace tapegrad::attack
