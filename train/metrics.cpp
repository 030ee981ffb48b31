#include "tapegrad/train/metrics.h"

#include <algorithm>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Metrics::Metrics(std::initializer_list<Entry> entries) {
  for (const auto& [name, value] : entries) (*this)[name] = value;
}

bool Metrics::contains(const std::string& name) const {
  return std::ranges::find(entries_, name, &Entry::first) != entries_.end();
}

const Metrics::Value& Metrics::at(const std::string& name) const {
  const auto entry = std::ranges::find(entries_, name, &Entry::first);
  expect<Error>(entry != entries_.end(), "metrics: there is no {}", name);
  return entry->second;
}

double Metrics::number(const std::string& name) const {
  const Value& value = at(name);
  if (const Index* whole = std::get_if<Index>(&value)) return static_cast<double>(*whole);
  const double* found = std::get_if<double>(&value);
  expect<Error>(found != nullptr, "metrics: {} is a text, not a number", name);
  return *found;
}

Metrics::Value& Metrics::operator[](const std::string& name) {
  const auto entry = std::ranges::find(entries_, name, &Entry::first);
  return entry != entries_.end() ? entry->second : entries_.emplace_back(name, 0).second;
}

void Metrics::update(const Metrics& others) {
  for (const auto& [name, value] : others) (*this)[name] = value;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
