#include "tapegrad/io/idx.h"

#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::uint32_t unsigned_byte = 0x08;

std::uint32_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

struct Idx {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> values;
};

Idx read_array(const std::filesystem::path& path, std::uint32_t rank) {
  const FileBytes file = read_file(path);
  const std::span<const std::byte> bytes = file.bytes();
  const std::string name = path.string();
  const std::size_t header = 4 + 4 * std::size_t{rank};
  expect<DataError>(bytes.size() >= header, "idx: {} ends within its header, at byte {} of {}",
                    name, bytes.size(), header);
  const std::uint32_t magic = big_endian(bytes, 0), expected = unsigned_byte << 8 | rank;
  expect<DataError>(
      magic == expected,
      "idx: {} does not begin with {:#010x}, for bytes in {} dimensions: {:#010x} at byte 0", name,
      expected, rank, magic);
  Idx idx;
  std::size_t count = 1;
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    const std::uint32_t extent = big_endian(bytes, 4 + 4 * axis);
    // The file holds every value, so an extent beyond its size means damage. This also keeps the
    // product from overflowing.
    expect<DataError>(extent <= bytes.size(),
                      "idx: {} declares {} values, more than it has, at byte {}", name, extent,
                      4 + 4 * axis);
    idx.extents.push_back(extent);
    count *= extent;
    expect<DataError>(count <= bytes.size(),
                      "idx: {} ends at byte {}: its header declares more values", name,
                      bytes.size());
  }
  expect<DataError>(bytes.size() == header + count,
                    "idx: {} should have {} bytes according to its header, but has {}", name,
                    header + count, bytes.size());
  const auto* values = reinterpret_cast<const std::uint8_t*>(bytes.data());
  idx.values.assign(values + header, values + header + count);
  return idx;
}

std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, const char* name) {
  const std::filesystem::path plain = folder / name, zipped = folder / (std::string(name) + ".gz");
  if (is_there(plain)) return plain;
  expect<DataError>(is_there(zipped), "read_mnist: neither {} nor {} exists", plain.string(),
                    zipped.string());
  return zipped;
}

}  // namespace

Tensor ImageSet::images(std::span<const Index> chosen) const {
  const Shape all{count(), height, width};
  expect(static_cast<Index>(pixels.size()) == all.size(), "images: {} pixels for a set of {}",
         pixels.size(), all);
  Tensor batch = Tensor::uninitialized({static_cast<Index>(chosen.size()), 1, height, width});
  real* out = batch.mutable_data();
  const Index size = height * width;
  for (const Index image : chosen) {
    expect(0 <= image && image < count(), "images: image {} is not in [0, {})", image, count());
    const std::uint8_t* from = pixels.data() + image * size;
    for (Index i = 0; i < size; ++i) *out++ = static_cast<real>(from[i]) / 255;
  }
  return batch;
}

Indices ImageSet::labels_of(std::span<const Index> chosen) const {
  Indices batch = Indices::uninitialized({static_cast<Index>(chosen.size())});
  Index* out = batch.mutable_data();
  for (const Index image : chosen) {
    expect(0 <= image && image < count(), "labels_of: image {} is not in [0, {})", image, count());
    *out++ = labels[image];
  }
  return batch;
}

ImageSet read_idx(const std::filesystem::path& images) {
  Idx pictures = read_array(images, 3);
  const Index count = pictures.extents[0], height = pictures.extents[1],
              width = pictures.extents[2];
  expect<DataError>(!pictures.values.empty(), "idx: {} has no pixels: {} images of {} x {}",
                    images.string(), count, height, width);
  return {height, width, std::move(pictures.values),
          std::vector<std::uint8_t>(static_cast<std::size_t>(count))};
}

ImageSet read_idx(const std::filesystem::path& images, const std::filesystem::path& labels) {
  ImageSet set = read_idx(images);
  Idx names = read_array(labels, 1);
  expect<DataError>(set.labels.size() == names.values.size(),
                    "idx: {} has {} images, but {} has {} labels", images.string(),
                    set.labels.size(), labels.string(), names.values.size());
  set.labels = std::move(names.values);
  return set;
}

TrainAndTest read_mnist(const std::filesystem::path& folder) {
  const auto file = [&](const char* name) { return plain_or_gzipped(folder, name); };
  const auto train_images = file("train-images-idx3-ubyte");
  const auto test_images = file("t10k-images-idx3-ubyte");
  TrainAndTest sets{read_idx(train_images, file("train-labels-idx1-ubyte")),
                    read_idx(test_images, file("t10k-labels-idx1-ubyte"))};
  const auto& [train, test] = sets;
  expect<DataError>(train.height == test.height && train.width == test.width,
                    "idx: {} has images of {} x {}, but {} has images of {} x {}",
                    train_images.string(), train.height, train.width, test_images.string(),
                    test.height, test.width);
  return sets;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
