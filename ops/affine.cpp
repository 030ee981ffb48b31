#include "tapegrad/ops/affine.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/fused.h"
#include "tapegrad/ops/internal/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

void expect_channels(const char* operation, const Tensor& x, const Tensor& gain,
                     const Tensor& bias) {
  expect(x.rank() >= 1 && gain.shape() == Shape{x.shape()[-1]} &&
             (!bias.defined() || bias.shape() == gain.shape()),
         "{}: gain and bias must have the extent of the last axis of {}: {} and {}", operation,
         x.shape(), gain.shape(), bias.shape());
}

kernels::Affine operands_of(const Tensor& gain, const Tensor& bias) {
  return {gain.data(), bias.defined() ? bias.data() : nullptr};
}

// Memory for the gradients of an input, and of gain and bias if wanted.
Gradients<3> room_for(const Operands<3>& in, const Wanted<3>& wanted) {
  Gradients<3> d{Tensor::uninitialized(in[0].shape()), {}, {}};
  for (const int i : {1, 2})
    if (wanted[i]) d[i] = Tensor::uninitialized(in[i].shape());
  return d;
}
kernels::AffineGradients of_gain_and_bias(Gradients<3>& d) {
  const auto data = [](Tensor& x) { return x.defined() ? x.mutable_data() : nullptr; };
  return {data(d[1]), data(d[2])};
}

// Takes y, gain and bias.
struct Affine {
  static constexpr const char* name = "affine";

  static Tensor definition(const Operands<3>& in) {
    const auto& [y, gain, bias] = in;
    return composite::affine(y, gain, bias);
  }
  static Tensor value(const Operands<3>& in) {
    const auto& [y, gain, bias] = in;
    Tensor z = Tensor::uninitialized(y.shape());
    kernels::affine(operands_of(gain, bias), matrix(y.shape()), y.data(), z.mutable_data());
    return z;
  }
  static Gradients<3> gradients(const Operands<3>& in, const Tensor& g, const Wanted<3>& wanted) {
    const auto& [y, gain, bias] = in;
    Gradients<3> d = room_for(in, wanted);
    kernels::affine_back(operands_of(gain, bias), matrix(y.shape()), y.data(), g.data(),
                         d[0].mutable_data(), of_gain_and_bias(d));
    return d;
  }
};

// Takes x, gain and bias, for rows.
struct AffineNorm {
  static constexpr const char* name = "affine_norm";

  bool centered;
  NormOptions options;

  Tensor definition(const Operands<3>& in) const {
    const auto& [x, gain, bias] = in;
    const Tensor y = centered ? composite::layer_norm(x, options) : composite::rms_norm(x, options);
    return composite::affine(y, gain, bias);
  }
  Tensor value(const Operands<3>& in) const {
    const auto& [x, gain, bias] = in;
    Tensor z = Tensor::uninitialized(x.shape());
    kernels::affine_norm(norm_of(x), operands_of(gain, bias), matrix(x.shape()), x.data(),
                         z.mutable_data());
    return z;
  }
  Gradients<3> gradients(const Operands<3>& in, const Tensor& g, const Wanted<3>& wanted) const {
    const auto& [x, gain, bias] = in;
    Gradients<3> d = room_for(in, wanted);
    kernels::affine_norm_back(norm_of(x), operands_of(gain, bias), matrix(x.shape()), x.data(),
                              g.data(), d[0].mutable_data(), of_gain_and_bias(d));
    return d;
  }

 private:
  kernels::RowNorm norm_of(const Tensor& x) const {
    return row_norm(centered, options, x.shape()[-1]);
  }
};

}  // namespace

Tensor composite::affine(const Tensor& y, const Tensor& gain, const Tensor& bias) {
  return bias.defined() ? y * gain + bias : y * gain;
}

Tensor affine(const Tensor& y, const Tensor& gain, const Tensor& bias, Place place) {
  const OperationScope scope("affine", place, y, gain);
  expect_channels("affine", y, gain, bias);
  return fused(Affine{}, Operands<3>{y, gain, bias}, place);
}

Tensor affine_norm(const Tensor& x, const NormFields& fields, const Tensor& gain,
                   const Tensor& bias, const NormOptions& options, Place place) {
  const OperationScope scope("affine_norm", place, x, gain);
  expect_channels("affine_norm", x, gain, bias);
  expect_norm("affine_norm", fields, options, x, {});
  const bool rows = fields.scale == row && (!fields.center || *fields.center == row);
  if (!rows || !options.is_of_paper()) return affine(normalize(x, fields, options), gain, bias);
  return fused(AffineNorm{fields.center.has_value(), options}, Operands<3>{x, gain, bias}, place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
