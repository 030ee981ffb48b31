#include "tapegrad/nn/layers/recurrent.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

const char* name_of(CellNormPlacement placement) {
  constexpr const char* names[] = {"paper", "cell", "sum", "per_gate"};
  return names[static_cast<int>(placement)];
}

void expect_options(const Cell& cell, const RecurrentOptions& options) {
  const NormMethod& method = *options.norm.method;
  expect<ArgumentError>(!method.needs_positions,
                        "recurrent: {} does not fit a {}: its features have no positions",
                        method.noun, cell.name);
  expect<ArgumentError>(!method.mixes_samples || method.steps() > 0,
                        "recurrent: {} does not fit a {}: it has no statistics for each step",
                        method.noun, cell.name);
  expect<ArgumentError>(
      cell.has_c || options.placement == CellNormPlacement::paper,
      "recurrent: the placements cell, sum and per_gate belong to the lstm, not to a {}",
      cell.name);
  expect<ArgumentError>(cell.norms != CellNorms::none || !method.normalizes,
                        "recurrent: a {} cannot normalize its products", cell.name);
  expect<ArgumentError>(method.normalizes || options.placement == CellNormPlacement::paper,
                        "recurrent: the placement needs a normalization: {}",
                        name_of(options.placement));
  expect_positive("recurrent", "layers", options.layers);
  expect_share("recurrent", "dropout", options.dropout);
  expect<ArgumentError>(!options.variational || options.dropout > 0,
                        "recurrent: variational needs a dropout above 0: {}", options.dropout);
}

// The options of a single layer; the others concern the whole stack.
RecurrentOptions of_one_layer(const RecurrentOptions& o) {
  return {.norm = o.norm, .placement = o.placement, .learned_state = o.learned_state};
}

PartNorms make_parts(NormSpec spec, const std::vector<Index>& sizes) {
  // Batch normalization needs no bias besides the layer's (Cooijmans et al. 2017, eq. 8).
  if (spec.method->mixes_samples) spec.bias = false;
  PartNorms norms{{}, sizes};
  if (!spec.method->normalizes) return norms;
  for (const Index size : sizes) norms.parts.push_back(Norm::of_steps(spec, size));
  return norms;
}

// The parts of a product that are normalized jointly.
std::vector<Index> joint_parts(const Cell& cell, Index hidden, CellNormPlacement placement) {
  if (placement == CellNormPlacement::per_gate) return std::vector<Index>(cell.gates, hidden);
  const Index gated = cell.gated_blocks;
  if (gated > 0) return {(cell.gates - gated) * hidden, gated * hidden};
  return {cell.gates * hidden};
}

// The concatenated gains or biases of the parts.
Tensor joined(const std::vector<Norm>& parts, Parameter Norm::*which) {
  std::vector<Tensor> list;
  for (const Norm& norm : parts)
    if ((norm.*which).defined()) list.push_back(norm.*which);
  if (list.empty()) return {};
  return list.size() == 1 ? list[0] : concat(list);
}

RowNormalization row_normalization(const std::vector<Norm>& parts,
                                   const std::vector<Index>& sizes) {
  if (parts.empty()) return {};
  return {.statistics = parts[0].spec.statistics,
          .centered = parts[0].fields_of({sizes[0]}).center.has_value(),
          .parts = sizes,
          .gain = joined(parts, &Norm::gain),
          .bias = joined(parts, &Norm::bias)};
}

// Row numbers that reverse each sequence of (T B, C) within its length.
Indices reversal(Index steps, Index batch, const Indices& lengths) {
  Indices rows = Indices::uninitialized({steps, batch});
  for (Index b = 0; b < batch; ++b) {
    const Index length = lengths.defined() ? lengths.data()[b] : steps;
    for (Index t = 0; t < steps; ++t)
      rows.mutable_data()[t * batch + b] = (t < length ? length - 1 - t : t) * batch + b;
  }
  return rows;
}

Tensor reversed(const Tensor& x, const Indices& lengths) {
  const Shape& shape = x.shape();
  return embedding(reshape(x, {shape[0] * shape[1], shape[2]}),
                   reversal(shape[0], shape[1], lengths));
}

Tensor between_layers(const Tensor& x, const RecurrentOptions& options, Mode mode) {
  if (!mode.is_training() || options.dropout == 0) return x;
  if (!options.variational) return dropout(x, options.dropout, *mode.random);
  return x * dropout(ones(x.shape().with(0, 1)), options.dropout, *mode.random);
}

// Applies f only to rows whose sequences have not ended at `step`, so that others do not affect the
// statistics. The others get 0, since they keep their state.
template <class F>
Tensor of_running_rows(const Tensor& x, const Indices& lengths, Index step, const F& f) {
  if (!lengths.defined()) return f(x);
  std::vector<Index> running;
  Indices places = Indices::uninitialized(lengths.shape());  // of each row among those, then a 0
  Index* place = places.mutable_data();
  for (Index b = 0; b < lengths.size(); ++b)
    if (step < lengths.data()[b]) running.push_back(b);
  for (Index b = 0, next = 0; b < lengths.size(); ++b)
    place[b] = step < lengths.data()[b] ? next++ : static_cast<Index>(running.size());
  const Indices rows({static_cast<Index>(running.size())}, running);
  if (rows.size() == lengths.size()) return f(x);
  const Tensor none = zeros(x.shape().with(0, 1));
  if (running.empty()) return broadcast_to(none, x.shape());
  return embedding(concat({f(embedding(x, rows)), none}), places);
}

}  // namespace

Tensor PartNorms::operator()(const Tensor& x, Index step, Mode mode) const {
  if (parts.empty()) return x;
  if (parts.size() == 1) return parts[0].at_step(x, step, mode);
  std::vector<Tensor> segments = split(x, sizes, -1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    segments[i] = parts[i].at_step(segments[i], step, mode);
  return concat(segments, -1);
}

RecurrentLayer::RecurrentLayer(const Cell& c, Index in, Index hidden, Random& random,
                               const RecurrentOptions& o)
    : cell(c),
      options(o),
      input(expect_positive("recurrent", "in", in),
            c.gates * expect_positive("recurrent", "hidden", hidden), random,
            {.weight_norm = o.norm.normalized_weights}),
      weight(orthogonal({hidden, c.gates * hidden}, random, c.gates)) {
  expect_options(cell, options);
  expect_default("RecurrentLayer", "layers", o.layers, Index{1});
  expect_default("RecurrentLayer", "bidirectional", o.bidirectional);
  expect_default("RecurrentLayer", "dropout", o.dropout);
  input.weight.set(fan_in_uniform(input.weight.shape(), hidden, random));
  input.bias.set(zeros(input.bias.shape()));
  if (o.norm.normalized_weights) {
    input.gain.set(norm(input.weight.value(), 0));
    weight_gain = Parameter(norm(weight.value(), 0));
  }
  const bool normalized = o.norm.method->normalizes;
  const std::vector<Index> parts = joint_parts(cell, hidden, o.placement);
  if (normalized && cell.norms == CellNorms::of_products && o.placement == CellNormPlacement::paper)
    input_norm = make_parts(o.norm, parts);
  if (normalized && o.placement != CellNormPlacement::cell)
    product_norm = make_parts(o.norm, parts);
  if (normalized && cell.has_c) cell_norm = Norm::of_steps(o.norm, hidden);
  if (cell.gated_blocks > 0 && !normalized)
    candidate_bias = Parameter(zeros({cell.gated_blocks * hidden}));
  if (o.learned_state) first_h = Parameter(zeros({hidden}));
  if (o.learned_state && cell.has_c) first_c = Parameter(zeros({hidden}));
}

RecurrentState RecurrentLayer::first(Index batch) const {
  const Shape shape{batch, hidden()};
  const auto make = [&](const Parameter& learned) {
    return learned.defined() ? broadcast_to(learned, shape) : zeros(shape);
  };
  return {make(first_h), cell.has_c ? make(first_c) : Tensor()};
}

bool RecurrentLayer::fused() const {
  const NormSpec& norm = options.norm;
  if (!norm.method->normalizes) return true;
  if (AroundNorms::active()) return false;
  return norm.method->is_of_rows() && !norm.learned_smoothing;
}

Tensor RecurrentLayer::recurrent_weight() const { return used_weight(weight, weight_gain, 0); }

Tensor RecurrentLayer::projected(const Tensor& x, const Indices& lengths, Mode mode) const {
  if (input_norm.parts.empty()) return input(x);
  const Tensor product = matmul(x, used_weight(input.weight, input.gain, 0));
  if (fused()) return product;  // `recurrent` normalizes its rows
  if (!options.norm.method->mixes_samples) return input_norm(product, 0, mode) + input.bias;
  std::vector<Tensor> steps;  // each with its own statistics
  for (Index t = 0; t < x.shape()[0]; ++t)
    steps.push_back(of_running_rows(select(product, t), lengths, t,
                                    [&](const Tensor& rows) { return input_norm(rows, t, mode); }));
  return stack(steps) + input.bias;
}

RecurrentNorms RecurrentLayer::norms() const {
  RecurrentNorms norms{.inputs = row_normalization(input_norm.parts, input_norm.sizes),
                       .product = row_normalization(product_norm.parts, product_norm.sizes)};
  norms.product.over_sum = !product_norm.parts.empty() && input_norm.parts.empty();
  if (!input_norm.parts.empty()) {  // then `projected` also omits the bias
    Tensor& bias = norms.inputs.bias;
    bias = bias.defined() ? bias + input.bias : Tensor(input.bias);
  }
  if (cell_norm) norms.cell = row_normalization({*cell_norm}, {hidden()});
  if (candidate_bias.defined())
    norms.product.bias =
        concat({zeros({(cell.gates - cell.gated_blocks) * hidden()}), candidate_bias});
  return norms;
}

StepFunctions RecurrentLayer::functions(const Indices& lengths, Mode mode) const {
  return {[=, product = product_norm](const Tensor& x, Index step) {
            if (product.parts.empty()) return x;
            return of_running_rows(x, lengths, step,
                                   [&](const Tensor& rows) { return product(rows, step, mode); });
          },
          [=, state = cell_norm](const Tensor& x, Index step) {
            if (!state) return x;
            return of_running_rows(x, lengths, step, [&](const Tensor& rows) {
              return state->at_step(rows, step, mode);
            });
          },
          !product_norm.parts.empty() && input_norm.parts.empty()};
}

RecurrentResult RecurrentLayer::operator()(const Tensor& x, const RecurrentState& state,
                                           const Indices& lengths, Mode mode, Place place) const {
  const OperationScope scope("recurrent", place, x);
  expect(x.rank() == 3 && x.shape()[2] == input.weight.shape()[0], "{}: x must be (T, B, {}): {}",
         cell.name, input.weight.shape()[0], x.shape());
  if (lengths.defined()) expect_lengths("recurrent: lengths", lengths, x.shape()[0], x.shape()[1]);
  const RecurrentState begin = state.h.defined() ? state : first(x.shape()[1]);
  // A NaN in the padding would reach the gradient of the weight as 0 times NaN.
  const Tensor inputs = projected(without_padding(x, lengths), lengths, mode);
  if (fused()) return recurrent(cell, inputs, recurrent_weight(), begin, norms(), lengths);
  return composite::recurrent(cell, inputs, recurrent_weight(), begin, functions(lengths, mode),
                              lengths);
}

RecurrentState RecurrentLayer::step(const Tensor& x, const RecurrentState& state, Mode mode,
                                    Place place) const {
  const PlaceScope caller(place);
  return (*this)(reshape(x, x.shape().insert(0, 1)), state, {}, mode).last;
}

void RecurrentLayer::visit(Fields& field) const {
  field("input", input);
  field("weight", weight);
  field("weight_gain", weight_gain);
  field("candidate_bias", candidate_bias);
  field("input_norm", input_norm);
  field("product_norm", product_norm);
  field("cell_norm", cell_norm);
  field("first_h", first_h);
  field("first_c", first_c);
}

Recurrent::Recurrent(const Cell& cell, Index in, Index hidden, Random& random,
                     const RecurrentOptions& o)
    : options(o) {
  expect_options(cell, o);
  expect<ArgumentError>(o.layers > 1 || o.dropout == 0,
                        "recurrent: dropout has no effect in a single layer: {}; leave it out",
                        o.dropout);
  const Index directions = o.bidirectional ? 2 : 1;
  for (Index layer = 0; layer < o.layers; ++layer)
    for (Index direction = 0; direction < directions; ++direction)
      layers.emplace_back(cell, layer == 0 ? in : directions * hidden, hidden, random,
                          of_one_layer(o));
}

Recurrent::Result Recurrent::operator()(const Tensor& x, const std::vector<RecurrentState>& states,
                                        const Indices& lengths, Mode mode, Place place) const {
  const PlaceScope caller(place);
  expect(states.empty() || states.size() == layers.size(),
         "recurrent: needs one state for each of {} layers: {} given", layers.size(),
         states.size());
  expect_defined("recurrent", x);
  expect(x.rank() == 3, "recurrent: x must be (T, B, in): {}", x.shape());
  if (lengths.defined()) expect_lengths("recurrent: lengths", lengths, x.shape()[0], x.shape()[1]);
  const auto state = [&](std::size_t i) { return states.empty() ? RecurrentState() : states[i]; };
  Result result{x, {}};
  const std::size_t directions = options.bidirectional ? 2 : 1;
  for (std::size_t i = 0; i < layers.size(); i += directions) {
    const Tensor in = i == 0 ? x : between_layers(result.outputs, options, mode);
    const RecurrentResult forward = layers[i](in, state(i), lengths, mode);
    result.last.push_back(forward.last);
    result.outputs = forward.outputs;
    if (options.bidirectional) {
      const RecurrentResult backward =
          layers[i + 1](reversed(in, lengths), state(i + 1), lengths, mode);
      result.last.push_back(backward.last);
      result.outputs = concat({forward.outputs, reversed(backward.outputs, lengths)}, -1);
    }
    result.outputs = without_padding(result.outputs, lengths);
  }
  return result;
}

void RecurrentLayer::pytorch(PyTorchState& state, const std::string& suffix) const {
  if (options.norm.method->normalizes || options.norm.normalized_weights)
    state.no_counterpart("a normalized recurrent layer");
  if (!cell.in_pytorch) state.no_counterpart(fmt::format("a {}", cell.name));
  if (first_h.defined()) state.no_counterpart("a learned first state");
  state.transposed("weight_ih" + suffix, input.weight);
  state.transposed("weight_hh" + suffix, weight);
  const Index gates = (cell.gates - cell.gated_blocks) * hidden();  // before the candidate
  Tensor second = zeros(input.bias.shape());
  if (candidate_bias.defined()) second = concat({zeros({gates}), candidate_bias.value()});
  state.tensor("bias_ih" + suffix, input.bias.value(),
               [bias = input.bias](const Tensor& loaded) mutable { bias.set(loaded); });
  state.tensor(
      "bias_hh" + suffix, second,
      [bias = input.bias, candidate = candidate_bias, gates](Tensor loaded) mutable {
        if (candidate.defined()) {
          const std::vector<Tensor> parts = split(loaded, {gates, candidate.shape()[0]}, 0);
          candidate.set(parts[1]);
          loaded = concat({parts[0], zeros(parts[1].shape())});
        }
        bias.set(bias.value() + loaded);
      });
}

void Recurrent::pytorch(PyTorchState& state) const {
  const std::size_t directions = options.bidirectional ? 2 : 1;
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].pytorch(state,
                      fmt::format("_l{}{}", i / directions, i % directions == 1 ? "_reverse" : ""));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
