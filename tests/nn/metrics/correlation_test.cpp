#include "tapegrad/nn/metrics/correlation.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/golden_file.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;

namespace {

Tensor list(const nlohmann::json& values) {
  return Tensor({static_cast<Index>(values.size())}, values.get<std::vector<real>>());
}

}  // namespace

TEST_CASE("correlations are SciPy's", "[metrics]") {
  std::ifstream file(testing::golden_file("correlation.json"));
  const auto all = nlohmann::json::parse(file);
  CHECK(all.size() == 9);
  for (const auto& each : all.items()) {
    INFO(each.key());
    const auto& row = each.value();
    const Tensor guesses = list(row.at("guesses")), right = list(row.at("right"));
    const auto check = [&](double found, const char* what) {
      CHECK(found == Approx(row.at(what).get<double>()).epsilon(0).margin(1e-9));
    };
    check(pearson(guesses, right), "pearson");
    check(spearman(guesses, right), "spearman");
    check(mean_squared_error(guesses, right), "mean_squared_error");
  }
}

TEST_CASE("correlations of a constant are no numbers", "[metrics]") {
  const Tensor constant({3}, {0.1, 0.1, 0.1}), rising({3}, {1, 2, 3}),
      unknown({3}, {1, std::numeric_limits<double>::quiet_NaN(), 3});
  for (const auto& correlation : {pearson, spearman}) {
    CHECK(std::isnan(correlation(constant, rising)));
    CHECK(std::isnan(correlation(rising, constant)));
    CHECK(std::isnan(correlation(rising, unknown)));
  }
  CHECK(std::isnan(mean_squared_error(rising, unknown)));
}

TEST_CASE("correlations refuse what are no two lists of one length", "[metrics]") {
  const Tensor three = ones({3});
  for (const auto& metric : {pearson, spearman, mean_squared_error}) {
    CHECK_THROWS_AS(metric(three, ones({4})), ShapeError);
    CHECK_THROWS_AS(metric(ones({1, 3}), ones({1, 3})), ShapeError);
    CHECK_THROWS_AS(metric(zeros({0}), zeros({0})), ShapeError);
    CHECK_THROWS_AS(metric(Tensor(), three), ShapeError);
  }
}
