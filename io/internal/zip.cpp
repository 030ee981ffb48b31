#include "tapegrad/io/internal/zip.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

static_assert(std::endian::native == std::endian::little, "zip files are little-endian");

// Numbers of so many bytes.
using U2 = std::uint16_t;
using U4 = std::uint32_t;
using U8 = std::uint64_t;

// What records begin with.
constexpr U4 local_header = 0x04034b50, directory_entry = 0x02014b50, end_record = 0x06054b50,
             zip64_end_record = 0x06064b50, zip64_locator = 0x07064b50;
constexpr std::size_t end_bytes = 22, locator_bytes = 20, zip64_end_bytes = 56;

constexpr U2 stored_method = 0, deflate_method = 8;
constexpr U2 zip64_field = 1;                            // of the extra fields
constexpr U4 in_zip64 = std::numeric_limits<U4>::max();  // a number that is in the zip64 field

// ---- Reading ------------------------------------------------------------------------------------

// Reads a part of an archive from its beginning on.
class ByteReader {
 public:
  // where: what the part is.
  ByteReader(std::span<const std::byte> bytes, std::string where)
      : left_(bytes), where_(std::move(where)) {}

  std::size_t left() const { return left_.size(); }
  std::span<const std::byte> bytes(U8 count) {
    expect<DataError>(count <= left_.size(), "{} is cut off: {} bytes of {} are left", where_,
                      left_.size(), count);
    const auto result = left_.first(count);
    left_ = left_.subspan(count);
    return result;
  }
  ByteReader part(U8 count) { return {bytes(count), where_}; }
  std::string_view text(std::size_t count) {
    return {reinterpret_cast<const char*>(bytes(count).data()), count};
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  void need(U4 signature) {
    const U4 found = number<U4>();
    expect<DataError>(found == signature, "{} begins with {:#010x}, not {:#010x}", where_, found,
                      signature);
  }

 private:
  std::span<const std::byte> left_;
  std::string where_;
};

// The end record of an archive, which describes its directory.
struct End {
  U8 at;                           // where the directory ends
  U8 disk, directory_disk;         // the numbers of files: archives may consist of several
  U8 entries_here, entries, size;  // of the directory: its members, and its bytes
  U8 begin;
};

End read_zip64_end(std::span<const std::byte> archive, std::size_t locator_at,
                   const std::string& where) {
  ByteReader locator(archive.subspan(locator_at), where + ": the zip64 locator");
  locator.need(zip64_locator);
  locator.bytes(4);  // the number of the file with the end record
  const U8 at = locator.number<U8>();
  expect<DataError>(at <= locator_at, "{}: the zip64 end record is at byte {}, after its locator",
                    where, at);
  ByteReader record(archive.subspan(at, locator_at - at), where + ": the zip64 end record");
  record.need(zip64_end_record);
  record.bytes(8 + 2 + 2);  // the size of the record, versions
  const U4 disk = record.number<U4>(), directory_disk = record.number<U4>();
  const U8 here = record.number<U8>(), entries = record.number<U8>();
  const U8 size = record.number<U8>(), begin = record.number<U8>();
  return {at, disk, directory_disk, here, entries, size, begin};
}

End read_end(std::span<const std::byte> archive, const std::string& where) {
  constexpr std::size_t longest_comment = 65535;
  constexpr std::string_view signature = "PK\5\6", locator = "PK\6\7";
  const std::string_view text(reinterpret_cast<const char*>(archive.data()), archive.size());
  const std::size_t first = text.size() - std::min(text.size(), end_bytes + longest_comment);
  const std::size_t found = text.substr(first).rfind(signature);
  expect<DataError>(
      found != std::string_view::npos,
      "{} is not a zip archive, or cut off: its {} bytes do not end with an end record", where,
      text.size());
  const std::size_t at = first + found;
  ByteReader record(archive.subspan(at), where + ": the end record");
  record.need(end_record);
  const U2 disk = record.number<U2>(), directory_disk = record.number<U2>();
  const U2 here = record.number<U2>(), entries = record.number<U2>();
  const U4 size = record.number<U4>(), begin = record.number<U4>();
  const U2 comment = record.number<U2>();
  expect<DataError>(record.left() == comment,
                    "{}: {} bytes follow the end record at byte {}, where there should be {}",
                    where, record.left(), at, comment);
  if (at >= locator_bytes && text.substr(at - locator_bytes).starts_with(locator))
    return read_zip64_end(archive, at - locator_bytes, where);
  return {at, disk, directory_disk, here, entries, size, begin};
}

// Replaces numbers that do not fit into 4 bytes by numbers of the zip64 field, which holds no
// others.
void read_zip64_field(ByteReader extra, std::initializer_list<U8*> numbers) {
  while (extra.left() >= 4) {
    const U2 kind = extra.number<U2>(), size = extra.number<U2>();
    ByteReader field = extra.part(size);
    if (kind != zip64_field) continue;
    for (U8* number : numbers)
      if (*number == in_zip64) *number = field.number<U8>();
  }
}

// The bytes of a member behind its local header. `contents`: what lies before the directory.
std::span<const std::byte> find_stored(std::span<const std::byte> contents, const ZipMember& member,
                                       U8 count, const std::string& where) {
  expect<DataError>(member.begin <= contents.size(), "{} begins at byte {}, after all contents",
                    where, member.begin);
  ByteReader local(contents.subspan(member.begin), where);
  local.need(local_header);
  local.bytes(22);  // what the directory holds as well
  const U2 name_bytes = local.number<U2>(), extra_bytes = local.number<U2>();
  const std::string_view name = local.text(name_bytes);
  expect<DataError>(name == member.name, "{} is called {} at byte {}", where, beginning(name),
                    member.begin);
  local.bytes(extra_bytes);
  return local.bytes(count);
}

// The next entry of the directory.
ZipMember read_member(ByteReader& directory, std::span<const std::byte> contents,
                      const std::string& archive) {
  directory.need(directory_entry);
  directory.bytes(2 + 2);  // versions
  const U2 flags = directory.number<U2>(), method = directory.number<U2>();
  directory.bytes(2 + 2);  // time and date
  const U4 checksum = directory.number<U4>();
  U8 count = directory.number<U4>(), size = directory.number<U4>();
  const U2 name_bytes = directory.number<U2>(), extra_bytes = directory.number<U2>();
  const U2 comment_bytes = directory.number<U2>(), disk = directory.number<U2>();
  directory.bytes(2 + 4);  // attributes
  U8 begin = directory.number<U4>();
  const std::string name(directory.text(name_bytes));
  const std::string where = fmt::format("{}: member {}", archive, beginning(name));
  read_zip64_field({directory.bytes(extra_bytes), where + ": its extra fields"},
                   {&size, &count, &begin});
  directory.bytes(comment_bytes);

  constexpr U2 encrypted = 1 << 0 | 1 << 6 | 1 << 13;
  expect<DataError>((flags & encrypted) == 0, "{} is encrypted", where);
  expect<DataError>(method == stored_method || method == deflate_method,
                    "{} is packed by method {}; supported: 0 (stored) and 8 (deflated)", where,
                    method);
  expect<DataError>(disk == 0, "{} lies in file {} of an archive of several", where, disk);
  ZipMember member{name, method == deflate_method, checksum, size, begin, {}};
  member.stored = find_stored(contents, member, count, where);
  return member;
}

// Deflate packs up to 258 bytes into 2 bits.
constexpr U8 greatest_ratio = 1032;

void expect_possible(const ZipMember& member, const std::string& where) {
  const U8 stored = member.stored.size();
  expect<DataError>(
      member.deflated ? member.size <= greatest_ratio * stored : member.size == stored,
      "{}: member {} cannot have {} bytes, {} as {}", where, beginning(member.name), member.size,
      member.deflated ? "deflated" : "stored", stored);
}

void inflate_into(std::span<std::byte> room, std::span<const std::byte> packed,
                  const std::string& where) {
  constexpr std::size_t most = std::size_t{1} << 30;  // zlib counts in 4 bytes
  z_stream stream{};
  int code = inflateInit2(&stream, -MAX_WBITS);  // without a header
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  const std::size_t size = room.size();
  while (code == Z_OK) {
    const std::size_t in = std::min(packed.size(), most), out = std::min(room.size(), most);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(out);
    code = inflate(&stream, Z_NO_FLUSH);
    packed = packed.subspan(in - stream.avail_in);
    room = room.subspan(out - stream.avail_out);
  }
  expect<MemoryError>(code != Z_MEM_ERROR, "{}: out of memory while unpacking it", where);
  expect<DataError>(code == Z_STREAM_END && packed.empty() && room.empty(),
                    "{} is damaged: it does not unpack to {} bytes", where, size);
}

U4 checksum_of(std::span<const std::byte> bytes, U4 before = 0) {
  if (bytes.empty()) return before;  // zlib would restart for these
  return static_cast<U4>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// ---- Writing ------------------------------------------------------------------------------------

template <class... Numbers>
std::string record(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

constexpr U2 zip64_version = 45;

}  // namespace

std::vector<ZipMember> zip_members(std::span<const std::byte> archive, const std::string& where,
                                   std::uint64_t most) {
  const End end = read_end(archive, where);
  expect<DataError>(end.disk == 0 && end.directory_disk == 0 && end.entries_here == end.entries,
                    "{} is a part of an archive of several files", where);
  expect<DataError>(end.size <= end.at && end.begin == end.at - end.size,
                    "{}: the directory of {} bytes at byte {} does not end at byte {}", where,
                    end.size, end.begin, end.at);
  ByteReader directory(archive.subspan(end.begin, end.size), where + ": the directory");
  const auto contents = archive.first(end.begin);
  std::vector<ZipMember> members;
  while (directory.left() > 0) members.push_back(read_member(directory, contents, where));
  expect<DataError>(members.size() == end.entries, "{}: the directory has {} members, not {}",
                    where, members.size(), end.entries);

  std::sort(members.begin(), members.end(),
            [](const ZipMember& a, const ZipMember& b) { return a.begin < b.begin; });
  std::set<std::string_view> names;
  const std::byte* free = archive.data();  // where the next member may begin
  std::uint64_t left = most;
  for (const ZipMember& member : members) {
    expect_possible(member, where);
    expect<DataError>(names.insert(member.name).second, "{} has two members {}", where,
                      beginning(member.name));
    expect<DataError>(free <= archive.data() + member.begin, "{}: member {} overlaps another",
                      where, beginning(member.name));
    free = member.stored.data() + member.stored.size();
    expect<DataError>(member.size <= left,
                      "{} promises more bytes than honest data of its size unpack to; if you trust "
                      "it, unzip it and read its arrays with read_npy",
                      where);
    left -= member.size;
  }
  return members;
}

std::span<const std::byte> zip_content(const ZipMember& member, std::vector<std::byte>& room,
                                       const std::string& where) {
  std::span<const std::byte> content = member.stored;
  if (member.deflated) {
    room.resize(member.size);
    inflate_into(room, member.stored, where);
    content = room;
  }
  const U4 found = checksum_of(content);
  expect<DataError>(found == member.checksum,
                    "{} is damaged: its checksum (CRC-32) is {:08x}, not {:08x}", where, found,
                    member.checksum);
  return content;
}

void ZipWriter::append(std::string text) {
  size_ += text.size();
  texts_.push_back(std::move(text));
  parts_.push_back(std::as_bytes(std::span(texts_.back())));
}

void ZipWriter::add(const std::string& name, const std::string& head,
                    std::span<const std::byte> rest) {
  constexpr U2 time = 0, date = 1 << 5 | 1;  // midnight, January 1, 1980
  constexpr U2 utf8_name = 1 << 11, on_unix = 3 << 8;
  constexpr U4 permissions = 0600 << 16;
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
  const U8 size = head.size() + rest.size(), begin = size_;
  const U4 checksum = checksum_of(rest, checksum_of(std::as_bytes(std::span(head))));
  const std::string common =
      record(zip64_version, ascii ? U2{0} : utf8_name, stored_method, time, date, checksum,
             in_zip64, in_zip64, static_cast<U2>(name.size()));
  append(record(local_header) + common + record(U2{4 + 16}) + name +
         record(zip64_field, U2{16}, size, size) + head);
  directory_ += record(directory_entry, static_cast<U2>(on_unix | zip64_version)) + common +
                record(U2{4 + 24}, U2{0}, U2{0}, U2{0}, permissions, in_zip64) + name +
                record(zip64_field, U2{24}, size, size, begin);
  parts_.push_back(rest);
  size_ += rest.size();
  ++members_;
}

std::vector<std::span<const std::byte>> ZipWriter::finish() {
  const U8 begin = size_, directory_size = directory_.size(), end = begin + directory_size;
  append(directory_);
  if (members_ > 0)  // NumPy knows an archive without members by its last record
    append(record(zip64_end_record, U8{zip64_end_bytes - 12}, zip64_version, zip64_version, U4{0},
                  U4{0}, members_, members_, directory_size, begin) +
           record(zip64_locator, U4{0}, end, U4{1}));
  const auto members = static_cast<U2>(std::min<U8>(members_, std::numeric_limits<U2>::max()));
  const auto up_to_4_bytes = [](U8 number) {
    return static_cast<U4>(std::min<U8>(number, in_zip64));
  };
  append(record(end_record, U2{0}, U2{0}, members, members, up_to_4_bytes(directory_size),
                up_to_4_bytes(begin), U2{0}));
  return parts_;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
