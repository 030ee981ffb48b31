// Archives of arrays in NumPy's format: what is read is written and read again as it was.

#include "tapegrad/io/npz.h"

#include <algorithm>
#include <cstring>

#include "attack.h"
#include "support/scratch.h"

namespace tapegrad::attack {
namespace {

template <class Array>
void expect_equal(const Array& a, const Array& b) {
  expect_property(a.shape() == b.shape(), "an array keeps its shape");
  expect_property(a.size() == 0 || std::memcmp(a.data(), b.data(), a.values().size_bytes()) == 0,
                  "an array keeps its values");
}

}  // namespace

void attack(std::string_view input) {
  const testing::Scratch folder;
  std::map<std::string, Tensor> tensors;
  if (refuses([&] { tensors = read_npz(File(input).path()); })) return;
  std::map<std::string, Indices> indices;
  for (const auto& named : tensors)
    refuses([&] { indices[named.first] = read_npz_indices(File(input).path(), named.first); });

  if (refuses([&] { write_npz(folder / "again", tensors, {}); })) {
    const auto has_nul = [](const auto& named) {
      return named.first.find('\0') != named.first.npos;
    };
    expect_property(std::any_of(tensors.begin(), tensors.end(), has_nul),
                    "an archive that is read can be written");
    return;
  }
  const std::map<std::string, Tensor> again = read_npz(folder / "again");
  expect_property(again.size() == tensors.size(), "an archive keeps its arrays");
  for (const auto& [name, x] : tensors) expect_equal(again.at(name), x);
  write_npz(folder / "again", {}, indices);
  for (const auto& [name, x] : indices) expect_equal(read_npz_indices(folder / "again", name), x);
}

}  // namespace tapegrad::attack
