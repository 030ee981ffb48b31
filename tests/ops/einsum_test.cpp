#include "tapegrad/ops/einsum.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace tapegrad;
using Catch::Contains;

namespace {

bool is(const Tensor& x, const std::vector<real>& expected) {
  return std::equal(expected.begin(), expected.end(), x.values().begin(), x.values().end());
}

}  // namespace

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

TEST_CASE("einsum refuses what it does not support by name", "[ops]") {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  CHECK_THROWS_WITH(
      einsum("ii->i", {zeros({2, 2})}),
      Catch::StartsWith(
          "einsum: index i is repeated within an operand, and diagonals are not supported: ii->i"));
  CHECK_THROWS_WITH(einsum("...ij->...ji", {a}),
                    Catch::StartsWith("einsum: an ellipsis is not supported: ...ij->...ji ["));
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
  CHECK_THROWS_WITH(einsum("i1->i", {a}), Contains("is not a letter") && Contains("1"));
  CHECK_THROWS_WITH(einsum("ij->i->j", {a}), Contains("is not a letter"));
  CHECK_THROWS_WITH(einsum("ij-i", {a}), Contains("is not a letter"));
}
