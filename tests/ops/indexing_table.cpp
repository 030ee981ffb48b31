#include "ops/table.h"
#include "tapegrad/ops/einsum.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::testing {
namespace {

using In = const std::vector<Tensor>&;

Function of_equation(const char* equation) {
  return [equation](In x) { return einsum(equation, x); };
}

std::vector<Row> rows_of_ops() {
  return {
      {"einsum", of_equation("bij,bjk->bik")},
      {"einsum_implicit", of_equation("kj, ji")},
      {"einsum_one", of_equation("ijk->ki")},
      {"einsum_elements", of_equation("ij,ki,j->kji")},
      {"einsum_scalar", of_equation("ij,ij->")},
      {"einsum_chain", of_equation("abc,cd,ade->eb")},
      {"einsum_squared",
       [](In x) {
         return einsum("ij,ik,jl->kl", {x[0], x[0], x[1]});
       }},
  };
}

std::vector<Row> rows_of_indexing() {
  return {
      {"at",
       [](In x) {
         return at(x[0], {Slice{}, Slice{1}, Slice{.step = 2}});
       }},
      {"at_position",
       [](In x) {
         return at(x[0], {Slice{1}, -1, Slice{1, 4, 2}});
       }},
      {"at_ellipsis",
       [](In x) {
         return at(x[0], {ellipsis, Slice{1, -1}});
       }},
      {"at_new_axis",
       [](In x) {
         return at(x[0], {Slice{}, new_axis, ellipsis, -2, new_axis});
       }},
      {"einsum_ellipsis", of_equation("...ij,...jk->...ik")},
      {"einsum_ellipsis_implicit", of_equation("b...,...a")},
      {"einsum_ellipsis_last", of_equation("i...,j...->...ji")},
      {"einsum_ellipsis_summed", of_equation("...i,i->i")},
      {"einsum_ellipsis_elements", of_equation("...,i...,...->i...")},
      {"einsum_diagonal", of_equation("ii->i")},
      {"einsum_trace", of_equation("ii")},
      {"einsum_diagonals", of_equation("ibi->bi")},
      {"einsum_diagonal_triple", of_equation("iiji->ji")},
      {"einsum_diagonal_product", of_equation("...ii,ij->...j")},
  };
}

}  // namespace

std::vector<Row> indexing_rows() {
  std::vector<Row> rows = rows_of_ops();
  for (Row& row : rows_of_indexing()) {
    row.file = "indexing.json";
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tapegrad::testing
