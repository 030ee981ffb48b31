// Arrays in NumPy's format: what is read is written and read again as it was.

#include "tapegrad/io/npy.h"

#include <cstring>

#include "attack.h"
#include "support/scratch.h"

namespace tapegrad::attack {
namespace {

template <class Array>
void read_and_write(Array (*read)(const std::filesystem::path&), std::string_view input) {
  const testing::Scratch folder;
  refuses([&] {
    const Array x = read(File(input).path());
    write_npy(folder / "again", x);
    const Array again = read(folder / "again");
    expect_property(again.shape() == x.shape(), "an array keeps its shape");
    expect_property(
        x.size() == 0 || std::memcmp(again.data(), x.data(), x.values().size_bytes()) == 0,
        "an array keeps its values");
  });
}

}  // namespace

void attack(std::string_view input) {
  read_and_write(read_npy, input);
  read_and_write(read_npy_indices, input);
}

}  // namespace tapegrad::attack
