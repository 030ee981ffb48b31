#include "tapegrad/nn/net_state.h"

#include <utility>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Calls `visit` for each parameter, then for each buffer.
template <class Visit>
void each_slot(const Fields& net, const Visit& visit) {
  for (const auto& [name, parameter] : net.parameters()) visit(name, parameter);
  for (const auto& [name, buffer] : net.buffers()) visit(name, buffer);
}

}  // namespace

NetState::NetState(Fields net) : net_(std::move(net)) {
  each_slot(net_, [&](const auto&, const auto& slot) { values_.push_back(slot.value()); });
}

void NetState::swap() {
  auto value = values_.begin();
  each_slot(net_, [&](const auto&, auto slot) {
    const Tensor current = slot.value();
    slot.set(*value);
    *value++ = current;
  });
}

void NetState::restore(std::vector<Tensor> values) {
  expect(values.size() == values_.size(), "net state: {} values restored, {} needed", values.size(),
         values_.size());
  auto value = values.begin();
  each_slot(net_, [&](const std::string& name, const auto& slot) {
    const Shape& shape = (value++)->shape();
    expect(shape == slot.value().shape(),
           "net state: a value of shape {} restored for {} of shape {}", shape, name,
           slot.value().shape());
  });
  values_ = std::move(values);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
