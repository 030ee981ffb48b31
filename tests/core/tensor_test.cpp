#include "tapegrad/core/tensor.h"

#include <catch2/catch.hpp>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/nn/optimizers/optimizer.h"
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

namespace {

// Values for a tensor to share, and how often their owner has been released. The address sanitizer
// sees who reads them after that.
struct Owned {
  std::shared_ptr<int> released = std::make_shared<int>(0);
  std::shared_ptr<std::vector<real>> values;
  const real* address = nullptr;

  explicit Owned(std::vector<real> given)
      : values(new std::vector<real>(std::move(given)),
               [count = released](std::vector<real>* owned) {
                 delete owned;
                 ++*count;
               }),
        address(values->data()) {}
  Tensor shared(const Shape& shape, Index offset = 0) {
    return Tensor::sharing(shape, address + offset, std::move(values));
  }
};

}  // namespace

TEST_CASE("a tensor reads the values that it shares where they are", "[core]") {
  Owned owned({0, 1, 2, 3, 4, 5, 6});
  const Tensor x = owned.shared({2, 3}, 1);  // aligned for one value, and no more
  CHECK(to_string(x) == "(2, 3) [[1, 2, 3], [4, 5, 6]]");
  CHECK(x.data() == owned.address + 1);
  CHECK(x.view({2}, 3).data() == owned.address + 4);
  CHECK(reshape(x, {3, 2}).data() == owned.address + 1);
  CHECK(sum(x).item() == 21);
}

TEST_CASE("the last tensor or tape releases the owner of shared values, once", "[core]") {
  Owned owned({1, 2, 3, 4});
  Tensor part, derivative;
  {
    const Tape tape;
    const Tensor x = watch(owned.shared({4}));
    part = x.view({2}, 1);
    derivative = grad(sum(square(x)), x);
  }
  CHECK(*owned.released == 0);
  CHECK(to_string(part) == "(2) [2, 3]");
  part = Tensor();
  CHECK(*owned.released == 1);
  CHECK(to_string(derivative) == "(4) [2, 4, 6, 8]");
}

TEST_CASE("a tape alone keeps shared values", "[core]") {
  Owned owned({1, 2, 3, 4});
  {
    const Tape tape;
    const Tensor factor = watch(ones({4}));
    const Tensor y = sum(factor * owned.shared({4}));
    CHECK(*owned.released == 0);
    CHECK(tape.bytes() == 4 * sizeof(real));
    CHECK(to_string(grad(y, factor)) == "(4) [1, 2, 3, 4]");
    CHECK(*owned.released == 1);  // the sweep was the last to need them
  }
  CHECK(*owned.released == 1);
}

TEST_CASE("shared values may be released on another thread", "[core][threads]") {
  Owned owned({1, 2}), unread({3, 4});
  Tensor x = owned.shared({2}), y = unread.shared({2});
  real total = 0;
  std::thread([&] {
    total = sum(x).item();
    x = Tensor();
  }).join();
  CHECK(total == 3);
  CHECK(*owned.released == 1);
  std::thread([&] { y = Tensor(); }).join();  // without any memory of the library
  CHECK(*unread.released == 1);
}

TEST_CASE("nothing writes to shared values", "[core]") {
  Owned owned({1, 2, 3, 4});
  const std::shared_ptr<const std::vector<real>> original = owned.values;
  Tensor x = owned.shared({2, 2});
  CHECK(!x.unique());
  CHECK_THROWS_WITH(x.mutable_data(),
                    "mutable_data: another tensor, tape, parameter or owner "
                    "shares the values: (2, 2)");
  const Tensor gradient({2, 2}, {1, -1, 2, -2});
  SECTION("a parameter") {
    Parameter slot(std::exchange(x, Tensor()));
    slot.mutable_data()[0] = 9;
    CHECK(slot.value().data() != owned.address);
    CHECK(to_string(slot.value()) == "(2, 2) [[9, 2], [3, 4]]");
    slot.set(Tensor::sharing({2, 2}, owned.address, original));
    CHECK(slot.value().data() == owned.address);
  }
  SECTION("optimizers") {
    Parameter slot(std::exchange(x, Tensor()));
    for (const bool adam : {false, true}) {
      slot.set(Tensor::sharing({2, 2}, owned.address, original));
      if (adam)
        Adam({slot}, {.center_weights = Centering::outputs}).step({gradient});
      else
        Sgd({slot}, {.momentum = 0.9}).step({gradient});
      CHECK(slot.value().data() != owned.address);
      CHECK(slot.value().values()[0] != 1);
    }
  }
  CHECK(*original == std::vector<real>{1, 2, 3, 4});
}

TEST_CASE("values that cannot be shared are refused", "[core]") {
  Owned owned({1, 2, 3});
  const auto* odd =
      reinterpret_cast<const real*>(reinterpret_cast<const std::byte*>(owned.address) + 1);
  CHECK_THROWS_AS(Tensor::sharing({2}, odd, owned.values), ArgumentError);
  CHECK_THROWS_WITH(
      Tensor::sharing({2}, nullptr, owned.values),
      fmt::format("tensor: cannot share values at 0x0, not a multiple of {}: (2); copy them",
                  alignof(real)));
  CHECK(owned.values.use_count() == 1);
  for (const Shape& shape : {Shape{0}, Shape{2, 0, 3}}) {
    const Tensor empty = Tensor::sharing(shape, nullptr, owned.values);
    CHECK(empty.defined());
    CHECK(empty.shape() == shape);
    CHECK(sum(empty).item() == 0);
    CHECK(owned.values.use_count() == 1);
  }
}

TEST_CASE("shared values are not memory of the library", "[core]") {
  Owned owned(std::vector<real>(100'000, 1));
  const std::int64_t before = memory_use().bytes;
  const Tensor x = owned.shared({100'000});
  CHECK(memory_use().bytes == before);
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

TEST_CASE("impossible shapes are reported as requested", "[core]") {
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
  CHECK_THROWS_WITH(linspace(0, 1, -1), "linspace: count must not be negative: -1");
  CHECK_THROWS_WITH(arange(-1), "arange: count must not be negative: -1");
  CHECK_THROWS_WITH(eye(-1), "eye: count must not be negative: -1");
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
