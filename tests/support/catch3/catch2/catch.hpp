#pragma once

// Catch2 3 under the names of version 2, in which the tests are written.

#include <catch2/catch_all.hpp>

using Catch::Approx;

namespace Catch {

using Matchers::Equals;
using Matchers::Matches;
using Matchers::Message;
using Matchers::StartsWith;
using Matchers::VectorContains;

inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }

}  // namespace Catch
