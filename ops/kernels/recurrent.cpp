#include "tapegrad/ops/kernels/recurrent.h"

#include <algorithm>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/cells.h"
#include "tapegrad/ops/kernels/product/packed.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The sequences of a batch are independent, so a task takes some of them through all steps. Makes
// at least two tasks, with enough rows in each to reuse a cached panel of weights.
Index rows_of_task(Index batch) { return std::clamp<Index>((batch + 1) / 2, 1, 16); }

// The number of multiply-adds that make a task of a single step worthwhile.
constexpr Index smallest_part = Index{1} << 18;

// How many tasks divide each step, at the cost of waiting for each other twice. 1: a task takes its
// rows through all steps.
Index parts_of_step(const Sequence& s) {
  const Index tasks = (s.batch + rows_of_task(s.batch) - 1) / rows_of_task(s.batch);
  const Index worthwhile = s.batch * s.hidden * s.gates * s.hidden / smallest_part;
  const Index parts = std::min<Index>(threads(), worthwhile);
  return parts >= 2 * tasks ? parts : 1;
}

// The transformed inputs of a row. They are not kept; the backward pass computes them again.
class InputRow {
 public:
  InputRow(const RowTransform& transform, Index count)
      : transform_(transform),
        count_(count),
        numbers_(transform.identity() ? 0 : 2 * count),
        scales_(2 * static_cast<Index>(transform.segments.size())) {}

  const real* forward(const real* x) const {
    if (transform_.identity()) return x;
    std::copy_n(x, count_, numbers_.data());
    transform_forward(transform_, numbers_.data(), count_, normalized(), scales_.data());
    return numbers_.data();
  }
  // g: as in transform_backward
  void backward(const real* x, real* g, TransformGradients total) const {
    if (transform_.identity()) return;
    forward(x);
    transform_backward(transform_, g, count_, normalized(), scales_.data(), total);
  }

 private:
  real* normalized() const { return numbers_.data() + count_; }

  const RowTransform& transform_;
  Index count_;
  Scratch numbers_, scales_;
};

Row row_at(const Sequence& s, const Kept& kept, const real* h, Index step, Index b) {
  const Index r = step * s.batch + b, H = s.hidden, G = s.gates * H;
  const auto at = [&](real* values, Index width) {
    return values == nullptr ? nullptr : values + r * width;
  };
  const auto scales = [](const RowTransform& t) {
    return 2 * static_cast<Index>(t.segments.size());
  };
  return {.inputs = s.inputs + r * G,
          .h_before = step == 0 ? s.h0 + b * H : h + (r - s.batch) * H,
          .h = const_cast<real*>(h) + r * H,
          .gates = at(kept.gates, s.cell->kept_blocks * H),
          .cell_before = at(kept.cells, H),
          .cell_after = kept.cells == nullptr ? nullptr : kept.cells + (r + s.batch) * H,
          .tanh_cell = at(kept.tanh_cells, H),
          .product = at(kept.product, G),
          .product_scales = at(kept.product_scales, scales(s.product)),
          .state = at(kept.state, H),
          .state_scales = at(kept.state_scales, scales(s.state))};
}

// Partial sums of the gradients of gains and biases, one for some steps of a task, which are added
// up at the end.
class Partials {
 public:
  Partials(Index tasks, Index steps, Index count, TransformGradients total)
      : parts_(total.gain || total.bias ? tasks * ((steps + steps_of_part - 1) / steps_of_part)
                                        : 0),
        tasks_(tasks),
        count_(count),
        total_(total),
        sums_(2 * parts_ * count) {
    std::fill_n(sums_.data(), 2 * parts_ * count, real{0});
  }
  TransformGradients of(Index task, Index step) const {
    real* own = sums_.data() + 2 * (step / steps_of_part * tasks_ + task) * count_;
    return {total_.gain ? own : nullptr, total_.bias ? own + count_ : nullptr};
  }
  bool any() const { return parts_ > 0; }
  void add_up() const {
    if (total_.gain) reduce().sum_columns(sums_.data(), parts_, 2 * count_, total_.gain, count_);
    if (total_.bias)
      reduce().sum_columns(sums_.data() + count_, parts_, 2 * count_, total_.bias, count_);
  }

 private:
  static constexpr Index steps_of_part = 16;
  Index parts_, tasks_, count_;
  TransformGradients total_;
  Scratch sums_;
};

bool ended(const Sequence& s, Index step, Index b) { return s.lengths && step >= s.lengths[b]; }

bool all_ended(const Sequence& s, Index step, Index begin, Index end) {
  for (Index b = begin; b < end; ++b)
    if (!ended(s, step, b)) return false;
  return true;
}

// A row whose sequence has ended keeps its state.
void carry(const Sequence& s, const Row& row) {
  std::copy_n(row.h_before, s.hidden, row.h);
  if (row.cell_after) std::copy_n(row.cell_before, s.hidden, row.cell_after);
}

void forward_rows(const Sequence& s, const Kept& kept, const Packed& weight, real* h, Index begin,
                  Index end, Index parts) {
  const Index G = s.gates * s.hidden, rows = end - begin;
  const Scratch products(rows * G);
  for (Index step = 0; step < s.steps; ++step) {
    const Row first = row_at(s, kept, h, step, begin);
    if (!all_ended(s, step, begin, end))
      weight.multiply(rows, {first.h_before, s.hidden},
                      s.starts_from_inputs() ? Start{first.inputs, G} : Start{}, products.data(), G,
                      step % 2 == 1, parts);
    parallel_ranges(rows, (rows + parts - 1) / parts, [&](Index from, Index to) {
      const InputRow inputs(s.input, G);
      for (Index b = begin + from; b < begin + to; ++b) {
        Row row = row_at(s, kept, h, step, b);
        if (ended(s, step, b)) {
          carry(s, row);
        } else {
          row.inputs = inputs.forward(row.inputs);
          s.cell->forward(s, row, products.data() + (b - begin) * G);
        }
      }
    });
  }
}

// Counts the products with the recurrent weight, and passes over rows of all gates and over states.
void count_sequence(const Sequence& s, Index gate_passes, Index state_passes) {
  const Index rows = s.steps * s.batch, G = s.gates * s.hidden;
  const Index touched = rows * (gate_passes * G + state_passes * s.hidden) + s.hidden * G;
  count_work({.flops = 2 * static_cast<double>(rows * s.hidden * G),
              .bytes = static_cast<double>(sizeof(real) * touched)});
}

void weight_gradient(const Sequence& s, const real* h, const real* product, real* weight) {
  const Index G = s.gates * s.hidden;
  gemm(s.hidden, G, s.batch, {s.h0, s.hidden, true}, {product, G}, {}, weight, G);
  if (s.steps > 1)
    gemm(s.hidden, G, (s.steps - 1) * s.batch, {h, s.hidden, true}, {product + s.batch * G, G},
         {weight, G}, weight, G);
}

}  // namespace

void recurrent_forward(const Sequence& s, const Kept& kept, real* h) {
  const Index G = s.gates * s.hidden;
  // Reads inputs and keeps gates; writes h and, if there is one, c and its tanh.
  count_sequence(s, 2, s.has_c ? 3 : 1);
  const Packed weight(s.hidden, G, {s.weight, G});
  if (kept.cells) std::copy_n(s.c0, s.batch * s.hidden, kept.cells);
  const Index parts = parts_of_step(s);
  parallel_ranges(
      s.batch, parts > 1 ? s.batch : rows_of_task(s.batch),
      [&](Index begin, Index end) { forward_rows(s, kept, weight, h, begin, end, parts); });
}

void recurrent_backward(const Sequence& s, const Kept& kept, const real* h, const real* h_gradient,
                        const real* c_gradient, const SequenceGradients& out) {
  const Index H = s.hidden, G = s.gates * H, grain = rows_of_task(s.batch);
  // Reads gates and writes their gradients; reads h, its gradient and what is kept of c.
  count_sequence(s, 2, s.has_c ? 4 : 2);
  const Packed weight(G, H, {s.weight, G, true});
  const Index tasks = (s.batch + grain - 1) / grain;
  const Partials input_total(tasks, s.steps, G, out.input_transform);
  const Partials product_total(tasks, s.steps, G, out.product_transform);
  const Partials state_total(tasks, s.steps, H, out.state_transform);
  std::copy_n(h_gradient + (s.steps - 1) * s.batch * H, s.batch * H, out.h0);
  // If h reaches the next h only through the product and no sequence ends early, both have one
  // gradient.
  const bool passes_by = s.cell->passes_h_by || s.lengths != nullptr;
  if (s.has_c && c_gradient) std::copy_n(c_gradient, s.batch * H, out.c0);
  if (s.has_c && !c_gradient) std::fill_n(out.c0, s.batch * H, real{0});

  const Index parts = parts_of_step(s);
  // Partial sums add the rows of a task of all steps, in order.
  const bool has_sums = input_total.any() || product_total.any() || state_total.any();
  parallel_ranges(s.batch, parts > 1 ? s.batch : grain, [&](Index begin, Index end) {
    const Index rows = end - begin;
    real* dh = out.h0 + begin * H;
    for (Index step = s.steps - 1; step >= 0; --step) {
      const Index first = step * s.batch + begin;
      const real* from = step > 0 ? h_gradient + (first - s.batch) * H : nullptr;
      parallel_ranges(
          rows, has_sums ? grain : (rows + parts - 1) / parts, [&](Index low, Index high) {
            const Scratch d_state(H);
            const InputRow inputs(s.input, G);
            for (Index b = begin + low; b < begin + high; ++b) {
              const Index r = step * s.batch + b;
              const RowGradients gradients{.h = out.h0 + b * H,
                                           .c = s.has_c ? out.c0 + b * H : nullptr,
                                           .inputs = out.inputs + r * G,
                                           .product = out.product + r * G,
                                           .product_total = product_total.of(b / grain, step),
                                           .state_total = state_total.of(b / grain, step),
                                           .state = d_state.data()};
              if (!ended(s, step, b)) {
                const Row row = row_at(s, kept, h, step, b);
                s.cell->backward(s, row, gradients);
                inputs.backward(row.inputs, gradients.inputs, input_total.of(b / grain, step));
              } else {
                std::fill_n(gradients.inputs, G, real{0});
                std::fill_n(gradients.product, G, real{0});
              }
            }
            if (passes_by && from)
              reduce().accumulate(from + low * H, dh + low * H, (high - low) * H);
          });
      if (!all_ended(s, step, begin, end))
        weight.multiply(rows, {out.product + first * G, G}, {passes_by ? dh : from, H}, dh, H,
                        step % 2 == 1, parts);
    }
  });
  input_total.add_up();
  product_total.add_up();
  state_total.add_up();
  weight_gradient(s, h, out.product, out.weight);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
