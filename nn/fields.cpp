#include "tapegrad/nn/fields.h"

namespace tapegrad {

std::string Fields::enter(const char* name) {
  std::string outer = prefix_;
  prefix_ += std::string(name) + '.';
  return outer;
}

void Fields::operator()(const char* name, const Parameter& parameter) {
  if (!parameter.defined()) return;
  const auto [entry, is_new] = seen_.try_emplace(parameter.identity(), parameter);
  if (is_new) {
    if (cloning_) entry->second = Parameter(parameter.value(), parameter.name());
    parameters_.push_back({prefix_ + name, entry->second});
  }
  // `visit` is const for every other walk; the module that `clone` walks over is its own, not
  // const.
  if (cloning_) const_cast<Parameter&>(parameter) = entry->second;
}

void Fields::operator()(const char* name, const Buffer& buffer) {
  if (!buffer.value().defined()) return;
  const auto [entry, is_new] = seen_buffers_.try_emplace(buffer.identity(), buffer);
  if (is_new) {
    if (cloning_) entry->second = Buffer(buffer.value());
    buffers_.push_back({prefix_ + name, entry->second});
  }
  if (cloning_) const_cast<Buffer&>(buffer) = entry->second;
}

void Fields::norm(const void* identity) {
  norms_.push_back({prefix_.substr(0, prefix_.size() - (prefix_.empty() ? 0 : 1)), identity});
}

std::vector<Parameter> parameters(const Fields& found) {
  std::vector<Parameter> list;
  for (const auto& [name, parameter] : found.parameters()) {
    list.push_back(parameter);
    if (parameter.name().empty()) list.back().set_name(name);
  }
  return list;
}

}  // namespace tapegrad
