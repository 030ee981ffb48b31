#include "tapegrad/core/tensor.h"

#include <catch2/catch.hpp>
#include <limits>
#include <sstream>
#include <type_traits>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("values that something shares cannot be written", "[core]") {
  const Tape tape;
  Tensor x = watch(Tensor({2}, {3, 4}));
  const Tensor y = sum(square(x));
  Tensor alias = x;
  CHECK_THROWS_WITH(alias.mutable_data(), Contains("mutable_data") && Contains("shares"));
  CHECK_THROWS_AS(x.mutable_data(), Error);  // the tape holds them too
  CHECK(grad(y, x).values()[0] == 6);
  Tensor own = zeros({2});
  CHECK_NOTHROW(own.mutable_data()[1] = 5);
  CHECK_THROWS_WITH(Tensor().mutable_data(), Contains("undefined"));
  Parameter slot(own);
  CHECK_THROWS_AS(own.mutable_data(), Error);
}

TEST_CASE("a view ends where the values end", "[core]") {
  const Tensor x({4}, {1, 2, 3, 4});
  CHECK(x.view({2}, 2).values()[1] == 4);
  CHECK(x.view({0}, 4).size() == 0);
  CHECK_THROWS_WITH(x.view({3}, 2), "view: (3) from element 2 on does not fit into (4)");
  CHECK_THROWS_AS(x.view({1}, -1), ShapeError);
  CHECK_THROWS_AS(x.view({5}), ShapeError);
  CHECK_THROWS_AS(x.view({1}, std::numeric_limits<Index>::max()), ShapeError);
}

TEST_CASE("what a temporary returns lasts for a loop over it", "[core]") {
  std::vector<real> values;
  for (const real value : Tensor({3}, {1, 2, 3}).values()) {
    full({3}, 7);  // takes memory that has become free
    values.push_back(value);
  }
  CHECK(values == std::vector<real>{1, 2, 3});
  std::vector<Index> positions;
  for (const Index position : Indices({3}, {1, 2, 3}).values()) {
    const std::vector<Index> sevens(3, 7);
    Indices({3}, sevens);
    positions.push_back(position);
  }
  CHECK(positions == std::vector<Index>{1, 2, 3});
  static_assert(std::is_same_v<decltype(zeros({2}).shape()), Shape>);
  static_assert(std::is_same_v<decltype(Indices().shape()), Shape>);
}

TEST_CASE("a slot holds a value once it has one", "[core]") {
  Parameter scalar(Tensor(1.0)), empty;
  CHECK_THROWS_AS(scalar.set(Tensor()), ShapeError);
  CHECK_THROWS_AS(empty.set(Tensor()), ShapeError);
  CHECK_THROWS_AS(empty.mutable_data(), Error);
  CHECK(scalar.value().item() == 1);
  const std::uint64_t before = scalar.changes();
  scalar.set(Tensor(2.0));
  scalar.mutable_data()[0] = 3;
  CHECK(scalar.changes() == before + 2);
}

TEST_CASE("shapes that cannot be say what was asked for", "[core]") {
  for (const int axis : {2, -3})
    CHECK_THROWS_WITH(Shape({2}).insert(axis, 1),
                      fmt::format("shape: a new axis {} does not fit into shape (2)", axis));
  CHECK(Shape({2}).insert(-1, 3) == Shape{2, 3});
  CHECK(Shape({2}).insert(-2, 3) == Shape{3, 2});
  CHECK_THROWS_WITH(reshape(ones({4}), {-1, -1}), Contains("only one extent") && Contains("(4)"));
  CHECK_THROWS_WITH(stack({ones({2})}, 5), Contains("axis 5 does not fit into shape (2)"));
}

TEST_CASE("extents are checked wherever a shape is made", "[core]") {
  const Index huge = Index{1} << 62;
  CHECK_THROWS_WITH(Shape({1}).with(0, -3), Contains("negative"));
  CHECK_THROWS_WITH(Shape({1}).insert(0, -3), Contains("negative"));
  CHECK_THROWS_WITH(Shape({4}).with(0, huge), Contains("too many elements"));
  CHECK_THROWS_AS(Shape({1}).insert(1, huge), ShapeError);
  CHECK_THROWS_AS(one_hot(Indices({1}, {3}), huge), ShapeError);
  CHECK_THROWS_AS(pad(ones({1}), {{huge, huge}}), ShapeError);
}

TEST_CASE("memory that there is not is asked for by name", "[core]") {
  const Index much = Index{1} << 54;
  CHECK_THROWS_AS(Tensor::uninitialized({much}), MemoryError);
  CHECK_THROWS_WITH(
      Tensor::uninitialized({much}),
      Contains("(18014398509481984)") &&
          Contains(std::to_string(much * static_cast<Index>(sizeof(real))) + " bytes"));
  CHECK_THROWS_AS(Storage::allocate(std::size_t{1} << 60), MemoryError);
}

TEST_CASE("tensors are made from vectors of any numbers", "[core]") {
  const std::vector<double> doubles{1, 0.5};
  const std::vector<float> floats{1, 0.5};
  const std::vector<int> ints{1, -2};
  CHECK(to_string(Tensor({2}, doubles)) == "(2) [1, 0.5]");
  CHECK(to_string(Tensor({2, 1}, floats)) == "(2, 1) [[1], [0.5]]");
  CHECK(to_string(Tensor({2}, ints)) == "(2) [1, -2]");
  CHECK(to_string(Tensor({2}, std::vector<bool>{true, false})) == "(2) [1, 0]");
  CHECK_THROWS_AS(Tensor({3}, doubles), ShapeError);
  CHECK(Shape(std::vector<Index>{2, 3}) == Shape{2, 3});
}

TEST_CASE("equal distances from one number to another", "[core]") {
  CHECK(to_string(linspace(0, 1, 5)) == "(5) [0, 0.25, 0.5, 0.75, 1]");
  CHECK(to_string(linspace(3, -1, 3)) == "(3) [3, 1, -1]");
  CHECK(to_string(linspace(3, 7, 1)) == "(1) [3]");
  CHECK(linspace(0, 1, 0).shape() == Shape{0});
  CHECK(linspace(0, 0.1, 11).values()[10] == static_cast<real>(0.1));
  CHECK_THROWS_AS(linspace(0, 1, -1), ArgumentError);
}

TEST_CASE("tensors and shapes are printed", "[core]") {
  const Tensor x({2}, {1, 2});
  CHECK(fmt::format("{} of {}", x, x.shape()) == "(2) [1, 2] of (2)");
  const real nan = std::numeric_limits<real>::quiet_NaN();
  CHECK(to_string(Tensor({3}, {nan, -nan, -0.5})) == "(3) [nan, nan, -0.5]");
  std::ostringstream stream;
  stream << x << ' ' << x.shape() << ' ' << Tensor();
  CHECK(stream.str() == "(2) [1, 2] (2) undefined");
}

TEST_CASE("numbers are counted beyond the last that a float counts to", "[core]") {
  const Tensor counted = arange(17000000);
  CHECK(counted.data()[16999999] == static_cast<real>(16999999));
  CHECK(arange(0).shape() == Shape{0});
}
