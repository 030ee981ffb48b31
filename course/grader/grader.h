#pragma once

// What the grader of each stage is written with. Its points are run one at a time, each in a
// process of its own: `grader CHALLENGE` lists their names, each after an answer to that number;
// `grader CHALLENGE 3` runs the fourth, and writes its answer when its test came to its end.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace grader {

/// Why a point does not hold: the input, what was found there, and what is right.
struct Failure {
  std::string why;
};

struct Point {
  std::string name;
  /// From the smallest input to the largest. Throws at the first failure.
  std::function<void()> test;
};

/// A number as a student would write it.
inline std::string text(double x, int digits = 6) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*g", digits, x);
  return buffer;
}

inline std::string text(const std::vector<double>& list, int digits = 6) {
  std::string all;
  for (const double each : list) all += (all.empty() ? "" : ", ") + text(each, digits);
  return "{" + all + "}";
}

/// A shape, or labels.
inline std::string text(const std::vector<int>& list, int /*digits*/ = 6) {
  std::string all;
  for (const int each : list) all += (all.empty() ? "" : ", ") + std::to_string(each);
  return "(" + all + ")";
}

/// Throws a Failure with the reason.
inline void expect(bool holds, const std::string& why) {
  if (!holds) throw Failure{why};
}

/// Whether two numbers agree to 1e-9 of the greater, or are both not finite in the same way.
inline bool agree(double found, double right, double tolerance = 1e-9) {
  if (std::isnan(right)) return std::isnan(found);
  if (std::isinf(right)) return found == right;
  return std::abs(found - right) <= tolerance * std::max(1.0, std::abs(right));
}

/// Throws a Failure that shows both, with as many digits as tell them apart.
template <class T>
[[noreturn]] void fail(const std::string& what, const T& found, const T& right) {
  const int digits = text(found) == text(right) ? 15 : 6;
  throw Failure{what + " is " + text(found, digits) + ", must be " + text(right, digits)};
}

/// Throws a Failure unless `found` is `right`.   what: "x = 2: d(x x)/dx"
inline void expect_equal(const std::string& what, double found, double right,
                         double tolerance = 1e-9) {
  if (!agree(found, right, tolerance)) fail(what, found, right);
}

/// Compares lists, and shows them whole.
template <class T>
void expect_equal(const std::string& what, const std::vector<T>& found, const std::vector<T>& right,
                  double tolerance = 1e-9) {
  bool same = found.size() == right.size();
  for (std::size_t i = 0; same && i < found.size(); ++i)
    same = agree(static_cast<double>(found[i]), static_cast<double>(right[i]), tolerance);
  if (!same) fail(what, found, right);
}

inline std::string announced;
/// Says what is computed next. If that throws or stops the process, the student reads it.
inline void announce(const std::string& what) {
  announced = what;
  std::puts(what.c_str());
  std::fflush(stdout);
}

/// Throws a Failure unless `f` throws an E.   what: "adding (2) and (3)"
template <class E, class F>
void expect_refused(const std::string& what, const F& f) {
  announce(what + ", which must be refused");
  try {
    f();
  } catch (const E&) {
    return;
  }
  throw Failure{what + " must be refused with an exception, and is not"};
}

/// What a program answers to a number, at each point and for the list of points: only one that was
/// built with this key can.
struct Key {
  std::uint64_t first, second;
  static constexpr std::uint64_t list = -1;

  std::string answer(std::uint64_t challenge, std::uint64_t point) const {
    char buffer[17];
    std::snprintf(
        buffer, sizeof buffer, "%016llx",
        static_cast<unsigned long long>(mixed(mixed(challenge ^ first) + second + point)));
    return buffer;
  }

 private:
  // The finalizer of splitmix64.
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};

/// The main function of a grader. Its key is asked for when a test has come to its end, so that it
/// is nowhere in memory before.
inline int run(const std::vector<Point>& points, int argc, char** argv, Key (*key)()) {
  if (argc < 2) return 2;
  const std::uint64_t challenge = std::strtoull(argv[1], nullptr, 10);
  if (argc < 3) {
    const std::string answer = key().answer(challenge, Key::list);
    for (const Point& point : points) std::printf("\n%s %s", answer.c_str(), point.name.c_str());
    std::puts("");
    return 0;
  }
  try {
    const auto number = static_cast<std::size_t>(std::atoi(argv[2]));
    points.at(number).test();
    std::printf("\n%s\n", key().answer(challenge, number).c_str());
    return 0;
  } catch (const Failure& failure) {
    std::puts(failure.why.c_str());
  } catch (const std::exception& error) {
    std::printf("%sthrew: %s\n", announced.empty() ? "" : (announced + " ").c_str(), error.what());
  }
  return 1;
}

}  // namespace grader
