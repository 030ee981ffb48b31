#include "tapegrad/ops/einsum.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("sums in Einstein's notation at the edges", "[ops]") {
  const Tensor a({2, 3}, {1, 2, 3, 4, 5, 6}), v({3}, {1, 10, 100});
  CHECK(is(einsum("ij,j", {a, v}), {321, 654}));
  CHECK(is(einsum("ij->ij", {a}), {1, 2, 3, 4, 5, 6}));
  CHECK(is(einsum("ba", {a}), {1, 4, 2, 5, 3, 6}));  // in alphabetical order
  CHECK(einsum("ij->", {a}).item() == 21);
  CHECK(einsum("ij,k->", {a, v}).item() == 21 * 111);
  CHECK(is(einsum(",i->i", {Tensor(2.0), v}), {2, 20, 200}));
  CHECK(einsum("->", {Tensor(7.0)}).item() == 7);
  CHECK(einsum("Aa,a->A", {a, v}).shape() == Shape{2});
  CHECK(einsum(" i j , k -> k i ", {a, Tensor({1}, {2})}).shape() == Shape{1, 2});
  CHECK(is(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 2})}), {0, 0, 0, 0}));
  CHECK(einsum("ij,jk->ik", {zeros({0, 2}), zeros({2, 3})}).shape() == Shape{0, 3});
}

TEST_CASE("an ellipsis in Einstein's notation stands for axes that broadcast", "[ops]") {
  const Tensor a({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(einsum("...->...", {a}), {1, 2, 3, 4, 5, 6}));
  CHECK(einsum("...ij->...ji", {a}).shape() == Shape{3, 2});  // of no axis here
  CHECK(einsum("...j->j...", {a}).shape() == Shape{3, 2});
  CHECK(einsum("b...", {a}).shape() == Shape{3, 2});  // first, where the result is not written
  CHECK(is(einsum("i...->i", {a}), {6, 15}));         // summed over, where the result has none
  CHECK(is(einsum("ij->...ij", {a}), {1, 2, 3, 4, 5, 6}));
  CHECK(is(einsum("...,...", {Tensor({2, 1}, {1, 10}), Tensor({3}, {1, 2, 3})}),
           {1, 2, 3, 10, 20, 30}));
  CHECK(is(einsum("...,...->", {Tensor({1}, {2}), Tensor({3}, {1, 2, 3})}), {12}));
  CHECK(is(einsum("...,...->...", {zeros({0, 1}), ones({1, 1})}), {}));
}

TEST_CASE("einsum takes the diagonal of an operand with repeated letters", "[ops]") {
  const Tensor a({2, 2}, {1, 2, 3, 4});
  CHECK(is(einsum("ii->i", {a}), {1, 4}));
  CHECK(einsum("ii", {a}).item() == 5);
  CHECK(is(einsum("ii,i->i", {a, Tensor({2}, {3, 5})}), {3, 20}));
  CHECK(is(einsum("iij->ij", {ones({0, 0, 2})}), {}));
}

TEST_CASE("einsum multiplies the pair with the smallest product first", "[ops]") {
  const auto largest = [](const std::string& equation, std::vector<Tensor> operands) {
    const Tape tape;
    for (Tensor& each : operands) each = watch(each);
    einsum(equation, operands);
    Index most = 0;
    for (std::int32_t i = 0; i < tape.size(); ++i) most = std::max(most, tape.node(i).shape.size());
    return most;
  };
  Random random(5);
  const Tensor a = random.normal({200, 10}), b = random.normal({200, 10}), c = random.normal({200});
  CHECK(largest("ki,kj,k->ij", {a, b, c}) == 2000);
  CHECK(largest("ab,cd,bc->ad", {ones({10, 10}), ones({10, 10}), ones({10, 10})}) == 100);
  CHECK(largest("a,b,c,abc->", {ones({8}), ones({8}), ones({8}), ones({8, 8, 8})}) == 512);
  const Tensor found = einsum("ki,kj,k->ij", {a, b, c});
  for (Index i = 0; i < 10; ++i)
    for (Index j = 0; j < 10; ++j) {
      double expected = 0;
      for (Index k = 0; k < 200; ++k)
        expected += static_cast<double>(a.data()[k * 10 + i]) * b.data()[k * 10 + j] * c.data()[k];
      CHECK(found.data()[i * 10 + j] == Approx(expected).margin(1e-4));
    }
}

TEST_CASE("einsum refuses what it does not support by name", "[ops]") {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  CHECK_THROWS_WITH(einsum("ii->i", {a}),
                    Catch::StartsWith("einsum: index i has the extents 2 and 3: ii->i ["));
  CHECK_THROWS_WITH(einsum("ij,jk->ik", {a}),
                    Catch::StartsWith("einsum: 1 operands for 2 terms: ij,jk->ik ["));
  CHECK_THROWS_WITH(einsum("", {}), Contains("0 operands for 1 terms"));
  CHECK_THROWS_WITH(
      einsum("ijk->i", {a}),
      Catch::StartsWith("einsum: ijk names 3 axes of operand 0 of shape (2, 3): ijk->i ["));
  CHECK_THROWS_WITH(einsum("ij,ik->jk", {a, b}),
                    Catch::StartsWith("einsum: index i has the extents 2 and 3: ij,ik->jk ["));
  CHECK_THROWS_WITH(einsum("ij,ik->jk", {a, zeros({1, 4})}), Contains("the extents 2 and 1"));
  CHECK_THROWS_WITH(einsum("ij->ii", {a}),
                    Catch::StartsWith("einsum: index i is repeated in the result: ij->ii ["));
  CHECK_THROWS_WITH(einsum("ij->ik", {a}),
                    Catch::StartsWith("einsum: index k of the result is in no operand: ij->ik ["));
  CHECK_THROWS_WITH(
      einsum("...ijk->i", {a}),
      Catch::StartsWith("einsum: ...ijk names 3 axes of operand 0 of shape (2, 3): ...ijk->i ["));
  CHECK_THROWS_WITH(
      einsum("...,...->...", {a, zeros({2, 2})}),
      Catch::StartsWith(
          "einsum: the axes under the ellipsis do not broadcast: 3 and 2: ...,...->... ["));
  for (const char* wrong : {"..ij->i", "....j->j", "...i...->i", "ij->......ij", ". j->j"})
    CHECK_THROWS_WITH(
        einsum(wrong, {a}),
        Catch::StartsWith("einsum: a point belongs to an ellipsis of three, one for each term: "));
  CHECK_THROWS_WITH(
      einsum(std::string(5000, 'x'), {a}),
      Catch::StartsWith("einsum: " + std::string(100, 'x') + "... names 5000 axes of operand 0"));
  CHECK_THROWS_WITH(einsum("i1->i", {a}), Contains("is not a letter") && Contains("1"));
  CHECK_THROWS_WITH(einsum("ij->i->j", {a}), Contains("is not a letter"));
  CHECK_THROWS_WITH(einsum("ij-i", {a}), Contains("is not a letter"));
}
