// Changes the header or the values of a safetensors file and repairs the length in front of them:
// otherwise most inputs would be refused at once.

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t limit);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t limit, unsigned int seed) {
  constexpr std::size_t length_bytes = 8;
  std::minstd_rand random(seed);
  std::uint64_t length = 0;
  if (size >= length_bytes) std::memcpy(&length, data, length_bytes);
  const bool anything = random() % 8 == 0;
  if (anything || size < length_bytes || length == 0 || length > size - length_bytes ||
      limit < size)
    return LLVMFuzzerMutate(data, size, limit);

  const auto mutated = [&](const std::uint8_t* begin, const std::uint8_t* end) {
    std::vector<std::uint8_t> part(begin, end);
    part.resize(part.size() + limit - size);
    part.resize(LLVMFuzzerMutate(part.data(), static_cast<std::size_t>(end - begin), part.size()));
    return part;
  };
  const std::uint8_t *header = data + length_bytes, *values = header + length, *end = data + size;
  const bool of_header = values == end || random() % 4 != 0;
  const auto part = of_header ? mutated(header, values) : mutated(values, end);
  if (!of_header) {
    std::copy(part.begin(), part.end(), data + length_bytes + length);
    return length_bytes + length + part.size();
  }
  const std::vector<std::uint8_t> kept(values, end);
  length = part.size();
  std::memcpy(data, &length, length_bytes);
  std::copy(kept.begin(), kept.end(), std::copy(part.begin(), part.end(), data + length_bytes));
  return length_bytes + part.size() + kept.size();
}
