#include "tapegrad/nn/functions/recurrent.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/norm.h"
#include "tapegrad/ops/kernels/cells.h"
#include "tapegrad/ops/kernels/recurrent.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

StepFunction step_function(const RowNormalization& norm) {
  if (norm.identity()) return [](const Tensor& rows, Index) { return rows; };
  return [norm](const Tensor& rows, Index) { return norm(rows); };
}

StepFunctions step_functions(const RecurrentNorms& norms) {
  return {step_function(norms.product), step_function(norms.cell), norms.product.over_sum};
}

void expect_fit(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                const RecurrentState& first, const Indices& lengths) {
  expect(
      inputs.rank() == 3 && weight.rank() == 2 &&
          weight.shape()[1] == cell.gates * weight.shape()[0] &&
          weight.shape()[1] == inputs.shape()[2],
      "recurrent: inputs (T, B, {0} hidden) and a weight (hidden, {0} hidden) are needed: {1}, {2}",
      cell.gates, inputs.shape(), weight.shape());
  const Shape state{inputs.shape()[1], weight.shape()[0]};
  expect(first.h.shape() == state, "recurrent: the first h must be (B, hidden) = {}: {}", state,
         first.h.shape());
  expect(!cell.has_c || first.c.shape() == state,
         "recurrent: the first c must be (B, hidden) = {}: {}", state, first.c.shape());
  if (lengths.defined())
    expect_lengths("recurrent: lengths", lengths, inputs.shape()[0], inputs.shape()[1]);
}

void expect_row(const char* place, const RowNormalization& norm, Index channels) {
  Index total = 0;
  for (const Index part : norm.parts) total += part;
  expect(norm.parts.empty() || total == channels,
         "recurrent: the parts of the {}'s normalization add up to {}, not to {} channels", place,
         total, channels);
  for (const Tensor& each : {norm.gain, norm.bias})
    expect(!each.defined() || each.shape() == Shape{channels},
           "recurrent: gain and bias of the {} must be ({}): {}", place, channels, each.shape());
  expect<ArgumentError>(norm.statistics || !norm.gain.defined(),
                        "recurrent: a gain of the {} needs a normalization before it", place);
}

// The definition. The inputs do not depend on h, so they are normalized first.
RecurrentResult defined(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                        const RecurrentState& first, const RecurrentNorms& norms,
                        const Indices& lengths) {
  return composite::recurrent(cell, norms.inputs(without_padding(inputs, lengths)), weight, first,
                              step_functions(norms), lengths);
}

kernels::RowTransform transform(const RowNormalization& norm, Index channels) {
  kernels::RowTransform result;
  result.over_sum = norm.over_sum;
  if (norm.gain.defined()) result.gain = norm.gain.data();
  if (norm.bias.defined()) result.bias = norm.bias.data();
  if (!norm.statistics) return result;
  for (const Index length : norm.parts.empty() ? std::vector<Index>{channels} : norm.parts)
    result.segments.push_back({length, row_norm(norm.centered, *norm.statistics, length)});
  return result;
}

// The tensors behind kernels::Kept.
struct KeptTensors {
  Tensor gates, cells, tanh_cells, product, product_scales, state, state_scales;
};

KeptTensors allocate(const kernels::Sequence& s) {
  const Index T = s.steps, B = s.batch, H = s.hidden;
  const auto scales = [&](const kernels::RowTransform& t) {
    return Tensor::uninitialized({T, B, 2 * static_cast<Index>(t.segments.size())});
  };
  KeptTensors kept;
  if (const Index blocks = s.cell->kept_blocks; blocks > 0)
    kept.gates = Tensor::uninitialized({T, B, blocks * H});
  if (s.has_c) {
    kept.cells = Tensor::uninitialized({T + 1, B, H});
    kept.tanh_cells = Tensor::uninitialized({T, B, H});
  }
  if (s.product.normalized()) {
    kept.product = Tensor::uninitialized({T, B, s.gates * H});
    kept.product_scales = scales(s.product);
  }
  if (s.has_c && s.state.normalized()) {
    kept.state = Tensor::uninitialized({T, B, H});
    kept.state_scales = scales(s.state);
  }
  return kept;
}

kernels::Kept pointers(const KeptTensors& kept) {
  const auto of = [](const Tensor& tensor) { return const_cast<real*>(tensor.data()); };
  return {of(kept.gates),          of(kept.cells), of(kept.tanh_cells),  of(kept.product),
          of(kept.product_scales), of(kept.state), of(kept.state_scales)};
}

// The outputs, followed by the last c if the cell has one: (T, B, hidden) or (T + 1, B, hidden).
Tensor joined(const Cell& cell, const RecurrentResult& result) {
  if (!cell.has_c) return result.outputs;
  return concat({result.outputs, reshape(result.last.c, result.last.c.shape().insert(0, 1))});
}

// Takes inputs, weight, first h and c, and gain and bias of the inputs, the product and the cell.
struct Recurrence {
  static constexpr const char* name = "recurrent";
  static constexpr std::size_t operands = 10;

  Cell cell;
  RecurrentNorms norms;
  Indices lengths;
  KeptTensors kept = {};

  Tensor definition(const Operands<operands>& in) const {
    RecurrentNorms now = norms;
    int next = 4;
    for (RowNormalization* norm : {&now.inputs, &now.product, &now.cell}) {
      norm->gain = in[next++];
      norm->bias = in[next++];
    }
    return joined(cell, defined(cell, in[0], in[1], {in[2], in[3]}, now, lengths));
  }

  Tensor value(const Operands<operands>& in) {
    const kernels::Sequence s = sequence(in);
    kept = allocate(s);
    Tensor y = Tensor::uninitialized({s.steps + (s.has_c ? 1 : 0), s.batch, s.hidden});
    kernels::recurrent_forward(s, pointers(kept), y.mutable_data());
    const Index state = s.batch * s.hidden;
    if (s.has_c)
      std::copy_n(kept.cells.data() + s.steps * state, state, y.mutable_data() + s.steps * state);
    return y;
  }

  Gradients<operands> gradients(const Operands<operands>& in, const Tensor& g, const Tensor& y,
                                const Wanted<operands>&) const {
    const kernels::Sequence s = sequence(in);
    Gradients<operands> d;
    for (std::size_t i = 0; i < operands; ++i)
      if (in[i].defined()) d[i] = Tensor::uninitialized(in[i].shape());
    const auto of = [&](int i) { return d[i].defined() ? d[i].mutable_data() : nullptr; };

    const bool shared = s.starts_from_inputs();
    Tensor product;  // its gradient, unless equal to the inputs' gradient
    if (!shared) product = Tensor::uninitialized(in[0].shape());
    kernels::recurrent_backward(s, pointers(kept), y.data(), g.data(),
                                s.has_c ? g.data() + s.steps * s.batch * s.hidden : nullptr,
                                {.inputs = of(0),
                                 .product = shared ? of(0) : product.mutable_data(),
                                 .weight = of(1),
                                 .h0 = of(2),
                                 .c0 = of(3),
                                 .input_transform = {of(4), of(5)},
                                 .product_transform = {of(6), of(7)},
                                 .state_transform = {of(8), of(9)}});
    return d;
  }

 private:
  kernels::Sequence sequence(const Operands<operands>& in) const {
    const Tensor &inputs = in[0], &weight = in[1], &h = in[2], &c = in[3];
    const Index channels = inputs.shape()[2], hidden = weight.shape()[0];
    return {.cell = cell.kernel,
            .gates = cell.gates,
            .gated_blocks = cell.gated_blocks,
            .has_c = cell.has_c,
            .steps = inputs.shape()[0],
            .batch = inputs.shape()[1],
            .hidden = hidden,
            .inputs = inputs.data(),
            .weight = weight.data(),
            .h0 = h.data(),
            .c0 = c.defined() ? c.data() : nullptr,
            .lengths = lengths.defined() ? lengths.data() : nullptr,
            .input = transform(norms.inputs, channels),
            .product = transform(norms.product, channels),
            .state = transform(norms.cell, hidden)};
  }
};

}  // namespace

void expect_lengths(const char* operation, const Indices& lengths, Index steps, Index batch) {
  expect_defined(operation, lengths);
  expect(lengths.shape() == Shape{batch}, "{}: one length per sequence is needed, ({}): {}",
         operation, batch, lengths.shape());
  expect_below(operation, lengths, steps + 1);
}

Tensor running(const Indices& lengths, Index first, Index end) {
  expect_defined("running", lengths);
  Tensor mask = Tensor::uninitialized({end - first, lengths.size(), 1});
  real* out = mask.mutable_data();
  for (Index step = first; step < end; ++step)
    for (const Index length : lengths.values()) *out++ = static_cast<real>(step < length);
  return mask;
}

Tensor without_padding(const Tensor& x, const Indices& lengths, Place place) {
  const OperationScope scope("without_padding", place, x);
  if (!lengths.defined()) return x;
  return where(running(lengths, 0, x.shape()[0]), x, 0.0);
}

Tensor RowNormalization::operator()(const Tensor& x) const {
  expect_defined("row_normalization", x);
  Tensor y = x;
  if (statistics) {
    std::vector<Tensor> segments{x};
    if (parts.size() > 1) segments = split(x, parts, -1);
    for (Tensor& segment : segments)
      segment = centered ? layer_norm(segment, *statistics) : rms_norm(segment, *statistics);
    y = segments.size() == 1 ? segments[0] : concat(segments, -1);
  }
  if (gain.defined()) y = y * gain;
  return bias.defined() ? y + bias : y;
}

RecurrentState composite::recurrent_step(const Cell& cell, const Tensor& inputs,
                                         const Tensor& weight, const RecurrentState& state,
                                         const StepFunctions& functions, Index step) {
  expect_defined("recurrent_step", inputs, weight, state.h);
  expect<ArgumentError>(cell.step && functions.product && functions.cell,
                        "recurrent_step: a step function is empty");
  return cell.step(inputs, weight, state, functions, step);
}

RecurrentResult composite::recurrent(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                                     const RecurrentState& first, const StepFunctions& functions,
                                     const Indices& lengths) {
  expect_defined("recurrent", inputs, weight, first.h);
  const Tensor rows = without_padding(inputs, lengths);
  RecurrentState state = first;
  std::vector<Tensor> outputs;
  for (Index step = 0; step < inputs.shape()[0]; ++step) {
    RecurrentState next = recurrent_step(cell, select(rows, step), weight, state, functions, step);
    if (lengths.defined()) {
      const Tensor mask = select(running(lengths, step, step + 1), 0);
      next.h = where(mask, next.h, state.h);
      if (next.c.defined()) next.c = where(mask, next.c, state.c);
    }
    state = next;
    outputs.push_back(state.h);
  }
  if (outputs.empty()) return {zeros({0, first.h.shape()[0], first.h.shape()[1]}), first};
  return {stack(outputs), state};
}

RecurrentResult recurrent(const Cell& cell, const Tensor& inputs, const Tensor& weight,
                          const RecurrentState& first, const RecurrentNorms& norms,
                          const Indices& lengths, Place place) {
  const OperationScope scope("recurrent", place, inputs, weight, first.h);
  expect(!cell.has_c || first.c.defined(), "recurrent: the first c of the {} is undefined",
         cell.name);
  expect_fit(cell, inputs, weight, first, lengths);
  expect_row("inputs", norms.inputs, inputs.shape()[2]);
  expect_row("product", norms.product, inputs.shape()[2]);
  expect_row("cell", norms.cell, weight.shape()[0]);
  expect<ArgumentError>(!norms.product.over_sum || norms.inputs.identity(),
                        "recurrent: where the sum is normalized, the inputs are not");
  expect<ArgumentError>(cell.gated_blocks == 0 || !norms.product.over_sum,
                        "recurrent: a {} has no sum of inputs and product to normalize", cell.name);
  expect<ArgumentError>(cell.norms != CellNorms::none || norms.product.identity(),
                        "recurrent: a {} takes no normalization", cell.name);
  if (inputs.shape()[0] == 0 || !cell.fused() || !norms.have_kernels())
    return defined(cell, inputs, weight, first, norms, lengths);
  const Operands<Recurrence::operands> operands{inputs,
                                                weight,
                                                first.h,
                                                cell.has_c ? first.c : Tensor(),
                                                norms.inputs.gain,
                                                norms.inputs.bias,
                                                norms.product.gain,
                                                norms.product.bias,
                                                norms.cell.gain,
                                                norms.cell.bias};
  const Tensor y = fused(Recurrence{cell, norms, lengths}, operands, place);
  const Index steps = inputs.shape()[0];
  if (!cell.has_c) return {y, {select(y, steps - 1), {}}};
  return {slice(y, 0, 0, steps), {select(y, steps - 1), select(y, steps)}};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
