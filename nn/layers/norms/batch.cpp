#include "tapegrad/nn/layers/norms/internal/norms.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR::norms {

// Later steps use the averages of the last step that has any.
Index row_of(const Tensor& averages, Index step) { return std::min(step, averages.shape()[0] - 1); }

Tensor at(const Tensor& averages, Index step) {
  return averages.rank() == 2 ? select(averages, row_of(averages, step)) : averages;
}

// Ioffe and Szegedy 2015; in recurrent layers with averages for each step (Cooijmans et al. 2017).
struct Batch : Averaging {
  Index most_steps = 100;

  Batch() : Averaging("batch") {}
  Index steps() const override { return most_steps; }
  std::vector<NamedBuffer> buffers(const Shape& shape) const override {
    return {{"running_mean", Buffer(zeros(shape))}, {"running_variance", Buffer(ones(shape))}};
  }
  OptionSetters setters() override {
    return {{"momentum", number_option(momentum)}, {"steps", count_option(most_steps)}};
  }
  Tensor compute(const Tensor& x, const Norm& norm, Index step, Mode mode) const override {
    Buffer means = norm.buffers[0].buffer, variances = norm.buffers[1].buffer;
    expect_batch(x.shape(), at(means, step).size(), step, mode);
    if (!mode.is_training()) {
      const Tensor variance = at(variances, step), epsilon = norm.epsilon();
      const bool inside = norm.spec.statistics.place == Epsilon::inside_root;
      return (x - at(means, step)) / (inside ? sqrt(variance + epsilon) : sqrt(variance) + epsilon);
    }
    if (!recomputing() && x.size() > 0) {
      const NoGrad no_grad;
      const Axes axes(norm.fields_of(x.shape()).scale.axes);
      const bool several = x.size() > at(means, step).size();
      update(means, step, mean(x, axes));
      update(variances, step,
             var(x, axes, Keep::no, several ? Variance::unbiased : Variance::biased));
    }
    return NormMethod::compute(x, norm, step, mode);
  }

 private:
  void update(Buffer averages, Index step, const Tensor& found) const {
    const Tensor all = averages, after = next_average(at(all, step), found);
    if (all.rank() != 2) return averages.set(after);
    const Index row = row_of(all, step);
    averages.set(concat({slice(all, 0, 0, row), after.view(after.shape().insert(0, 1)),
                         slice(all, 0, row + 1, all.shape()[0])}));
  }
};
std::unique_ptr<NormMethod> batch() { return std::make_unique<Batch>(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::norms
