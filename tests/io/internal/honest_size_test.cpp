#include "tapegrad/io/internal/honest_size.h"

#include <catch2/catch.hpp>

#include "support/files.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// What a reader may build from a file.
Allowance allowance(std::size_t size, std::size_t stored) {
  return {FileBytes(nullptr, size, false, stored), "text.gz"};
}

}  // namespace

TEST_CASE("a reader may build 256 MiB, or 100 times the size of the file", "[files]") {
  Allowance small = allowance(1000, 1000), packed = allowance(100 * mebibyte, 1000),
            large = allowance(4 * mebibyte, 4 * mebibyte);
  for (int i = 0; i < 256; ++i) small.take(mebibyte);
  CHECK_THROWS_WITH(small.take(1),
                    Contains("text.gz: its 1000 bytes would take more than 268435456 bytes of "
                             "memory; if you trust it, divide it into several files"));
  packed.take(156 * mebibyte);  // beside what it unpacks to
  CHECK_THROWS_WITH(packed.take(1), Contains("unpack it with gunzip"));
  CHECK_NOTHROW(large.take(400 * mebibyte));
  CHECK_THROWS_AS(large.take(1), DataError);
}

TEST_CASE("the memory of texts is counted", "[files]") {
  CHECK(memory_of(std::string("ab")) == sizeof(std::string));
  const std::string large(1000, 'a');
  CHECK(memory_of(large) >= sizeof(std::string) + 1001);
  CHECK(memory_of(std::vector<std::string>{"a", "b"}) ==
        sizeof(std::vector<std::string>) + 2 * sizeof(std::string));
}
