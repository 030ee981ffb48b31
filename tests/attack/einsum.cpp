// Equations of einsum, against a sum over all letters. Lines: the equation, then the extents of
// each operand, a digit each.

#include "tapegrad/ops/einsum.h"

#include <algorithm>
#include <map>

#include "attack.h"

namespace tapegrad::attack {
namespace {

// Small whole numbers, so that float sums are exact.
Tensor operand(const Shape& shape) {
  Tensor values = Tensor::uninitialized(shape);
  for (Index i = 0; i < shape.size(); ++i) values.mutable_data()[i] = static_cast<real>(i % 3 - 1);
  return values;
}

struct Term {
  std::string letters;
  Shape shape;

  // Where the element for these positions of the letters lies. An axis of one element broadcasts.
  Index at(const std::map<char, Index>& positions) const {
    Index offset = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Index position = positions.at(letters[static_cast<std::size_t>(axis)]);
      offset = offset * shape[axis] + (shape[axis] == 1 ? 0 : position);
    }
    return offset;
  }
};

// Puts digits in the place of an ellipsis.
void expand(std::string& letters, const std::string& digits) {
  const std::size_t points = letters.find("...");
  if (points != std::string::npos) letters.replace(points, 3, digits);
}

// The letters of each operand, and of the result. The axes under an ellipsis have digits, counted
// from the last one.
std::vector<std::string> letters_of(std::string equation, const std::vector<Tensor>& operands) {
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> terms{""};
  for (const char c : equation.substr(0, arrow))
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  std::string widest, once;
  std::map<char, int> counts;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].find("...") != std::string::npos) {
      const std::size_t named = terms[i].size() - 3;
      const std::string digits =
          std::string("87654321")
              .substr(8 - (static_cast<std::size_t>(operands[i].rank()) - named));
      if (digits.size() > widest.size()) widest = digits;
      expand(terms[i], digits);
    }
    for (const char c : terms[i]) ++counts[c];
  }
  for (const auto& [letter, count] : counts)
    if (count == 1 && letter > '9') once += letter;
  std::string result = arrow == std::string::npos ? "..." + once : equation.substr(arrow + 2);
  expand(result, widest);
  terms.push_back(result);
  return terms;
}

// Calls `visit` with every combination of positions.
template <class Visit>
void for_each(const std::map<char, Index>& extents, const Visit& visit) {
  std::map<char, Index> positions;
  Index combinations = 1;
  for (const auto& [letter, extent] : extents) combinations *= extent;
  for (Index i = 0; i < combinations; ++i) {
    Index rest = i;
    for (const auto& [letter, extent] : extents) {
      positions[letter] = rest % extent;
      rest /= extent;
    }
    visit(positions);
  }
}

void check(const std::string& equation, const std::vector<Tensor>& operands, const Tensor& found) {
  std::vector<Term> terms;
  std::map<char, Index> extents;
  for (const std::string& letters : letters_of(equation, operands)) {
    std::vector<Index> shape;
    for (std::size_t i = 0; i < letters.size(); ++i)
      shape.push_back(terms.size() < operands.size()
                          ? operands[terms.size()].shape()[static_cast<int>(i)]
                          : extents.at(letters[i]));
    terms.push_back({letters, Shape(shape)});
    for (std::size_t i = 0; i < letters.size(); ++i) {
      Index& extent = extents.try_emplace(letters[i], 1).first->second;
      if (shape[i] != 1) extent = shape[i];
    }
  }
  const Term result = terms.back();
  expect_property(found.shape() == result.shape, "the result has the shape of its letters");
  std::vector<double> expected(static_cast<std::size_t>(result.shape.size()));
  for_each(extents, [&](const std::map<char, Index>& positions) {
    double product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i)
      product *= operands[i].data()[terms[i].at(positions)];
    expected[static_cast<std::size_t>(result.at(positions))] += product;
  });
  expect_property(std::ranges::equal(found.values(), expected),
                  "the result is the sum of products");
}

}  // namespace

void attack(std::string_view input) {
  std::string_view rest = input;
  const auto line = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view found = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return std::string(found);
  };
  constexpr double most_products = 20000;  // more would only take time
  const std::string equation = line();
  std::vector<Tensor> operands;
  double products = 1;
  while (!rest.empty()) {
    std::vector<Index> extents;
    for (const char digit : line()) extents.push_back(digit % 16);
    for (const Index extent : extents) products *= std::max(1.0, static_cast<double>(extent));
    if (products > most_products) return;
    operands.push_back(operand(Shape(extents)));
  }
  check(equation, operands, einsum(equation, operands));
}

}  // namespace tapegrad::attack
