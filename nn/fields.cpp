#include "tapegrad/nn/fields.h"

#include <algorithm>
#include <set>
#include <span>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/pytorch.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Appends another name of a slot that was found before.
template <class Named, class Slot>
void share(std::vector<SharedSlot>& shared, const std::string& name,
           const std::vector<Named>& found, const Slot& again) {
  for (const auto& [first, slot] : found)
    if (slot.identity() == again.identity() && first != name) shared.push_back({name, first});
}

}  // namespace

std::string Fields::enter(const char* name) {
  std::string outer = prefix_;
  prefix_ += std::string(name) + '.';
  return outer;
}

void Fields::claim(const std::string& name, const Claim& claim) {
  if (cloning_) return;  // cloning replaces the slots under their names
  const auto& [identity, kind, shape] = claims_.try_emplace(name, claim).first->second;
  expect<Error>(identity == claim.identity,
                "visit: two fields are called {}: a {} of shape {} and a {} of shape {}; give each "
                "its own name",
                name, kind, shape, claim.kind, claim.shape);
}

void Fields::operator()(const char* name, const Parameter& parameter) {
  if (!parameter.defined()) return;
  if (pytorch_ != nullptr) return pytorch_->reshaped(name, parameter, parameter.shape());
  claim(prefix_ + name, {parameter.identity(), "parameter", parameter.shape()});
  const auto [entry, is_new] = seen_.try_emplace(parameter.identity(), parameter);
  if (is_new) {
    if (cloning_) entry->second = Parameter(parameter.value(), parameter.name());
    parameters_.push_back({prefix_ + name, entry->second});
  } else if (!cloning_) {
    share(shared_, prefix_ + name, parameters_, parameter);
  }
  // `visit` is const for the sake of all other walks. `clone` walks over its own module, which is
  // not const.
  if (cloning_) const_cast<Parameter&>(parameter) = entry->second;
}

void Fields::operator()(const char* name, const Buffer& buffer) {
  if (!buffer.value().defined()) return;
  if (pytorch_ != nullptr) return pytorch_->reshaped(name, buffer, buffer.value().shape());
  claim(prefix_ + name, {buffer.identity(), "buffer", buffer.value().shape()});
  const auto [entry, is_new] = seen_buffers_.try_emplace(buffer.identity(), buffer);
  if (is_new) {
    if (cloning_) entry->second = Buffer(buffer.value());
    buffers_.push_back({prefix_ + name, entry->second});
  } else if (!cloning_) {
    share(shared_, prefix_ + name, buffers_, buffer);
  }
  if (cloning_) const_cast<Buffer&>(buffer) = entry->second;
}

void Fields::norm(const void* identity) {
  const std::string name = prefix_.substr(0, prefix_.size() - (prefix_.empty() ? 0 : 1));
  expect<Error>(norm_claims_.try_emplace(name, identity).first->second == identity,
                "visit: two norms are called {}; give each its own name", name);
  norms_.push_back({name, identity});
}

std::vector<Parameter> parameters(const Fields& found) {
  std::vector<Parameter> list;
  for (const auto& [name, parameter] : found.parameters()) {
    list.push_back(parameter);
    if (parameter.name().empty()) list.back().set_name(name);
  }
  return list;
}

std::vector<Parameter> parameters(const Fields& found,
                                  const std::function<bool(const std::string& name)>& chosen) {
  expect<ArgumentError>(chosen != nullptr, "parameters: the function is empty");
  const std::vector<Parameter> all = parameters(found);
  std::vector<Parameter> list;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen(found.parameters()[i].name)) list.push_back(all[i]);
  if (!list.empty()) return list;
  std::string names;
  for (const NamedParameter& each : found.parameters())
    names += (names.empty() ? "" : ", ") + each.name;
  fail<ArgumentError>("parameters: none of {} names is chosen: {}", all.size(), names);
}

namespace {

// "the parameter w of shape (3, 4) that matmul at net.h:20 reads"
std::string first_use(const Tape& tape, const Parameter& parameter) {
  std::string text = fmt::format("the parameter {}{}of shape {}", parameter.name(),
                                 parameter.name().empty() ? "" : " ", parameter.shape());
  const std::int32_t leaf = tape.find(parameter);
  for (std::int32_t i = leaf + 1; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    if (std::count(node.inputs, node.inputs + node.input_count, leaf) > 0)
      return text + fmt::format(" that {} at {} reads", node.name, node.place);
  }
  return text;
}

}  // namespace

void expect_listed(const Tape& tape, const Fields& found) {
  std::set<const void*> listed;
  for (const auto& [name, parameter] : found.parameters()) listed.insert(parameter.identity());
  std::string missing;
  for (const Parameter& parameter : tape.parameters())
    if (listed.count(parameter.identity()) == 0)
      missing += (missing.empty() ? "" : ", ") + first_use(tape, parameter);
  expect<Error>(missing.empty(),
                "visit: it does not list what the tape used: {}; list it, or it is neither trained "
                "nor saved",
                missing);
}

std::vector<std::string> unreached(const Tape& tape, const Tensor& y, const Fields& found) {
  std::vector<bool> reached(static_cast<std::size_t>(tape.size()));
  if (tape.holds(y)) reached[static_cast<std::size_t>(y.node())] = true;
  for (std::int32_t i = tape.size(); i-- > 0;) {
    if (!reached[static_cast<std::size_t>(i)]) continue;
    const Node& node = tape.node(i);
    for (const std::int32_t input : std::span(node.inputs, node.input_count))
      if (input >= 0) reached[static_cast<std::size_t>(input)] = true;
  }
  std::vector<std::string> names;
  for (const auto& [name, parameter] : found.parameters()) {
    const std::int32_t leaf = tape.find(parameter);
    if (leaf < 0 || !reached[static_cast<std::size_t>(leaf)]) names.push_back(name);
  }
  return names;
}

Index parameter_count(const Fields& found) {
  Index count = 0;
  for (const auto& [name, parameter] : found.parameters()) count += parameter.shape().size();
  return count;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
