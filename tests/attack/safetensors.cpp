// Files of tensors: what can be read is the same after it has been saved.

#include "tapegrad/io/safetensors.h"

#include <algorithm>
#include <cstring>

#include "attack.h"
#include "support/scratch.h"

namespace tapegrad::attack {
namespace {

// Bit by bit, so that a NaN is the same as itself.
template <class Values>
bool same(const std::map<std::string, Values>& a, const std::map<std::string, Values>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
        return left.first == right.first && left.second.shape() == right.second.shape() &&
               std::ranges::equal(std::as_bytes(left.second.values()),
                                  std::as_bytes(right.second.values()));
      });
}

}  // namespace

void attack(std::string_view input) {
  static const testing::Scratch folder;
  const File file(input);
  TensorFile first = load_tensors(file.path());
  first.unread.clear();
  save_tensors(folder / "saved", first);
  const TensorFile second = load_tensors(folder / "saved");
  expect_property(same(first.tensors, second.tensors), "tensors survive saving");
  expect_property(same(first.indices, second.indices), "indices survive saving");
  expect_property(first.metadata == second.metadata, "metadata survives saving");
  expect_property(second.unread.empty(), "everything that was saved can be read");
}

}  // namespace tapegrad::attack
