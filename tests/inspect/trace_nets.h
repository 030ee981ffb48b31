#pragma once

#include <map>
#include <string_view>

#include "tapegrad/inspect/trace.h"

namespace tapegrad::testing {

/// A training step, right or with one error of those who port a net.
class PortedStep {
 public:
  explicit PortedStep(std::string_view fault) : fault_(fault) {}
  /// Whether this error is in it.
  bool operator()(std::string_view fault) const { return fault == fault_; }
  /// The parameter of this name, of normal values that depend on name and shape alone.
  Parameter parameter(const std::string& name, const Shape& shape, double deviation = 1);
  Tensor operator()(const std::string& name, const Shape& shape, double deviation = 1) {
    return parameter(name, shape, deviation);
  }
  void buffer(const std::string& name, const Tensor& value) { buffers_[name] = Buffer(value); }
  void visit(Fields& field) const {
    for (const auto& [name, parameter] : parameters_) field(name.c_str(), parameter);
    for (const auto& [name, buffer] : buffers_) field(name.c_str(), buffer);
  }

 private:
  std::string_view fault_;
  std::map<std::string, Parameter> parameters_;
  std::map<std::string, Buffer> buffers_;
};

/// Normal numbers as a leaf of this name.
Tensor data(const std::string& name, const Shape& shape);
/// The mean, named "loss".
Tensor mean_of(const Tensor& losses);

/// Computes a loss.
using PortedNet = Tensor (*)(PortedStep& is);

Tensor norm_net(PortedStep& is);
Tensor mlp_net(PortedStep& is);
Tensor activation_net(PortedStep& is);
Tensor attention_net(PortedStep& is);
Tensor lstm_net(PortedStep& is);
Tensor gru_net(PortedStep& is);
Tensor conv_net(PortedStep& is);
Tensor embedding_net(PortedStep& is);
Tensor loss_net(PortedStep& is);
Tensor block_net(PortedStep& is);
Tensor picture_net(PortedStep& is);
Tensor adam_net(PortedStep& is);

/// The trace of a step with this error; "": with none.
Trace ported(PortedNet net, std::string_view fault);
/// What a framework of modules has of a trace: parameters, buffers, data and named results.
Trace modules(const Trace& step);

}  // namespace tapegrad::testing
