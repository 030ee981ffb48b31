// Files that may be packed, against zlib's inflate.

#include <zlib.h>

#include <array>
#include <optional>

#include "attack.h"
#include "tapegrad/io/file.h"

namespace tapegrad::attack {
namespace {

bool is_packed(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// What the first member of a packed file holds, and what follows it; nothing if it is damaged.
struct Member {
  std::string text;
  std::string_view rest;
};
std::optional<Member> first_member(std::string_view packed) {
  constexpr int gzip_only = 16;
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  inflateInit2(&stream, MAX_WBITS + gzip_only);
  Member member;
  std::array<char, 4096> chunk{};
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    code = inflate(&stream, Z_NO_FLUSH);
    member.text.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  member.rest = packed.substr(packed.size() - stream.avail_in);
  inflateEnd(&stream);
  if (code != Z_STREAM_END) return {};
  return member;
}

}  // namespace

void attack(std::string_view input) {
  const File file(input, File::Kind::mapped);
  std::string text;
  const bool refused = refuses([&] { text = read_text(file.path()); });
  if (!is_packed(input)) {
    expect_property(!refused && text == input, "a file that is not packed is read as it is");
    return;
  }
  std::string expected;
  std::string_view rest = input;
  while (is_packed(rest)) {
    const std::optional<Member> member = first_member(rest);
    if (!member) {
      expect_property(refused, "a damaged file is refused");
      return;
    }
    expected += member->text;
    rest = member->rest;
  }
  if (rest.empty()) expect_property(!refused, "a good file is read");
  expect_property(refused || text == expected, "a packed file is unpacked");
}

}  // namespace tapegrad::attack
