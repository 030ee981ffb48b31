#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/net_state.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Gives a net its parameters and buffers back.
class KeptNet {
 public:
  explicit KeptNet(const Fields& net) : before_(net) {}
  KeptNet(const KeptNet&) = delete;
  KeptNet& operator=(const KeptNet&) = delete;
  ~KeptNet() { before_.swap(); }

 private:
  NetState before_;
};

/// A loss at the weights of a net and at others, until the net gets its own back.
class TriedLoss {
 public:
  /// Weights, and what is known of the loss there; each list has an entry for each slot.
  struct Point {
    std::vector<Tensor> values, gradients;
    double loss = 0;
    double noise = 0;             ///< by how much rounding may change the loss
    std::vector<double> typical;  ///< the change of the loss by a random one of the slot's own size
  };

  /// batch: one of the net's parameters, or null
  TriedLoss(const Fields& net, const Parameter* batch, std::function<Tensor()> loss);

  /// The parameters that the loss depends on.
  const std::vector<NamedParameter>& slots() const { return slots_; }
  std::size_t position(const Parameter& parameter) const;
  bool is_batch(std::size_t slot) const;
  /// The given weights first, then others of random signs, such that what was inactive is active.
  const std::vector<Point>& points() const { return points_; }
  Random& random() { return random_; }

  double at(const std::vector<Tensor>& values);
  /// The root mean square of a value; of zeros 1/2.
  static double size(const Tensor& value);

  /// The operations at which a change of the given weights ends: inputs of theirs differ, but their
  /// values do not. Empty if it reaches no operation's value, as where it is multiplied by zeros.
  std::string ends(const std::vector<Tensor>& values);
  /// Whether an operation reads both, or `second` and what another makes of `first`.
  bool meet(const Parameter& first, const Parameter& second) const;

 private:
  struct Recorded {
    const char* name;
    Place place;
    std::vector<std::int32_t> inputs;  // nodes; negative ones are constants
    const void* parameter;             // whose leaf it is, or null
    Tensor value;
  };

  void find_slots(const Fields& net);
  void add_point(const std::vector<Tensor>& values);
  void go_to(const std::vector<Tensor>& values);
  Tensor normal(const Tensor& value) { return random_.normal(value.shape(), 0, size(value)); }
  std::vector<Recorded> record(const std::vector<Tensor>& values);

  KeptNet kept_;
  const Parameter* batch_;
  std::function<Tensor()> loss_;
  Random random_{1};
  std::vector<NamedParameter> slots_;
  std::vector<Point> points_;
  std::vector<Recorded> recorded_;  // at the given weights
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
