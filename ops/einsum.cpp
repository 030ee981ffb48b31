#include "tapegrad/ops/einsum.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The letters of each term. An ellipsis is one point until the operands show how many axes it
// covers; then a digit for each of them takes its place.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

constexpr char ellipsis_mark = '.';

// A tensor and a letter for each of its axes.
struct Factor {
  Tensor tensor;
  std::string letters;
};

bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// The letters of `all` that pass, in order.
template <class Passes>
std::string filtered(const std::string& all, const Passes& passes) {
  std::string found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), passes);
  return found;
}

std::string without_spaces(const std::string& equation) {
  return filtered(equation, [](char c) { return c != ' '; });
}

// A letter that occurs twice, or 0.
char repeated(const std::string& letters) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters.find(letters[i], i + 1) != std::string::npos) return letters[i];
  return 0;
}

// One term of the equation.
std::string term(const std::string& equation, std::string text) {
  const std::size_t points = text.find("...");
  if (points != std::string::npos) text.replace(points, 3, 1, ellipsis_mark);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == points) continue;
    expect<ArgumentError>(c != ellipsis_mark,
                          "einsum: a point belongs to an ellipsis of three, one for each term: {}",
                          equation);
    expect<ArgumentError>((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
                          "einsum: {:?} is not a letter: {}", c, equation);
  }
  return text;
}

// The ellipsis, then the letters that occur once, in alphabetical order.
std::string implicit_result(const std::vector<std::string>& operands) {
  std::string all;
  for (const std::string& letters : operands) all += letters;
  std::sort(all.begin(), all.end());
  const std::string once = filtered(all, [&](char c) {
    return c != ellipsis_mark && std::count(all.begin(), all.end(), c) == 1;
  });
  return has(all, ellipsis_mark) ? ellipsis_mark + once : once;
}

Equation parse(const std::string& equation) {
  const std::string shown = beginning(equation), plain = without_spaces(equation);
  const std::size_t arrow = plain.find("->");
  Equation parsed;
  std::string letters;
  for (const char c : plain.substr(0, arrow) + ',') {
    if (c != ',') {
      letters += c;
      continue;
    }
    parsed.operands.push_back(term(shown, letters));
    letters.clear();
  }
  const bool is_explicit = arrow != std::string::npos;
  parsed.result =
      is_explicit ? term(shown, plain.substr(arrow + 2)) : implicit_result(parsed.operands);
  expect<ArgumentError>(repeated(parsed.result) == 0,
                        "einsum: index {} is repeated in the result: {}", repeated(parsed.result),
                        shown);
  return parsed;
}

// The number of axes under the ellipsis of an operand. Throws unless the rest has a letter each.
int covered_axes(const std::string& equation, const std::string& letters, std::size_t operand,
                 const Shape& shape) {
  const bool open = has(letters, ellipsis_mark);
  const int named = static_cast<int>(letters.size()) - (open ? 1 : 0);
  expect(open ? named <= shape.rank() : named == shape.rank(),
         "einsum: {}{} names {} axes of operand {} of shape {}: {}", open ? "..." : "",
         beginning(filtered(letters, [](char c) { return c != ellipsis_mark; })), named, operand,
         shape, equation);
  return shape.rank() - named;
}

// The equation with digits for the axes under the ellipses, which are aligned at the last one.
Equation expanded(const std::string& equation, Equation parsed,
                  const std::vector<Tensor>& operands) {
  expect(parsed.operands.size() == operands.size(), "einsum: {} operands for {} terms: {}",
         operands.size(), parsed.operands.size(), equation);
  std::vector<int> covered;
  for (std::size_t i = 0; i < operands.size(); ++i)
    covered.push_back(covered_axes(equation, parsed.operands[i], i, operands[i].shape()));
  const std::string digits =
      std::string("01234567")
          .substr(0, static_cast<std::size_t>(*std::max_element(covered.begin(), covered.end())));
  const auto expand = [&](std::string& letters, int axes) {
    const std::size_t mark = letters.find(ellipsis_mark);
    if (mark == std::string::npos) return;
    letters.replace(mark, 1, digits.substr(digits.size() - static_cast<std::size_t>(axes)));
  };
  for (std::size_t i = 0; i < operands.size(); ++i) expand(parsed.operands[i], covered[i]);
  expand(parsed.result, static_cast<int>(digits.size()));
  return parsed;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// The extent of each letter. Throws unless all axes with a letter have it; those under an ellipsis
// broadcast.
std::map<char, Index> extents_of(const std::string& equation, const Equation& expanded,
                                 const std::vector<Tensor>& operands) {
  std::map<char, Index> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].shape();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const char letter = expanded.operands[i][static_cast<std::size_t>(axis)];
      Index& extent = extents.try_emplace(letter, shape[axis]).first->second;
      if (is_digit(letter)) {
        expect(extent == shape[axis] || extent == 1 || shape[axis] == 1,
               "einsum: the axes under the ellipsis do not broadcast: {} and {}: {}", extent,
               shape[axis], equation);
        if (extent == 1) extent = shape[axis];
      } else {
        expect(extent == shape[axis], "einsum: index {} has the extents {} and {}: {}", letter,
               extent, shape[axis], equation);
      }
    }
  }
  for (const char c : expanded.result)
    expect(extents.contains(c), "einsum: index {} of the result is in no operand: {}", c, equation);
  return extents;
}

// Drops the axes of one element that broadcast.
Factor without_stretched(Factor factor, const std::map<char, Index>& extents) {
  for (int axis = factor.tensor.rank() - 1; axis >= 0; --axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (factor.tensor.shape()[axis] == extents.at(factor.letters[at])) continue;
    factor.tensor = reshape(factor.tensor, factor.tensor.shape().without(axis));
    factor.letters.erase(at, 1);
  }
  return factor;
}

// Takes diagonals until each letter names one axis.
Factor with_diagonals(Factor factor) {
  for (char letter = repeated(factor.letters); letter != 0; letter = repeated(factor.letters)) {
    const std::size_t first = factor.letters.find(letter);
    const std::size_t second = factor.letters.find(letter, first + 1);
    std::vector<int> order;
    for (int axis = 0; axis < factor.tensor.rank(); ++axis)
      if (axis != static_cast<int>(first) && axis != static_cast<int>(second))
        order.push_back(axis);
    order.insert(order.end(), {static_cast<int>(first), static_cast<int>(second)});
    factor.tensor = diagonal(permute(factor.tensor, order));
    factor.letters.erase(second, 1).erase(first, 1) += letter;
  }
  return factor;
}

Factor permuted(const Factor& factor, const std::string& letters) {
  if (factor.letters == letters) return factor;
  std::vector<int> order;
  for (const char c : letters) order.push_back(static_cast<int>(factor.letters.find(c)));
  return {permute(factor.tensor, order), letters};
}

// Sums over the axes that do not pass.
template <class Passes>
Factor summed(const Factor& factor, const Passes& passes) {
  Factor left = factor;
  for (int axis = static_cast<int>(left.letters.size()) - 1; axis >= 0; --axis) {
    if (passes(left.letters[axis])) continue;
    left.tensor = sum(left.tensor, axis);
    left.letters.erase(axis, 1);
  }
  return left;
}

Index count(const Factor& factor, const std::string& letters) {
  Index product = 1;
  for (const char c : letters)
    product *= factor.tensor.shape()[static_cast<int>(factor.letters.find(c))];
  return product;
}

// Merges the axes of each of three groups into one axis.
Tensor joined(const Factor& factor, const std::string& first, const std::string& second,
              const std::string& third) {
  return reshape(permuted(factor, first + second + third).tensor,
                 {count(factor, first), count(factor, second), count(factor, third)});
}

// The product of two factors. Sums over their letters that are not `kept`.
Factor product(const Factor& first, const Factor& second, const std::string& kept) {
  const auto in_either = [&](const Factor& other) {
    return [&](char c) { return has(other.letters, c) || has(kept, c); };
  };
  const Factor a = summed(first, in_either(second)), b = summed(second, in_either(a));
  const auto shared = [&](char c) { return has(a.letters, c) && has(b.letters, c); };
  const std::string batch = filtered(a.letters, [&](char c) { return shared(c) && has(kept, c); });
  const std::string inner = filtered(a.letters, [&](char c) { return shared(c) && !has(kept, c); });
  const std::string rows = filtered(a.letters, [&](char c) { return !shared(c); });
  const std::string columns = filtered(b.letters, [&](char c) { return !shared(c); });
  const Tensor left = joined(a, batch, rows, inner), right = joined(b, batch, inner, columns);
  // With nothing to sum over, inner is an axis of 1, and broadcasting multiplies the elements.
  const Tensor c = inner.empty() ? left * right : matmul(left, right);
  std::vector<Index> extents;
  for (const char letter : batch + rows) extents.push_back(count(a, {letter}));
  for (const char letter : columns) extents.push_back(count(b, {letter}));
  return {reshape(c, Shape(extents)), batch + rows + columns};
}

// The letters of the result and of all factors but two.
std::string needed(const std::vector<Factor>& factors, std::size_t first, std::size_t second,
                   const std::string& result) {
  std::string letters = result;
  for (std::size_t i = 0; i < factors.size(); ++i)
    if (i != first && i != second) letters += factors[i].letters;
  return letters;
}

// The pair of factors whose product has the fewest elements, and not too many axes; the first of
// several.
std::pair<std::size_t, std::size_t> smallest_product(const std::vector<Factor>& factors,
                                                     const std::string& result,
                                                     const std::map<char, Index>& extents) {
  std::pair<std::size_t, std::size_t> best{0, 1};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < factors.size(); ++i)
    for (std::size_t j = i + 1; j < factors.size(); ++j) {
      const std::string kept = needed(factors, i, j, result);
      double elements = 1;
      int rank = 0;
      for (const auto& [letter, extent] : extents)
        if (has(kept, letter) &&
            (has(factors[i].letters, letter) || has(factors[j].letters, letter))) {
          elements *= static_cast<double>(extent);
          ++rank;
        }
      if (elements < least && rank <= Shape::max_rank) {
        least = elements;
        best = {i, j};
      }
    }
  return best;
}

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands, Place place) {
  const PlaceScope caller(place);
  const Equation parsed = parse(equation);
  expect_all_defined("einsum", operands);
  const std::string shown = beginning(equation);
  const Equation terms = expanded(shown, parsed, operands);
  const std::map<char, Index> extents = extents_of(shown, terms, operands);
  std::vector<Factor> factors;
  for (std::size_t i = 0; i < operands.size(); ++i)
    factors.push_back(with_diagonals(without_stretched({operands[i], terms.operands[i]}, extents)));
  while (factors.size() > 1) {
    const auto [first, second] = smallest_product(factors, terms.result, extents);
    const std::string kept = needed(factors, first, second, terms.result);
    factors[first] = product(factors[first], factors[second], kept);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(second));
  }
  const auto in_result = [&](char c) { return has(terms.result, c); };
  return permuted(summed(factors[0], in_result), terms.result).tensor;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
