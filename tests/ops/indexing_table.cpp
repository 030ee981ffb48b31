#include "ops/table.h"
#include "tapegrad/ops/einsum.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::testing {
namespace {

Function of_equation(const char* equation) {
  return [equation](In x) { return einsum(equation, x); };
}

}  // namespace

std::vector<Row> indexing_rows() {
  return {
      {"einsum", "torch.einsum('bij,bjk->bik', a, b)", "any_(2, 3, 2), any_(2, 2, 4)",
       of_equation("bij,bjk->bik")},
      {"einsum_implicit", "torch.einsum('kj, ji', a, b)", "any_(2, 3), any_(3, 4)",
       of_equation("kj, ji")},
      {"einsum_one", "torch.einsum('ijk->ki', a)", "any_(2, 3, 4)", of_equation("ijk->ki")},
      {"einsum_elements", "torch.einsum('ij,ki,j->kji', a, b, c)",
       "any_(2, 3), any_(4, 2), any_(3)", of_equation("ij,ki,j->kji")},
      {"einsum_scalar", "torch.einsum('ij,ij->', a, b)", "any_(2, 3), any_(2, 3)",
       of_equation("ij,ij->")},
      {"einsum_chain", "torch.einsum('abc,cd,ade->eb', a, b, c)",
       "any_(2, 3, 2), any_(2, 3), any_(2, 3, 4)", of_equation("abc,cd,ade->eb")},
      {"einsum_squared", "torch.einsum('ij,ik,jl->kl', a, a, b)", "any_(2, 2), any_(2, 3)",
       [](In x) {
         return einsum("ij,ik,jl->kl", {x[0], x[0], x[1]});
       }},
      {"at", "a[:, 1:, ::2]", "any_(2, 3, 5)",
       [](In x) {
         return at(x[0], {Slice{}, Slice{1}, Slice{.step = 2}});
       }},
      {"at_position", "a[1:, -1, 1:4:2]", "any_(3, 2, 5)",
       [](In x) {
         return at(x[0], {Slice{1}, -1, Slice{1, 4, 2}});
       }},
      {"at_ellipsis", "a[..., 1:-1]", "any_(2, 3, 4)",
       [](In x) {
         return at(x[0], {ellipsis, Slice{1, -1}});
       }},
      {"at_new_axis", "a[:, None, ..., -2, None]", "any_(2, 3, 4)",
       [](In x) {
         return at(x[0], {Slice{}, new_axis, ellipsis, -2, new_axis});
       }},
      {"einsum_ellipsis", "torch.einsum('...ij,...jk->...ik', a, b)",
       "any_(2, 1, 2, 3), any_(4, 3, 2)", of_equation("...ij,...jk->...ik")},
      {"einsum_ellipsis_implicit", "torch.einsum('b...,...a', a, b)", "any_(2, 3), any_(4, 3, 2)",
       of_equation("b...,...a")},
      {"einsum_ellipsis_last", "torch.einsum('i...,j...->...ji', a, b)",
       "any_(2, 3, 1), any_(3, 2)", of_equation("i...,j...->...ji")},
      {"einsum_ellipsis_summed", "torch.einsum('...i,i->i', a, b)", "any_(2, 3, 4), any_(4)",
       of_equation("...i,i->i")},
      {"einsum_ellipsis_elements", "torch.einsum('...,i...,...->i...', a, b, c)",
       "any_(3), any_(2, 4, 1), any_(1, 3)", of_equation("...,i...,...->i...")},
      {"einsum_diagonal", "torch.einsum('ii->i', a)", "any_(3, 3)", of_equation("ii->i")},
      {"einsum_trace", "torch.einsum('ii', a)", "any_(3, 3)", of_equation("ii")},
      {"einsum_diagonals", "torch.einsum('ibi->bi', a)", "any_(3, 2, 3)", of_equation("ibi->bi")},
      {"einsum_diagonal_triple", "torch.einsum('iiji->ji', a)", "any_(2, 2, 3, 2)",
       of_equation("iiji->ji")},
      {"einsum_diagonal_product", "torch.einsum('...ii,ij->...j', a, b)",
       "any_(2, 3, 3), any_(3, 2)", of_equation("...ii,ij->...j")},
  };
}

}  // namespace tapegrad::testing
