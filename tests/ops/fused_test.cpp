#include "tapegrad/ops/internal/fused.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "ops/table.h"
#include "support/golden.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double fused_precision = sizeof(real) == 8 ? 1e-9 : 2e-4;

/// A fused operation on operands of which only the first `required` must be there.
struct FusedCase {
  std::string operation;
  std::string form;
  std::vector<Shape> operands;
  std::size_t required;
  Function f;
};

void add_rows(std::vector<FusedCase>& cases) {
  for (const Row& row : table()) {
    if (!row.fused) continue;
    std::vector<Shape> operands;
    for (const Tensor& input : golden(row).inputs) operands.push_back(input.shape());
    cases.push_back({row.name, "", operands, operands.size() - row.optional, row.f});
  }
}

// More forms than have golden values.
void add_norms(std::vector<FusedCase>& cases) {
  const Shape image{2, 3, 4};
  const NormField row{.axes = {-1}}, batch{.axes = {0, 1}}, groups{.axes = {1, 2}, .groups = 3};
  const NormOptions other{.epsilon = 0.1,
                          .detach_mean = true,
                          .place = Epsilon::outside_root,
                          .variance = Variance::unbiased};
  const NormOptions identity{.epsilon = 0.1, .identity_forward = true},
      of_factor_one{.detach_mean = true, .identity_forward = true, .unit_factor = true};
  for (const NormField& field : {row, batch, groups})
    for (const NormOptions& options :
         {NormOptions{}, other, NormOptions{.detach_scale = true}, identity, of_factor_one})
      for (const NormFields& fields : {both(field), NormFields{{}, field}})
        cases.push_back({"normalize", fmt::format("form {}", cases.size()), {image}, 1, [=](In in) {
                           return normalize(in[0], fields, options);
                         }});
  for (const NormFields& fields : {both(row), NormFields{{}, row}})
    for (const NormOptions& options : {NormOptions{}, other})
      cases.push_back(
          {"affine_norm", fmt::format("form {}", cases.size()), {image, {4}, {4}}, 2, [=](In in) {
             return affine_norm(in[0], fields, in[1], in[2], options);
           }});
}

// With and without each of: the past only, a mask, a bias, dropout.
void add_attention(std::vector<FusedCase>& cases) {
  for (int terms = 0; terms < 16; ++terms) {
    const auto options = [terms](Random& random) {
      AttentionOptions o{.heads = 2, .causal = (terms & 1) != 0};
      if (terms & 2) o.mask = Tensor({1, 1, 1, 3}, {1, 0, 1});
      if (terms & 4) o.bias = Tensor({3, 3}, {0, 1, 2, -1, 0, 1, -2, -1, 0});
      if (terms & 8) o.dropout = 0.3, o.random = &random;
      return o;
    };
    const std::string form = fmt::format("terms {}", terms);
    const Shape rows{2, 3, 4}, packed{2, 3, 12};
    cases.push_back({"attention", form, {rows, rows, rows}, 3, [options](In in) {
                       Random random(1);
                       return attention(in[0], in[1], in[2], options(random));
                     }});
    const Shape with_room{2, 5, 4};
    cases.push_back({"attention", form + ", room", {rows, with_room, with_room}, 3, [=](In in) {
                       Random random(1);
                       AttentionOptions o = options(random);
                       o.keys = 3;
                       return attention(in[0], in[1], in[2], o);
                     }});
    cases.push_back({"self_attention", form, {packed}, 1, [options](In in) {
                       Random random(1);
                       return self_attention(in[0], options(random));
                     }});
  }
}

// Every cell with every choice of gain and bias at its places.
void add_recurrent(std::vector<FusedCase>& cases) {
  for (const std::string& name : cell_names())
    for (const bool over_sum : {false, true}) {
      const Cell& cell = Cell::named(name);
      if (cell.kernel == nullptr || (over_sum && cell.gated_blocks > 0)) continue;
      const Index hidden = 3, channels = cell.gates * hidden;
      std::vector<Shape> operands{{2, 2, channels}, {hidden, channels}, {2, hidden}};
      if (cell.has_c) operands.push_back({2, hidden});
      const std::size_t required = operands.size();
      std::vector<Index> places{channels};
      if (!over_sum) places.push_back(channels);
      if (cell.has_c) places.push_back(hidden);
      for (const Index place : places) operands.insert(operands.end(), 2, Shape{place});
      const Function f = [=](In in) {
        const NormOptions options{.epsilon = 0.1};
        RecurrentNorms norms{.product = {.statistics = options, .over_sum = over_sum}};
        if (!over_sum) norms.inputs.statistics = options;
        if (cell.has_c) norms.cell.statistics = options;
        auto next = in.begin() + static_cast<std::ptrdiff_t>(required);
        for (RowNormalization* norm : {&norms.product, &norms.inputs, &norms.cell}) {
          if (!norm->statistics) continue;
          norm->gain = *next++;
          norm->bias = *next++;
        }
        const RecurrentState first{in[2], cell.has_c ? in[3] : Tensor()};
        const RecurrentResult found =
            recurrent(cell, in[0], in[1], first, norms, Indices({2}, {1, 2}));
        if (!cell.has_c) return found.outputs;
        return concat({found.outputs, stack({found.last.c})});
      };
      cases.push_back({"recurrent", fmt::format("{} {}", cell.name, over_sum ? "over the sum" : ""),
                       operands, required, f});
    }
}

const std::vector<FusedCase>& fused_cases() {
  static const std::vector<FusedCase> all = [] {
    std::vector<FusedCase> made;
    add_rows(made);
    add_norms(made);
    add_attention(made);
    add_recurrent(made);
    return made;
  }();
  return all;
}

// The value, the gradients, and the gradients of a function of these.
std::vector<Tensor> derivatives(const Function& f, const std::vector<Tensor>& operands) {
  const Tensor value = f(operands);
  const Tensor seed = Random(5).normal(value.shape());
  std::vector<Tensor> found{value};
  const std::vector<Tensor> first = vjp(f, operands, seed);
  found.insert(found.end(), first.begin(), first.end());
  const Function squares = [&](const std::vector<Tensor>& in) {
    Tensor total(0);
    for (const Tensor& gradient : vjp(f, in, seed)) total = total + sum(square(gradient));
    return total;
  };
  const std::vector<Tensor> second = vjp(squares, operands, Tensor(1));
  found.insert(found.end(), second.begin(), second.end());
  return found;
}

void check_against_definition(const Function& f, const std::vector<Tensor>& operands) {
  const std::vector<Tensor> fused = derivatives(f, operands);
  const Composite readable;
  const std::vector<Tensor> expected = derivatives(f, operands);
  double size = 0;  // where gradients cancel, rounding is relative to what cancels
  for (const Tensor& each : expected) size = std::max<double>(size, norm(each).item());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(fused[i].shape() == expected[i].shape());
    CHECK(norm(fused[i] - expected[i]).item() / size < fused_precision);
  }
}

// A function of the operands in `there` only; f gets undefined tensors for the others.
Function of_those(const Function& f, const std::vector<bool>& there) {
  return [=](In in) {
    std::vector<Tensor> all(there.size());
    auto next = in.begin();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (there[i]) all[i] = *next++;
    return f(all);
  };
}

// Has another gradient than its definition.
struct WrongSlope {
  static constexpr const char* name = "wrong_slope";

  static Tensor definition(const Operands<1>& in) { return square(in[0]); }
  static Tensor value(const Operands<1>& in) { return square(detach(in[0])); }
  static Gradients<1> gradients(const Operands<1>& in, const Tensor& g, const Wanted<1>&) {
    return {2.01 * g * in[0]};
  }
};

}  // namespace

TEST_CASE("every fused operation is its definition, in value, first and second derivative",
          "[ops]") {
  for (const FusedCase& each : fused_cases()) {
    const std::size_t optional = each.operands.size() - each.required;
    for (unsigned chosen = 0; chosen < 1u << optional; ++chosen) {
      DYNAMIC_SECTION(each.operation << " " << each.form << " " << chosen) {
        Random random(7);
        std::vector<bool> there;
        std::vector<Tensor> operands;
        for (std::size_t i = 0; i < each.operands.size(); ++i) {
          there.push_back(i < each.required || (chosen >> (i - each.required) & 1) != 0);
          const Tensor operand = random.normal(each.operands[i]);
          if (there.back()) operands.push_back(operand);
        }
        check_against_definition(of_those(each.f, there), operands);
      }
    }
  }
}

TEST_CASE("every fused operation is compared with its definition", "[ops]") {
  std::set<std::string_view> compared{WrongSlope::name};
  for (const FusedCase& each : fused_cases()) compared.insert(each.operation);
  CHECK(fused_operations().size() >= 7);
  for (const std::string_view operation : fused_operations()) {
    INFO(operation);
    CHECK(compared.contains(operation));
  }
  const std::set<std::string_view> fused(fused_operations().begin(), fused_operations().end());
  for (const FusedCase& each : fused_cases()) {
    INFO(each.operation);
    if (!each.form.empty()) CHECK(fused.contains(each.operation));
  }
}

TEST_CASE("a fused gradient that is off is not its definition's", "[ops]") {
  const Function f = [](In in) { return fused(WrongSlope{}, Operands<1>{in[0]}, {}); };
  const std::vector<Tensor> x{Random(1).normal({3})};
  const std::vector<Tensor> found = derivatives(f, x);
  const Composite readable;
  const std::vector<Tensor> expected = derivatives(f, x);
  CHECK(relative_error(found[0], expected[0]) < fused_precision);
  CHECK(relative_error(found[1], expected[1]) > 1e-3);
}
