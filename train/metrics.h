#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a program has measured: numbers and texts by name, in the order in which they were entered.
/// Example: `Metrics found{{"test_accuracy", 0.9}, {"errors", 3}}; found["sample"] = "a text"`
class Metrics {
 public:
  /// Whole numbers, such as the literal 3, stay whole: logs have 3, and 3.0 for the literal 3.0.
  using Value = std::variant<Index, double, std::string>;
  using Entry = std::pair<std::string, Value>;

  Metrics() = default;
  /// The last of several entries with one name counts.
  Metrics(std::initializer_list<Entry> entries);

  bool empty() const { return entries_.empty(); }
  bool contains(const std::string& name) const;
  /// Throws Error if it has no such name.
  const Value& at(const std::string& name) const;
  /// Reads a value as `at` does, as a number, whole or not. Throws Error for a text, too.
  double number(const std::string& name) const;
  /// A new name comes last, with the value 0.
  Value& operator[](const std::string& name);
  /// Enters all values of `others`. They replace those with the same names.
  void update(const Metrics& others);

  // The entries.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
