#include "tapegrad/io/npz.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>

#include "support/files.h"
#include "support/golden_file.h"
#include "support/scratch.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/npy_array.h"
#include "tapegrad/io/internal/zip.h"

using namespace tapegrad;
using Catch::Contains;
using testing::values_of;

namespace {

using NamedTensors = std::map<std::string, Tensor>;

std::filesystem::path golden_npz(const std::string& name) {
  return testing::golden_file("npz/" + name + ".npz");
}

std::vector<Index> indices_of(const Indices& x) { return {x.values().begin(), x.values().end()}; }

bool equal(const NamedTensors& a, const NamedTensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.shape() == y.second.shape() &&
           values_of(x.second) == values_of(y.second);
  });
}

// The bytes of an archive, whose numbers can be changed.
struct Archive {
  std::string text;

  // With a number at byte `at` of the first record that begins with "PK" and this signature.
  template <class Number>
  Archive with(const char* signature, std::size_t at, Number number) const {
    const std::size_t begin = text.find(std::string("PK") + signature);
    REQUIRE(begin != std::string::npos);
    std::string changed = text;
    std::memcpy(changed.data() + begin + at, &number, sizeof number);
    return {changed};
  }
};
constexpr const char *local = "\3\4", *central = "\1\2", *central_end = "\5\6", *zip64_end = "\6\6",
                     *zip64_locator = "\6\7";
using U2 = std::uint16_t;
using U4 = std::uint32_t;
using U8 = std::uint64_t;

Archive archive_in(const std::string& name) { return {read_text(golden_npz(name))}; }

// What a file with these bytes holds.
NamedTensors read(const Archive& archive) {
  static const testing::Scratch folder;
  std::filesystem::remove(folder / "x.npz");  // some file systems sync a file that is replaced
  std::ofstream(folder / "x.npz", std::ios::binary) << archive.text;
  return read_npz(folder / "x.npz");
}

// The message that refuses them.
std::string error_of(const Archive& archive) {
  try {
    read(archive);
  } catch (const DataError& error) {
    CHECK_THAT(error.what(), Contains("x.npz"));
    return error.what();
  }
  return "";
}

// An archive with members of these names and contents.
Archive archive_of(const std::vector<std::pair<std::string, std::string>>& members) {
  ZipWriter writer;
  for (const auto& [name, content] : members) writer.add(name, content, {});
  Archive archive;
  for (const auto& part : writer.finish())
    archive.text.append(reinterpret_cast<const char*>(part.data()), part.size());
  return archive;
}

std::string array(double value) {
  const Tensor x(value);
  return npy_header(x) + std::string(reinterpret_cast<const char*>(x.data()), sizeof(real));
}

}  // namespace

TEST_CASE("archives that NumPy has written are read", "[data][files]") {
  for (const char* kind : {"stored", "deflated", "piped", "zip64"}) {
    INFO(kind);
    const NamedTensors tensors = read_npz(golden_npz(kind));
    REQUIRE(tensors.size() == 5);
    CHECK(tensors.at("images").shape() == Shape{3, 4, 5});
    CHECK(tensors.at("images").values().back() == 59);
    CHECK(values_of(tensors.at("labels")) == std::vector<real>{2, 0, 1});
    CHECK(values_of(tensors.at("weight/größe")) ==
          std::vector<real>{0.5, -1, 2, static_cast<real>(1e30f)});
    CHECK(tensors.at("scalar").item() == 0.25);
    CHECK(tensors.at("empty").shape() == Shape{0, 3});

    CHECK(indices_of(read_npz_indices(golden_npz(kind), "labels")) == std::vector<Index>{2, 0, 1});
    CHECK(read_npz_indices(golden_npz(kind), "images").shape() == Shape{3, 4, 5});
    CHECK_THROWS_WITH(read_npz_indices(golden_npz(kind), "scalar"),
                      Contains(".npz: member scalar.npy has values of type <f8"));
    CHECK(read_npz(golden_npz(kind), "images").shape() == Shape{3, 4, 5});
    CHECK_THROWS_WITH(read_npz(golden_npz(kind), "other"), Contains("has no member other.npy"));
    CHECK_THROWS_WITH(read_npz_indices(golden_npz(kind), "other"),
                      Contains(".npz has no member other.npy"));
  }
  CHECK(read_npz(golden_npz("no_arrays")).empty());
  CHECK_THROWS_WITH(read_npz(golden_npz("fortran")),
                    Contains("member bad.npy has its values in column-major order"));
  CHECK_THROWS_AS(read_npz(golden_npz("missing")), DataError);
}

TEST_CASE("an archive that is written is read again", "[data][files]") {
  const testing::Scratch folder;
  Random random(1);
  const NamedTensors tensors{
      {"a", random.normal({2, 3})}, {"", random.normal({})}, {"layers.0/größe", zeros({0, 4})}};
  const Indices order({2}, {-1, Index{1} << 60});
  write_npz(folder / "x.npz", tensors, {{"order", order}});
  CHECK(indices_of(read_npz_indices(folder / "x.npz", "order")) == indices_of(order));
  NamedTensors read = read_npz(folder / "x.npz");
  CHECK(read.erase("order") == 1);
  CHECK(equal(read, tensors));

  write_npz(folder / "x.npz", {});
  CHECK(read_npz(folder / "x.npz").empty());
  // What numpy.savez(path) writes.
  CHECK(read_text(folder / "x.npz") == "PK\5\6" + std::string(18, '\0'));
  const testing::Bytes packed = testing::gzipped(testing::bytes_in(golden_npz("stored")));
  testing::write_quickly(folder / "x.npz.gz", packed);
  CHECK(equal(read_npz(folder / "x.npz.gz"), read_npz(golden_npz("stored"))));
}

TEST_CASE("what is written is what NumPy writes for large archives", "[data][files]") {
  const testing::Scratch folder;
  write_npz(folder / "x.npz", {{"größe", 3}, {"b", Tensor({2, 2}, {0.5, -1, 2, real(1e30)})}},
            {{"a", Indices({3}, {2, 0, -1})}});
  CHECK(read_text(folder / "x.npz") == archive_in(sizeof(real) == 4 ? "f4" : "f8").text);
}

TEST_CASE("arrays that cannot be in an archive are refused before it is written", "[data][files]") {
  const testing::Scratch folder;
  const auto path = folder / "x.npz";
  CHECK_THROWS_AS(write_npz(path, {{"a", Tensor()}}), ShapeError);
  CHECK_THROWS_AS(write_npz(path, {}, {{"a", Indices()}}), ShapeError);
  CHECK_THROWS_WITH(write_npz(path, {{"a", 1}}, {{"a", Indices({1}, {1})}}),
                    Contains("x.npz: the name a is taken"));
  CHECK_THROWS_WITH(write_npz(path, {{std::string("a\0b", 3), 1}}),
                    Contains("x.npz: no member can be called a?b"));
  CHECK_THROWS_WITH(write_npz(path, {{std::string(65532, 'n'), 1}}), Contains("65532 bytes"));
  CHECK(!std::filesystem::exists(path));
  write_npz(path, {{std::string(65531, 'n'), 1}});
  CHECK(read_npz(path).begin()->first.size() == 65531);
}

TEST_CASE("an archive that is cut off or has a flipped bit gives no other arrays",
          "[data][files]") {
  for (const char* kind : {"deflated", "zip64"}) {
    INFO(kind);
    const Archive good = archive_in(kind);
    const NamedTensors tensors = read_npz(golden_npz(kind));
    for (std::size_t at = 0; at < good.text.size(); ++at) {
      INFO("byte " << at);
      CHECK(!error_of({good.text.substr(0, at)}).empty());
      Archive changed = good;
      changed.text[at] ^= static_cast<char>(1 << at % 8);
      NamedTensors found = tensors;
      try {
        found = read(changed);
      } catch (const DataError& error) {
        CHECK_THAT(error.what(), Contains("x.npz"));
      }
      CHECK(equal(found, tensors));
    }
  }
}

TEST_CASE("a member that cannot be read is refused by name", "[data][files]") {
  const Archive good = archive_in("stored"), deflated = archive_in("deflated");
  const std::string member = "x.npz: member images.npy";
  CHECK(error_of(good).empty());
  for (const int bit : {0, 6, 13})
    CHECK_THAT(error_of(good.with(central, 8, U2(1 << bit))), Contains(member + " is encrypted"));
  CHECK_THAT(error_of(good.with(central, 10, U2{12})),
             Contains(member + " is packed by method 12"));
  CHECK_THAT(error_of(good.with(central, 34, U2{1})), Contains(member + " lies in file 1"));
  CHECK_THAT(error_of(good.with(local, 30, 'I')), Contains(member + " is called Images.npy at"));
  CHECK_THAT(error_of(good.with(local, 0, 'p')), Contains(member + " begins with 0x04034b70"));
  CHECK_THAT(error_of(good.with(central, 16, U4{0})),
             Contains(member + " is damaged: its checksum"));
  for (const U4 begin : {U4{2000}, U4{0xffffffff}})
    CHECK_THAT(error_of(good.with(central, 42, begin)), Contains(member + " begins at byte"));
  for (const U4 count : {U4{2000}, U4{0xffffffff}})
    CHECK_THAT(error_of(good.with(central, 20, count)), Contains(member + " is cut off"));
  for (const U4 size : {U4{0}, U4{187}, U4{189}, U4{0xffffffff}})
    CHECK_THAT(error_of(good.with(central, 24, size)), Contains("images.npy cannot have"));
  for (const U4 size : {U4{0}, U4{1}, U4{187}, U4{189}, U4{4000}})
    CHECK_THAT(error_of(deflated.with(central, 24, size)),
               Contains(member + " is damaged: it does not unpack to"));
  for (const U4 size : {U4{0xfffffff}, U4{0xffffffff}})
    CHECK_THAT(error_of(deflated.with(central, 24, size)), Contains("images.npy cannot have"));

  CHECK_THAT(error_of(archive_of({{"a.npy", array(1)}, {"a.npy", array(2)}})),
             Contains("x.npz has two members a.npy"));
  CHECK_THAT(error_of(archive_of({{"a.npy", array(1)}, {"b.txt", "text"}})),
             Contains("member b.txt is not an array: its name does not end in .npy"));
  CHECK_THAT(error_of(archive_of({{"a.npy", array(1) + "!"}})),
             Contains("x.npz: member a.npy should have"));
  CHECK_THAT(error_of(archive_of({{"a.npy", ""}})),
             Contains("x.npz: member a.npy does not begin with"));
  const std::string message = error_of(archive_of({{std::string(5000, '\n') + ".npy", "text"}}));
  CHECK(message.size() < 300);
  CHECK(message.find('\n') == std::string::npos);
}

TEST_CASE("members that overlap are refused", "[data][files]") {
  // The content of one is the whole of another.
  const Archive inner = archive_of({{"a.npy", array(1)}});
  const Archive outer =
      archive_of({{"b.npy", inner.text.substr(0, inner.text.find("PK\1\2"))}, {"a.npy", array(1)}});
  const std::size_t second = outer.text.rfind("PK\1\2");
  Archive overlapping = outer;
  const U8 begin = 55;  // behind the local header of b.npy
  REQUIRE(outer.text.substr(begin).starts_with("PK\3\4"));
  std::memcpy(overlapping.text.data() + second + 46 + 5 + 4 + 16, &begin, sizeof begin);
  CHECK_THAT(error_of(overlapping), Contains("x.npz: member a.npy overlaps another"));
}

TEST_CASE("an archive that promises too much is refused before it is unpacked", "[data][files]") {
  Archive archive = archive_of({{"a.npy", std::string(270'000, 'x')}});
  const std::size_t at = archive.text.find("PK\1\2");
  archive = archive.with(central, 10, U2{8});
  const U8 size = (U8{256} << 20) + 1;
  std::memcpy(archive.text.data() + at + 46 + 5 + 4, &size, sizeof size);
  const testing::PeakMemory peak;
  CHECK_THAT(error_of(archive), Contains("x.npz promises more bytes than") &&
                                    Contains("unzip it and read its arrays with read_npy"));
  if (const auto bytes = peak.bytes()) CHECK(*bytes < 8 << 20);
}

TEST_CASE("an archive with a damaged directory is refused", "[data][files]") {
  const Archive good = archive_in("stored"), zip64 = archive_in("zip64");
  for (const std::string& text : {std::string(), std::string("PK\5\6"), std::string(100, '\0'),
                                  read_text(testing::golden_file("npy/f4.npy"))})
    CHECK(!error_of({text}).empty());
  CHECK_THAT(error_of({std::string(100'000, 'x')}), Contains("is not a zip archive, or cut off"));
  for (const std::size_t at : {4, 6, 8, 10})
    CHECK_THAT(error_of(good.with(central_end, at, U2{7})),
               Contains("x.npz is a part of an archive of several files"));
  CHECK_THAT(error_of(good.with(central_end, 8, U4{6 << 16 | 6})),
             Contains("has 5 members, not 6"));
  CHECK_THAT(error_of(good.with(central_end, 8, U4{0})), Contains("has 5 members, not 0"));
  for (const std::size_t at : {12, 16})
    for (const U4 number : {U4{0}, U4{1}, U4{0xffffffff}})
      CHECK_THAT(error_of(good.with(central_end, at, number)), Contains("x.npz: the directory of"));
  for (const std::size_t at : {28, 30, 32})
    CHECK_THAT(error_of(good.with(central, at, U2{5000})),
               Contains("x.npz: the directory is cut off"));
  CHECK_THAT(error_of(good.with(central, 1, 'k')),
             Contains("x.npz: the directory begins with 0x02016b50"));

  for (const U8 at : {U8{5000}, U8{0x4e0}, ~U8{0}})
    CHECK_THAT(error_of(zip64.with(zip64_locator, 8, at)), Contains("x.npz: the zip64 end record"));
  for (const std::size_t at : {16, 20})
    CHECK_THAT(error_of(zip64.with(zip64_end, at, U4{1})), Contains("several files"));
  for (const std::size_t at : {24, 32})
    CHECK_THAT(error_of(zip64.with(zip64_end, at, ~U8{0})), Contains("several files"));
  for (const std::size_t at : {40, 48})
    CHECK_THAT(error_of(zip64.with(zip64_end, at, ~U8{0})), Contains("x.npz: the directory of"));
  // images.npy: the zip64 field has its size, its size in the archive and its place.
  const std::size_t field = 46 + 10;
  CHECK_THAT(error_of(zip64.with(central, field, U2{7})), Contains("begins at byte 4294967295"));
  CHECK_THAT(error_of(zip64.with(central, field + 2, U2{8})),
             Contains("member images.npy: its extra fields is cut off"));
  for (const std::size_t at : {4, 12, 20})
    CHECK_THAT(error_of(zip64.with(central, field + at, ~U8{0})), Contains("images.npy"));
}

TEST_CASE("an archive may have a comment, which must end it", "[data][files]") {
  const Archive good = archive_in("stored");
  const Archive comment{good.with(central_end, 20, U2{7}).text + "comment"};
  CHECK(equal(read(comment), read(good)));
  CHECK_THAT(error_of({good.text + "!"}), Contains("1 bytes follow the end record at byte"));
  CHECK_THAT(error_of({comment.text + "!"}), Contains("8 bytes follow the end record at byte"));
}
