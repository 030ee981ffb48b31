#include "tapegrad/ops/einsum.h"

#include <algorithm>
#include <map>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

struct Equation {
  std::vector<std::string> operands;  // the letters of each
  std::string result;
};

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

void expect_letters(const std::string& equation, const std::string& letters) {
  for (const char c : letters)
    expect<ArgumentError>((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'),
                          "einsum: {:?} is not a letter: {}", c, equation);
}

// The letters that occur once, in alphabetical order.
std::string implicit_result(const std::vector<std::string>& operands) {
  std::string all;
  for (const std::string& letters : operands) all += letters;
  std::sort(all.begin(), all.end());
  return filtered(all, [&](char c) { return std::count(all.begin(), all.end(), c) == 1; });
}

Equation parse(const std::string& equation) {
  const std::string shown = beginning(equation);
  expect<ArgumentError>(!has(equation, '.'), "einsum: an ellipsis is not supported: {}", shown);
  const std::string plain = without_spaces(equation);
  const std::size_t arrow = plain.find("->");
  Equation parsed;
  std::string letters;
  for (const char c : plain.substr(0, arrow) + ',') {
    if (c != ',') {
      letters += c;
      continue;
    }
    expect_letters(shown, letters);
    expect<ArgumentError>(
        repeated(letters) == 0,
        "einsum: index {} is repeated within an operand, and diagonals are not supported: {}",
        repeated(letters), shown);
    parsed.operands.push_back(letters);
    letters.clear();
  }
  const bool is_explicit = arrow != std::string::npos;
  parsed.result = is_explicit ? plain.substr(arrow + 2) : implicit_result(parsed.operands);
  expect_letters(shown, parsed.result);
  expect<ArgumentError>(repeated(parsed.result) == 0,
                        "einsum: index {} is repeated in the result: {}", repeated(parsed.result),
                        shown);
  return parsed;
}

// Throws unless the operands have the axes that the equation names, with one extent for each
// letter.
void expect_fits(const std::string& equation, const Equation& parsed,
                 const std::vector<Tensor>& operands) {
  expect(parsed.operands.size() == operands.size(), "einsum: {} operands for {} terms: {}",
         operands.size(), parsed.operands.size(), equation);
  std::map<char, Index> extents;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Shape& shape = operands[i].shape();
    const std::string& letters = parsed.operands[i];
    expect(shape.rank() == static_cast<int>(letters.size()),
           "einsum: {} names {} axes of operand {} of shape {}: {}", letters, letters.size(), i,
           shape, equation);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Index extent = extents.try_emplace(letters[axis], shape[axis]).first->second;
      expect(extent == shape[axis], "einsum: index {} has the extents {} and {}: {}", letters[axis],
             extent, shape[axis], equation);
    }
  }
  for (const char c : parsed.result)
    expect(extents.contains(c), "einsum: index {} of the result is in no operand: {}", c, equation);
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

// The product of two factors. Sums over their common letters that are not `kept`.
Factor product(const Factor& a, const Factor& b, const std::string& kept) {
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

}  // namespace

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands, Place place) {
  const PlaceScope caller(place);
  const Equation parsed = parse(equation);
  expect_all_defined("einsum", operands);
  expect_fits(beginning(equation), parsed, operands);
  const auto factor = [&](std::size_t i) { return Factor{operands[i], parsed.operands[i]}; };
  Factor total = factor(0);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string kept = parsed.result;  // what the result and later factors still need
    for (std::size_t later = i + 1; later < operands.size(); ++later)
      kept += parsed.operands[later];
    const Factor next = factor(i);
    const auto in_next = [&](char c) { return has(next.letters, c) || has(kept, c); };
    const Factor left = summed(total, in_next);
    const auto in_left = [&](char c) { return has(left.letters, c) || has(kept, c); };
    total = product(left, summed(next, in_left), kept);
  }
  const auto in_result = [&](char c) { return has(parsed.result, c); };
  return permuted(summed(total, in_result), parsed.result).tensor;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
