#pragma once

#include <unordered_map>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/internal/rule.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// One addition to the gradient of a node, by a sweep over a tape with `keep_values`.
/// Example: `for (const Flow& flow : tape.flows()) fmt::print("{} -> {}\n", flow.from, flow.to)`
struct Flow {
  int sweep;              ///< 1 for the first
  std::int32_t from, to;  ///< nodes; from is -1 for the seed and for assembled parts
  std::int32_t size;      ///< of the tape at that moment
  Tensor added, total;    ///< the addend, and the gradient of `to` after it
};

/// A constant that `named` has named: a tensor or indices.
/// Example: `for (const NamedConstant& one : tape.constants()) fmt::print("{}\n", one.name)`
struct NamedConstant {
  std::string name;
  Tensor tensor;
  Indices indices;
};

namespace detail {

/// What a tape with `keep_values` keeps beside values, for printing, export and viewing.
class Observed {
 public:
  const std::vector<Flow>& flows() const { return flows_; }
  const std::vector<NamedConstant>& constants() const { return constants_; }
  /// The gradient that the last sweep found for a node; undefined if it found none.
  Tensor gradient(std::int32_t node) const {
    const auto found = last_flows_.find(node);
    return found == last_flows_.end() ? Tensor() : flows_[found->second].total;
  }
  /// `detached_input` of the node whose detached value this is; -1 for another tensor. No other
  /// value can take its place in memory, since the tape keeps it.
  std::int32_t input(const Tensor& constant) const {
    const auto found = detached_.find(constant.data());
    return found == detached_.end() ? -1 : detached_input(found->second);
  }

  int begin_sweep() { return ++sweeps_; }
  void keep(const Flow& flow) {
    last_flows_[flow.to] = flows_.size();
    flows_.push_back(flow);
  }
  void keep(const NamedConstant& constant) { constants_.push_back(constant); }
  void keep_detached(const Tensor& x) { detached_.insert_or_assign(x.data(), x.node()); }
  /// Forgets the nodes from `size` on.
  void rewind(std::int32_t size) {
    std::erase_if(detached_, [&](const auto& entry) { return entry.second >= size; });
    std::erase_if(flows_, [&](const Flow& flow) { return flow.to >= size; });
    last_flows_.clear();
    for (std::size_t i = 0; i < flows_.size(); ++i) last_flows_[flows_[i].to] = i;
  }

 private:
  int sweeps_ = 0;
  std::vector<Flow> flows_;
  std::unordered_map<std::int32_t, std::size_t> last_flows_;  // of each node, among the flows
  std::vector<NamedConstant> constants_;
  std::unordered_map<const real*, std::int32_t> detached_;  // nodes, by the values they share
};

}  // namespace detail
}  // namespace tapegrad::TAPEGRAD_SCALAR
