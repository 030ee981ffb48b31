#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/random.h"

namespace tapegrad::testing {

/// A call with an option, and the message that refuses it; "" if it is legal.
struct OptionRow {
  std::function<void()> make;
  std::string message;
};

inline void check(const std::vector<OptionRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO("row " << i);
    if (rows[i].message.empty())
      CHECK_NOTHROW(rows[i].make());
    else
      CHECK_THROWS_WITH(rows[i].make(), Catch::Equals(rows[i].message) ||
                                            Catch::StartsWith(rows[i].message + " ["));
  }
}

inline Random& draws() {
  static Random random(1);
  return random;
}

}  // namespace tapegrad::testing
