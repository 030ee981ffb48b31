#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "support/golden_file.h"

namespace tapegrad::testing {
namespace {

using nlohmann::json;

Tensor tensor(const json& plain) {
  const auto extents = plain.at("shape").get<std::vector<Index>>();
  const auto values = plain.at("values").get<std::vector<double>>();
  return {Shape(extents), std::vector<real>(values.begin(), values.end())};
}

std::vector<Tensor> tensors(const json& list) {
  std::vector<Tensor> result;
  for (const json& plain : list) result.push_back(tensor(plain));
  return result;
}

const json& contents(const std::string& file) {
  static std::map<std::string, json> files;
  if (!files.contains(file)) {
    std::ifstream in(golden_file(file));
    files[file] = json::parse(in);
  }
  return files[file];
}

}  // namespace

Golden golden(const std::string& file, const std::string& row) {
  const json& entry = contents(file).at(row);
  return {tensors(entry.at("inputs")), tensor(entry.at("value")), tensor(entry.at("seed")),
          tensors(entry.at("gradients"))};
}

double relative_error(const Tensor& found, const Tensor& expected) {
  if (found.shape() != expected.shape()) return std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected.data()[i]}));
    const double d = std::abs(double{found.data()[i]} - double{expected.data()[i]});
    difference = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(difference, d);
  }
  return largest == 0 ? difference : difference / largest;
}

}  // namespace tapegrad::testing
