#include <fmt/ranges.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <string>

#include "live.h"
#include "tapegrad/tapegrad.h"

namespace live {
namespace {

using namespace tapegrad;

constexpr std::size_t longest = 200;  // characters; each may be one call deeper

// Computes an expression while it is read:
//
//     sum      = product {("+" | "-") product}
//     product  = sign {("*" | "/") sign}
//     sign     = ["-"] power
//     power    = atom ["^" sign]
//     atom     = number | name | name "(" sum ")" | "(" sum ")"
class Reader {
 public:
  Reader(std::string text, Tensor x, Tensor y)
      : text_(std::move(text)), names_{{"x", x}, {"y", y}} {}

  Tensor all() {
    const Tensor result = sum();
    if (next() != '\0') fail("an operator is missing before it");
    return result;
  }

 private:
  Tensor sum() {
    Tensor result = product();
    for (;;)
      if (take('+'))
        result = result + product();
      else if (take('-'))
        result = result - product();
      else
        return result;
  }

  Tensor product() {
    Tensor result = sign();
    for (;;)
      if (take('*'))
        result = result * sign();
      else if (take('/'))
        result = result / sign();
      else
        return result;
  }

  Tensor sign() { return take('-') ? -sign() : power(); }

  Tensor power() {
    const Tensor base = atom();
    return take('^') ? pow(base, sign()) : base;
  }

  Tensor atom() {
    if (take('(')) return closed(sum());
    const char first = next();
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    const std::string name = word();
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    const auto function = functions().find(name);
    if (function == functions().end() || !take('('))
      fail(fmt::format("expected a number, x, y, or one of {} with its parentheses",
                       fmt::join(function_names(), ", ")));
    return function->second(closed(sum()));
  }

  Tensor number() {
    const char* begin = text_.c_str() + at_;
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end == begin) fail("a number needs a digit");
    at_ += static_cast<std::size_t>(end - begin);
    return Tensor(static_cast<real>(value));
  }

  std::string word() {
    const std::size_t begin = at_;
    while (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string found = text_.substr(begin, at_ - begin);
    if (!names_.contains(found) && !functions().contains(found)) at_ = begin;
    return found;
  }

  Tensor closed(const Tensor& inner) {
    if (!take(')')) fail("a parenthesis is not closed");
    return inner;
  }

  char next() {
    while (text_[at_] == ' ') ++at_;
    return text_[at_];
  }

  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw ArgumentError(fmt::format("character {}: {}", at_ + 1, reason));
  }

  using Functions = std::map<std::string, Tensor (*)(const Tensor&)>;
  static const Functions& functions() {
    static const Functions all{{"abs", [](const Tensor& a) { return abs(a); }},
                               {"cos", [](const Tensor& a) { return cos(a); }},
                               {"detach", [](const Tensor& a) { return detach(a); }},
                               {"exp", [](const Tensor& a) { return exp(a); }},
                               {"log", [](const Tensor& a) { return log(a); }},
                               {"relu", [](const Tensor& a) { return relu(a); }},
                               {"sigmoid", [](const Tensor& a) { return sigmoid(a); }},
                               {"sin", [](const Tensor& a) { return sin(a); }},
                               {"sqrt", [](const Tensor& a) { return sqrt(a); }},
                               {"square", [](const Tensor& a) { return square(a); }},
                               {"tanh", [](const Tensor& a) { return tanh(a); }}};
    return all;
  }
  static std::vector<std::string> function_names() {
    std::vector<std::string> names;
    for (const auto& [name, function] : functions()) names.push_back(name);
    return names;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::map<std::string, Tensor> names_;
};

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

// The derivatives of y with respect to the two leaves; y may depend on neither.
std::vector<Tensor> derivatives(const Tape& tape, const Tensor& y,
                                const std::vector<Tensor>& leaves, const GradOptions& options) {
  if (!tape.holds(y)) return {zeros({}), zeros({})};
  return grad(y, leaves, options);
}

}  // namespace

Json expression(const Json& request) {
  const auto text = request.at("text").get<std::string>();
  expect<ArgumentError>(text.size() <= longest, "the expression has {} characters; at most {} fit",
                        text.size(), longest);
  const bool second = request.at("second").get<bool>();
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(request.at("x").get<double>()), "x"),
               y = named(watch(request.at("y").get<double>()), "y");
  const Tensor value = Reader(text, x, y).all();
  const std::vector<Tensor> leaves{x, y};
  const std::vector<Tensor> first = derivatives(tape, value, leaves, {.record = second});
  Json result{{"value", number(value.item())},
              {"dx", number(first[0].item())},
              {"dy", number(first[1].item())}};
  if (second) {
    const std::vector<Tensor> of_dx = derivatives(tape, first[0], leaves, {.keep = true});
    result["dxx"] = number(of_dx[0].item());
    result["dxy"] = number(of_dx[1].item());
    result["dyy"] = number(derivatives(tape, first[1], leaves, {})[1].item());
  }
  result["tape"] = without_places(tape);
  return result;
}

}  // namespace live
