#include "tapegrad/io/safetensors.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numeric>

#include "support/files.h"
#include "support/scratch.h"
#include "support/sections.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A file of a header and values, as they are given.
void write_raw(const std::filesystem::path& path, const std::string& header, const Bytes& values) {
  Bytes bytes(8 + header.size());
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  bytes.insert(bytes.end(), values.begin(), values.end());
  write_file(path, bytes);
}

// What a file with one tensor x of a type holds; `hex` are its values, lowest byte first.
TensorFile read_one(const Scratch& folder, const std::string& type, Index count,
                    const std::string& hex) {
  Bytes values;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    values.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  write_raw(folder / "one",
            fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", type,
                        count, values.size()),
            values);
  return load_tensors(folder / "one");
}

// The message of load_tensors for a file with this header.
std::string refusal(const Scratch& folder, const std::string& header, std::size_t values = 0) {
  write_raw(folder / "bad", header, Bytes(values));
  try {
    load_tensors(folder / "bad");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("safetensors files come back as they were", "[files]") {
  const Scratch folder;
  const TensorFile file{
      {{"a", Tensor({2}, {1, 2})}, {"empty", zeros({0, 3})}, {"scalar", Tensor(3.0)}},
      {{"key", "value"}}};
  save_tensors(folder / "x", file);
  const TensorFile back = load_tensors(folder / "x");
  CHECK(back.tensors.size() == 3);
  CHECK(back.tensors.at("a").data()[1] == 2);
  CHECK(back.tensors.at("empty").shape() == Shape{0, 3});
  CHECK(back.tensors.at("scalar").item() == 3);
  CHECK(back.metadata.at("key") == "value");
  CHECK(back.metadata.size() == 1);
  const Bytes before = bytes_in(folder / "x");
  save_tensors(folder / "x", back);
  CHECK(bytes_in(folder / "x") == before);
}

TEST_CASE("a damaged safetensors file is refused or has the same tensors", "[files]") {
  const Scratch folder;
  const TensorFile file{.tensors = {{"a", Tensor({2, 2}, {1, 2, 3, 4})}, {"b", zeros({3})}},
                        .metadata = {{"k", "v"}},
                        .indices = {{"i", Indices({2}, {5, -6})}}};
  save_tensors(folder / "good", file);
  const Bytes good = bytes_in(folder / "good");
  const std::size_t values = 7 * sizeof(real) + 2 * sizeof(Index), header = good.size() - values;
  const auto same = [](const auto& found, const auto& expected) {
    return std::ranges::equal(found, expected, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.shape() == b.second.shape() &&
             std::ranges::equal(a.second.values(), b.second.values());
    });
  };
  const auto refusal = [&](const Bytes& bytes) -> std::string {
    write_quickly(folder / "bad", bytes);
    try {
      const TensorFile found = load_tensors(folder / "bad");
      CHECK((same(found.tensors, file.tensors) && same(found.indices, file.indices)));
    } catch (const DataError& error) {
      CHECK_THAT(error.what(), Contains("bad"));
      return error.what();
    }
    return "";
  };
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK(refusal(first(good, length)) != "");
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      INFO("byte " << at << ", bit " << bit);
      Bytes flipped = good;
      flipped[at] ^= std::byte{1} << bit;
      const std::string message = refusal(flipped);
      if (at >= header) CHECK_THAT(message, Contains("bad is damaged") && Contains("checksum"));
    }
}

TEST_CASE("the checksum of a safetensors file", "[files]") {
  const Scratch folder;
  save_tensors(folder / "x", {.indices = {{"a", Indices({2}, {1, 2})}}});
  // Python: zlib.crc32(b'{"a":{"data_offsets":[0,16],"dtype":"I64","shape":[2]}}' +
  //                    struct.pack("<qq", 1, 2))
  CHECK_THAT(read_text(folder / "x"), Contains(R"("tapegrad.checksum":"crc32:3495fbc5")"));
  TensorFile file = load_tensors(folder / "x");
  CHECK(file.metadata.empty());
  file.metadata["tapegrad.checksum"] = "mine";
  CHECK_THROWS_WITH(save_tensors(folder / "x", file),
                    Contains("the name tapegrad.checksum is taken"));
  // Another writer may put its tensors in another order.
  const auto load = [&](const std::string& checksum) {
    write_raw(folder / "y",
              R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
              R"("__metadata__":{"tapegrad.checksum":")" +
                  checksum + R"("},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
              bytes_of({7, 8}));
    return load_tensors(folder / "y");
  };
  CHECK(load("crc32:3ddc0350").indices.at("b").data()[0] == 8);
  const std::string unknown(1'000'000, 'u');
  try {
    load(unknown);
    FAIL("a wrong checksum was believed");
  } catch (const DataError& error) {
    CHECK_THAT(error.what(), Contains("y is damaged") && Contains("uuu..."));
    CHECK(std::string(error.what()).size() < 1000);
  }
}

TEST_CASE("a long tensor is read and summed by several threads", "[files][threads]") {
  const Scratch folder;
  constexpr Index count = 300'000;
  std::vector<Index> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  save_tensors(folder / "x", {.indices = {{"a", Indices({count}, numbers)}}});
  // Python: zlib.crc32(b'{"a":{"data_offsets":[0,2400000],"dtype":"I64","shape":[300000]}}' +
  //                    struct.pack("<300000q", *range(300000)))
  CHECK_THAT(read_text(folder / "x"), Contains(R"("tapegrad.checksum":"crc32:f0938bc6")"));
  CHECK(std::ranges::equal(load_tensors(folder / "x").indices.at("a").values(), numbers));

  const Tensor values({count}, std::vector<real>(numbers.begin(), numbers.end()));
  save_tensors(folder / "x", {.tensors = {{"a", values}}});
  CHECK(std::ranges::equal(load_tensors(folder / "x").tensors.at("a").values(), values.values()));
  constexpr Index bytes = count * Index{sizeof(real)}, part = Index{1} << 18;
  CHECK(sections_of([&] { load_tensors(folder / "x"); }) ==
        std::vector<Index>{(bytes + part - 1) / part});
  Bytes flipped = bytes_in(folder / "x");
  flipped[1'000'000] ^= std::byte{1};
  write_quickly(folder / "x", flipped);
  CHECK_THROWS_WITH(load_tensors(folder / "x"), Contains("x is damaged"));
}

TEST_CASE("a safetensors file takes no memory beside its tensors", "[files][memory]") {
  const Scratch folder;
  constexpr Index count = Index{1} << 24, bytes = count * Index{sizeof(real)};
  const TensorFile file{.tensors = {{"x", full({count}, 1)}}};
  const PeakMemory saving;
  save_tensors(folder / "x", file);
  if (const auto more = saving.bytes()) CHECK(*more < bytes / 4);
  const PeakMemory loading;
  const TensorFile found = load_tensors(folder / "x");
  if (const auto more = loading.bytes()) CHECK(*more < bytes + bytes / 4);
  CHECK(found.tensors.at("x").data()[count - 1] == 1);
}

TEST_CASE("safetensors headers that lie are refused", "[files]") {
  const Scratch folder;
  const auto refused = [&](const std::string& header, std::size_t values) {
    CHECK_THAT(refusal(folder, header, values), Contains("bad"));
  };
  const auto two = [](const char* first, const char* second) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[2],"data_offsets":[{}]}},)"
                       R"("b":{{"dtype":"F32","shape":[2],"data_offsets":[{}]}}}})",
                       first, second);
  };
  refused(two("0,8", "0,8"), 16);    // overlap, and 8 bytes that belong to nothing
  refused(two("0,8", "12,20"), 16);  // beyond the end
  refused(two("0,8", "12,20"), 20);  // a gap
  refused(two("0,8", "-8,0"), 16);
  refused(R"({"a":{"dtype":"F32","shape":[1e300],"data_offsets":[0,0]}})", 0);
  refused("[]", 0);
  refused("null", 0);
  refused(R"({"w":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}})", 0);
}

TEST_CASE("every floating-point type of safetensors is read", "[files]") {
  const Scratch folder;
  const auto check = [&](const std::string& type, const std::string& hex,
                         const std::vector<double>& expected) {
    INFO(type);
    const TensorFile file = read_one(folder, type, static_cast<Index>(expected.size()), hex);
    REQUIRE(file.tensors.count("x") == 1);
    const real* found = file.tensors.at("x").data();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO(i);
      if (std::isnan(expected[i]))
        CHECK(std::isnan(found[i]));
      else
        CHECK(found[i] == static_cast<real>(expected[i]));
    }
  };
  check("F64",
        "000000000000f03f"
        "9a9999999999b9bf"
        "000000000000f07f",
        {1, -0.1, INFINITY});
  check("F32",
        "0000803f"
        "000000c0"
        "0000c07f",
        {1, -2, NAN});
  // 1, -2, the greatest, the least normal and subnormal number, 1/3 rounded, infinities, NaN
  check("F16",
        "003c"
        "00c0"
        "ff7b"
        "0004"
        "0100"
        "5535"
        "007c"
        "00fc"
        "017e"
        "0080",
        {1, -2, 65504, std::ldexp(1, -14), std::ldexp(1, -24), 0.333251953125, INFINITY, -INFINITY,
         NAN, 0});
  check("BF16",
        "803f"
        "00c0"
        "4940"
        "0100"
        "7f7f"
        "807f"
        "c07f",
        {1, -2, 3.140625, std::ldexp(1, -133), 0x1.fep127, INFINITY, NAN});
  check("F8_E5M2",
        "3c"
        "c0"
        "7b"
        "04"
        "01"
        "7c"
        "fc"
        "7f",
        {1, -2, 57344, std::ldexp(1, -14), std::ldexp(1, -16), INFINITY, -INFINITY, NAN});
  check("F8_E4M3",
        "38"
        "c0"
        "7e"
        "78"
        "08"
        "01"
        "7f"
        "ff",
        {1, -2, 448, 256, std::ldexp(1, -6), std::ldexp(1, -9), NAN, NAN});
  check("F8_E8M0",
        "7f"
        "80"
        "00"
        "fe"
        "ff",
        {1, 2, std::ldexp(1, -127), std::ldexp(1, 127), NAN});
}

TEST_CASE("every integer type of safetensors is read exactly", "[files]") {
  const Scratch folder;
  const auto check = [&](const std::string& type, const std::string& hex,
                         const std::vector<Index>& expected) {
    INFO(type);
    const TensorFile file = read_one(folder, type, static_cast<Index>(expected.size()), hex);
    CHECK(file.tensors.empty());
    REQUIRE(file.indices.count("x") == 1);
    const auto values = file.indices.at("x").values();
    CHECK(std::vector<Index>(values.begin(), values.end()) == expected);
  };
  check("BOOL", "0001", {0, 1});
  check("U8", "00ff", {0, 255});
  check("I8", "7f80ff", {127, -128, -1});
  check("U16", "0102ffff", {513, 65535});
  check("I16", "01020080", {513, -32768});
  check("U32", "01000000ffffffff", {1, 4294967295});
  check("I32", "0100000000000080", {1, -2147483648});
  check("U64", "ffffffffffffff7f", {std::numeric_limits<Index>::max()});
  check("I64",
        "0100000000002000"
        "0000000000000080",
        {9007199254740993, std::numeric_limits<Index>::min()});
}

TEST_CASE("a tensor that cannot be read leaves the others", "[files]") {
  const Scratch folder;
  const auto why = [&](const std::string& type, Index count, const std::string& hex) {
    const TensorFile file = read_one(folder, type, count, hex);
    CHECK((file.tensors.empty() && file.indices.empty()));
    CHECK_THROWS_WITH(save_tensors(folder / "again", file), Contains("tensor x was not read"));
    return file.unread.at("x");
  };
  CHECK(why("C64", 1, "0000803f0000803f") == "has the unsupported type C64");
  CHECK_THAT(why("F4", 2, "12"), Contains("F4"));
  CHECK_THAT(why("BOOL", 2, "0102"), Contains("holds 2, which is not a BOOL"));
  CHECK_THAT(why("U64", 1, "0000000000000080"), Contains("9223372036854775808"));
  // 1e300
  if (sizeof(real) == 4)
    CHECK_THAT(why("F64", 1, "9c7500883ce4377e"), Contains("holds 1e+300, too large for F32"));
  write_raw(folder / "three",
            R"({"b":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},)"
            R"("c":{"dtype":"C64","shape":[1],"data_offsets":[3,11]},)"
            R"("x":{"dtype":"U8","shape":[],"data_offsets":[11,12]}})",
            bytes_of({2, 1, 0}) + Bytes(8) + bytes_of({7}));
  const TensorFile file = load_tensors(folder / "three");
  CHECK(file.unread.size() == 2);
  CHECK(file.indices.size() == 1);
  CHECK(file.indices.at("x").data()[0] == 7);
}

TEST_CASE("indices are written beside tensors", "[files]") {
  const Scratch folder;
  save_tensors(folder / "x", {.tensors = {{"a", Tensor({3}, {1, 2, 3})}},
                              .indices = {{"b", Indices({2}, {-1, Index{1} << 62})}}});
  const TensorFile back = load_tensors(folder / "x");
  CHECK(back.tensors.at("a").data()[2] == 3);
  CHECK(back.indices.at("b").data()[1] == Index{1} << 62);
  CHECK_THROWS_WITH(save_tensors(folder / "x", {.tensors = {{"b", zeros({1})}},
                                                .indices = {{"b", Indices({1}, {1})}}}),
                    Contains("the name b is taken"));
  CHECK_THROWS_WITH(save_tensors(folder / "x", {.tensors = {{"__metadata__", zeros({1})}}}),
                    Contains("__metadata__"));
}

TEST_CASE("mistakes in a safetensors header are reported in own words", "[files]") {
  const Scratch folder;
  const auto says = [&](const std::string& header, const std::string& words) {
    CHECK_THAT(refusal(folder, header), Contains(words) && !Contains("json"));
  };
  says(R"({"a":})", "the header is not JSON at byte 13");
  says(R"({"a")", "the header is not JSON at byte 12");
  says("{\"a\":\"\xff\"}", "the header is not JSON at byte 14");
  says(R"({"a":1e999})", "out of range");
  says("[]", "not a JSON object");
  for (const char* entry : {"1", "{}", R"({"dtype":"F32","shape":[]})",
                            R"({"dtype":1,"shape":[],"data_offsets":[0,0]})",
                            R"({"dtype":"F32","shape":3,"data_offsets":[0,0]})",
                            R"({"dtype":"F32","shape":[],"data_offsets":[0]})"})
    says(fmt::format(R"({{"a":{}}})", entry),
         "tensor a: the header lacks a dtype, a shape or two data_offsets");
  says(R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,0]}})",
       R"(tensor a: "2" is not a size)");
  says(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "tensor a: it lies at bytes 8");
  says(R"({"a":{"dtype":"C64","shape":[2],"data_offsets":[0,16]}})",
       "tensor a: it lies at bytes 0 to 16 of 0; the file is cut off, or damaged");
  says(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{}})", "the header has a twice");
  says(R"({"__metadata__":3})", "__metadata__ is not a JSON object");
  says(R"({"__metadata__":{"k":3}})", "k of __metadata__ is not text");
}

TEST_CASE("a hostile safetensors header neither ends the reader nor fills the screen", "[files]") {
  const Scratch folder;
  for (const std::size_t depth : {5, 400, 1'000'000})
    for (const char* around : {R"({{"a":{}}})", R"({{"a":{{"shape":{}}}}})", "{}"}) {
      const std::string nested = std::string(depth, '[') + std::string(depth, ']');
      CHECK_THAT(refusal(folder, fmt::format(fmt::runtime(around), nested)),
                 Contains("nested too deeply"));
    }
  CHECK_THAT(refusal(folder, std::string(1'000'000, '[')), Contains("nested too deeply"));
  std::string list = "0";
  for (int i = 0; i < 1'000'000; ++i) list += ",0";
  CHECK_THAT(refusal(folder, fmt::format(R"({{"a":{{"shape":[{}]}}}})", list)),
             Contains("a list of more than 8 sizes"));
  CHECK_THAT(refusal(folder, fmt::format(R"({{"a":[{}]}})", list)), Contains("lacks a dtype"));
  CHECK_THAT(refusal(folder, fmt::format("[{}]", list)), Contains("not a JSON object"));
  const std::string name(1'000'000, 'n');
  for (const char* entry : {R"({{"{}":1}})", R"({{"__metadata__":{{"{}":1}}}})",
                            R"({{"a":{{"dtype":"F32","shape":["{}"],"data_offsets":[0,4]}}}})"}) {
    const std::string message = refusal(folder, fmt::format(fmt::runtime(entry), name));
    CHECK(message.size() < 1000);
    CHECK_THAT(message, Contains("nnn..."));
  }
}

TEST_CASE("a file that cannot be written leaves the old one", "[files]") {
  const Scratch folder;
  const Bytes before = bytes_of({1, 2, 3});
  write_file(folder / "x", before);
  fs::create_directory(folder / "taken");
  CHECK_THROWS_WITH(write_file(folder / "taken", before), Contains("taken"));
  CHECK_THROWS_AS(write_file(folder.path / "no" / "x", before), DataError);
  CHECK_THROWS_AS(save_tensors(folder / "x", {{}, {{"key", "\xff"}}}), DataError);
  CHECK(bytes_in(folder / "x") == before);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);  // no temporary file stays
}
