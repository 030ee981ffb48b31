#pragma once

// Stage 0: a tape of numbers. Fill in what throws; add what you need.

#include <stdexcept>
#include <vector>

class Tape;

/// A number on a tape.
struct Number {
  Tape* tape;
  int index;  ///< its place in the order in which numbers were made
};

/// Everything that was computed, in order. Each entry needs its value, and for each number that it
/// was computed from, that number's index and the derivative by it.
class Tape {
 public:
  /// A number that depends on nothing.
  Number variable(double value) {
    (void)value;
    throw std::logic_error("Tape::variable is not written yet");
  }
};

/// The value of a number.
inline double value(Number) { throw std::logic_error("value is not written yet"); }

inline Number operator+(Number, Number) { throw std::logic_error("operator+ is not written yet"); }
inline Number operator-(Number, Number) { throw std::logic_error("operator- is not written yet"); }
inline Number operator*(Number, Number) { throw std::logic_error("operator* is not written yet"); }
inline Number operator/(Number, Number) { throw std::logic_error("operator/ is not written yet"); }
inline Number exp(Number) { throw std::logic_error("exp is not written yet"); }
inline Number log(Number) { throw std::logic_error("log is not written yet"); }
inline Number tanh(Number) { throw std::logic_error("tanh is not written yet"); }

/// The derivatives of y by each of the xs: 0 for one that y does not depend on. The tape stays as
/// it is, so that a second call gives the same.
inline std::vector<double> gradients(Number y, const std::vector<Number>& xs) {
  (void)y, (void)xs;
  throw std::logic_error("gradients is not written yet");
}
