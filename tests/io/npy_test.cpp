#include "tapegrad/io/npy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "support/golden_file.h"
#include "support/scratch.h"
#include "support/sections.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/file.h"

using namespace tapegrad;
using Catch::Contains;
using testing::values_of;

namespace {

std::filesystem::path golden_npy(const std::string& name) {
  return testing::golden_file("npy/" + name + ".npy");
}

}  // namespace

TEST_CASE("arrays of every type that NumPy has written are read", "[data][files]") {
  const std::vector<real> values{0, 1, 2, 3, 100, 5};
  for (const char* type :
       {"f2",     "f4",     "f8",     "i1",     "i2",     "i4",     "i8",
        "u1",     "u2",     "u4",     "u8",     "big_f2", "big_f4", "big_f8",
        "big_i2", "big_i4", "big_i8", "big_u2", "big_u4", "big_u8", "version_2"}) {
    INFO(type);
    const Tensor x = read_npy(golden_npy(type));
    CHECK(x.shape() == Shape{2, 3});
    CHECK(values_of(x) == values);
  }
  for (const char* type : {"i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "big_i2", "big_i4",
                           "big_i8", "big_u2", "big_u4", "big_u8"}) {
    INFO(type);
    const Indices x = read_npy_indices(golden_npy(type));
    CHECK(x.shape() == Shape{2, 3});
    CHECK(std::vector<real>(x.values().begin(), x.values().end()) == values);
  }
  CHECK(values_of(read_npy(golden_npy("b1"))) == std::vector<real>{1, 0, 1});
  CHECK(read_npy(golden_npy("scalar")).item() == real{1.5});
  CHECK(read_npy(golden_npy("empty")).shape() == Shape{0, 3});
}

TEST_CASE("numbers at the limits of their types are read", "[data][files]") {
  const std::vector<real> halves = values_of(read_npy(golden_npy("f2_limits")));
  CHECK(halves[0] == 65504);
  CHECK(halves[1] == std::numeric_limits<real>::infinity());
  CHECK(std::isnan(halves[2]));
  CHECK(halves[3] == std::ldexp(real{1}, -24));
  CHECK(halves[4] == real{-1365} / 4096);  // the nearest to -1/3 with eleven binary digits
  const std::vector<real> wholes = values_of(read_npy(golden_npy("u8_limits")));
  CHECK(wholes == std::vector<real>{std::ldexp(real{1}, 63), std::ldexp(real{1}, 63),
                                    std::ldexp(real{1}, 64)});
  CHECK_THROWS_WITH(read_npy_indices(golden_npy("u8_limits")),
                    Contains("u8_limits.npy has a value of type <u8 that is too large for an "
                             "index, at byte 136"));
}

TEST_CASE("arrays of other kinds are refused by file and byte", "[data][files]") {
  CHECK_THROWS_WITH(read_npy(golden_npy("fortran")),
                    Contains("column-major order") && Contains("at byte 10"));
  CHECK_THROWS_WITH(read_npy(golden_npy("c8")),
                    Contains("values of type <c8, at byte 10; supported: i1 i2 i4 i8 u1 u2 u4 u8 "
                             "b1 f2 f4 f8, of either byte order"));
  CHECK_THROWS_WITH(read_npy_indices(golden_npy("f4")), Contains("values of type <f4"));
  CHECK_THROWS_AS(read_npy(golden_npy("missing")), DataError);
  const testing::Scratch folder;
  const std::string header = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
  std::ofstream(folder / "x.npy", std::ios::binary)
      << "\x93NUMPY\x01" << std::string(1, '\0') << static_cast<char>(header.size())
      << std::string(1, '\0') << header << "1234";
  CHECK_THROWS_WITH(read_npy(folder / "x.npy"), Contains("x.npy holds a structured array; save "));
}

TEST_CASE("an array that is written is read again", "[data][files]") {
  const testing::Scratch folder;
  for (const Shape& shape :
       {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{1, 2, 1, 3, 1, 1, 1, 2}}) {
    const Tensor x = Random(1).normal(shape);
    write_npy(folder / "x.npy", x);
    CHECK(read_npy(folder / "x.npy").shape() == shape);
    CHECK(values_of(read_npy(folder / "x.npy")) == values_of(x));
    CHECK(std::filesystem::file_size(folder / "x.npy") % 64 == x.values().size_bytes() % 64);
  }
  write_npy(folder / "y.npy", Indices({2}, {-1, Index{1} << 60}));
  const Indices y = read_npy_indices(folder / "y.npy");
  CHECK(y.data()[0] == -1);
  CHECK(y.data()[1] == Index{1} << 60);
  CHECK_THROWS_AS(write_npy(folder / "x.npy", Tensor()), ShapeError);
}

TEST_CASE("a long array is read by several threads", "[data][files][threads]") {
  const testing::Scratch folder;
  const auto path = folder / "x.npy";
  Indices x = Indices::uninitialized({200'000});
  std::iota(x.mutable_data(), x.mutable_data() + x.size(), Index{-100'000});
  write_npy(path, x);
  CHECK(testing::sections_of([&] { read_npy(path); }) == std::vector<Index>{13});
  CHECK(std::ranges::equal(read_npy_indices(path).values(), x.values()));
  CHECK(values_of(read_npy(path)) == std::vector<real>(x.values().begin(), x.values().end()));
  // Read without their sign, negative numbers are too large; the first is reported.
  std::string bytes = read_text(path);
  bytes.replace(bytes.find("<i8"), 3, "<u8");
  for (const Index positive : {0, 1, 70'000}) {
    std::fill_n(bytes.end() - 8 * x.size(), 8 * positive, '\0');
    std::ofstream(path, std::ios::binary) << bytes;
    CHECK_THROWS_WITH(read_npy_indices(path),
                      Contains("at byte " + std::to_string(128 + 8 * positive)));
  }
}

TEST_CASE("a damaged array is refused", "[data][files]") {
  const testing::Scratch folder;
  const std::string good = read_text(golden_npy("f4"));
  const auto error_of = [&](const std::string& bytes) {
    std::ofstream(folder / "x.npy", std::ios::binary) << bytes;
    try {
      read_npy(folder / "x.npy");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(error_of(good).empty());
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_THAT(error_of(good.substr(0, length)), Contains("x.npy"));
  CHECK_THAT(error_of(good + "!"), Contains("according to its header"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    return changed.replace(changed.find(from), from.size(), to);
  };
  for (const char* shape : {"(2, 9)", "(2,-3)", "(2, 3(", "(2 3) ", "(x, 3)"}) {
    INFO(shape);
    CHECK_THAT(error_of(with("(2, 3)", shape)), Contains("x.npy"));
  }
  CHECK_THAT(error_of(with("(2, 3), }", "(9999999)")), Contains("x.npy"));
  CHECK_THAT(error_of(with("'fortran_order'", "'shape_of_ord'")),
             Contains("unknown or repeated key"));
  CHECK_THAT(error_of(with("False", "Falsy")), Contains("neither True nor False in its header"));
}
