#include "tapegrad/io/internal/npy_array.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/internal/small_float.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the bytes of little endian files are kept");

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  std::string type;
  bool fortran_order;
  std::vector<Index> extents;
};

// The header of a file, a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2,)}.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t at, const std::string& file)
      : text_(text), at_(at), file_(file) {}

  Header parse() {
    std::optional<std::string> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<Index>> extents;
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      skip_blanks();
      expect<DataError>(!text_.substr(at_).starts_with('['),
                        "npy: {} holds a structured array; save each field as an array of its own",
                        file_);
      if (key == "descr" && !type)
        type = quoted();
      else if (key == "fortran_order" && !fortran_order)
        fortran_order = boolean();
      else if (key == "shape" && !extents)
        extents = tuple();
      else
        refuse("an unknown or repeated key");
      if (!take(',')) need('}'), --at_;
    }
    if (!type || !fortran_order || !extents) refuse("no descr, fortran_order or shape");
    return {*type, *fortran_order, *extents};
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw DataError(fmt::format("npy: {} has {} in its header, at byte {}", file_, what, at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found;
    return found;
  }
  void need(char c) {
    if (!take(c)) refuse("an unexpected character");
  }
  std::string quoted() {
    need('\'');
    const std::size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) refuse("an unterminated string");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return std::string(result);
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    refuse("neither True nor False");
  }
  std::vector<Index> tuple() {
    std::vector<Index> result;
    need('(');
    while (!take(')')) {
      skip_blanks();
      Index extent = -1;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) refuse("a missing or invalid extent");
      at_ += static_cast<std::size_t>(end - begin);
      result.push_back(extent);
      if (!take(',')) need(')'), --at_;
    }
    return result;
  }

  std::string_view text_;
  std::size_t at_;  // in the file
  const std::string& file_;
};

struct Half {
  std::uint16_t bits;
  explicit operator real() const { return static_cast<real>(of_f16(bits)); }
};

template <class To>
struct NpyType {
  std::string_view name;  // after the byte order
  std::size_t bytes;
  // Returns how many values were converted: fewer than `count` if the next is out of To's range.
  Index (*convert)(const std::byte* from, Index count, bool reversed, To* to);
};

template <class To, class From>
constexpr NpyType<To> type(std::string_view name) {
  return {name, sizeof(From), [](const std::byte* from, Index count, bool reversed, To* to) {
            for (Index i = 0; i < count; ++i, from += sizeof(From)) {
              std::array<std::byte, sizeof(From)> bytes;
              std::copy_n(from, sizeof(From), bytes.begin());
              if (reversed) std::reverse(bytes.begin(), bytes.end());
              const auto value = std::bit_cast<From>(bytes);
              if constexpr (std::integral<To>)
                if (!std::in_range<To>(value)) return i;
              to[i] = static_cast<To>(value);
            }
            return count;
          }};
}

template <class To>
std::vector<NpyType<To>> types() {
  std::vector<NpyType<To>> result{
      type<To, std::int8_t>("i1"),   type<To, std::int16_t>("i2"),  type<To, std::int32_t>("i4"),
      type<To, std::int64_t>("i8"),  type<To, std::uint8_t>("u1"),  type<To, std::uint16_t>("u2"),
      type<To, std::uint32_t>("u4"), type<To, std::uint64_t>("u8"), type<To, std::uint8_t>("b1")};
  if constexpr (std::is_floating_point_v<To>) {
    result.push_back(type<To, Half>("f2"));
    result.push_back(type<To, float>("f4"));
    result.push_back(type<To, double>("f8"));
  }
  return result;
}

// Whether a type in a header, such as <f4, is this one. A single byte has no order.
template <class To>
bool is(const NpyType<To>& type, std::string_view described) {
  const std::string_view orders = type.bytes == 1 ? "|" : "<>";
  return !described.empty() && orders.find(described[0]) != std::string_view::npos &&
         described.substr(1) == type.name;
}

// Where the header of a file begins, and where its values do.
std::pair<std::size_t, std::size_t> find_header(std::span<const std::byte> bytes,
                                                std::string_view text, const std::string& file) {
  expect<DataError>(text.starts_with(magic) && text.size() >= 10,
                    "npy: {} does not begin with \\x93NUMPY, a version and a length, at byte 0",
                    file);
  const auto version = std::to_integer<int>(bytes[6]);
  expect<DataError>(1 <= version && version <= 3, "npy: {} has version {}, not 1 to 3, at byte 6",
                    file, version);
  std::size_t length = 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4, begin = 8 + length_bytes;
  expect<DataError>(bytes.size() >= begin, "npy: {} ends within its header, at byte {}", file,
                    bytes.size());
  std::memcpy(&length, bytes.data() + 8, length_bytes);
  expect<DataError>(length <= bytes.size() - begin,
                    "npy: {} ends at byte {}, within its header of {} bytes", file, bytes.size(),
                    length);
  return {begin, begin + length};
}

// How many values the header promises. The file holds every value, so an extent beyond its size
// means damage. This also keeps the product from overflowing.
std::size_t count_values(const Header& header, std::size_t file_bytes, const std::string& file) {
  expect<DataError>(header.extents.size() <= Shape::max_rank,
                    "npy: {} has {} axes; at most {} are supported", file, header.extents.size(),
                    Shape::max_rank);
  std::size_t count = 1;
  for (const Index extent : header.extents) {
    expect<DataError>(static_cast<std::size_t>(extent) <= file_bytes,
                      "npy: {} declares {} values, more than it has", file, extent);
    count *= static_cast<std::size_t>(extent);
    expect<DataError>(count <= file_bytes,
                      "npy: {} ends at byte {}: its header declares more values", file, file_bytes);
  }
  return count;
}

// Reads the bytes into an Array with elements To.
template <class Array, class To>
Array read(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto [begin, end] = find_header(bytes, text, file);
  const Header header = HeaderParser(text.substr(0, end), begin, file).parse();
  const std::vector<NpyType<To>> known = types<To>();
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const NpyType<To>& each) { return is(each, header.type); });
  if (found == known.end()) {
    std::vector<std::string_view> names;
    for (const NpyType<To>& each : known) names.push_back(each.name);
    throw DataError(
        fmt::format("npy: {} has values of type {}, at byte {}; supported: {}, "
                    "of either byte order",
                    file, beginning(header.type), begin, fmt::join(names, " ")));
  }
  expect<DataError>(
      !header.fortran_order || header.extents.size() < 2,
      "npy: {} has its values in column-major order (fortran_order), at byte {}; save it "
      "with numpy.ascontiguousarray",
      file, begin);
  const std::size_t count = count_values(header, bytes.size(), file);
  expect<DataError>(bytes.size() == end + count * found->bytes,
                    "npy: {} should have {} bytes according to its header, but has {}", file,
                    end + count * found->bytes, bytes.size());
  Array result = Array::uninitialized(Shape(header.extents));
  const std::byte* const stored = bytes.data() + end;
  To* const out = result.mutable_data();
  // Returns the position of the first value that cannot be converted, or `last`.
  const auto convert = [&](Index first, Index last) {
    const std::byte* const from = stored + static_cast<std::size_t>(first) * found->bytes;
    return first + found->convert(from, last - first, header.type[0] == '>', out + first);
  };
  std::atomic<bool> fits = true;
  parallel_ranges(result.size(), elements_per_tile, [&](Index first, Index last) {
    if (convert(first, last) < last) fits = false;
  });
  const Index converted = fits ? result.size() : convert(0, result.size());
  expect<DataError>(converted == result.size(),
                    "npy: {} has a value of type {} that is too large for an index, at byte {}",
                    file, header.type, end + static_cast<std::size_t>(converted) * found->bytes);
  return result;
}

std::string header_text(const char* type, const Shape& shape) {
  constexpr std::size_t alignment = 64;
  std::string extents = fmt::format("{}", fmt::join(shape.begin(), shape.end(), ", "));
  if (shape.rank() == 1) extents += ",";
  std::string header =
      fmt::format("{}{}{}??{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", magic,
                  '\x01', '\0', type, extents);
  header.resize((header.size() + 1 + alignment) / alignment * alignment, ' ');
  header.back() = '\n';
  const auto length = static_cast<std::uint16_t>(header.size() - 10);
  std::memcpy(header.data() + 8, &length, sizeof length);
  return header;
}

}  // namespace

Tensor npy_tensor(std::span<const std::byte> bytes, const std::string& file) {
  return read<Tensor, real>(bytes, file);
}

Indices npy_indices(std::span<const std::byte> bytes, const std::string& file) {
  return read<Indices, Index>(bytes, file);
}

std::string npy_header(const Tensor& x) {
  return header_text(sizeof(real) == 4 ? "<f4" : "<f8", x.shape());
}

std::string npy_header(const Indices& x) { return header_text("<i8", x.shape()); }

}  // namespace tapegrad::TAPEGRAD_SCALAR
