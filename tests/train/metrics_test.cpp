#include "tapegrad/train/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/train/json.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("metrics keep their order and the kinds of their values") {
  Metrics metrics{{"step", 5}, {"loss", 5.0}, {"sample", "a text"}};
  metrics["rate"] = 0.1F;
  metrics["step"] = 6;
  CHECK(Json(metrics).dump() ==
        R"({"step":6,"loss":5.0,"sample":"a text","rate":0.10000000149011612})");
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  CHECK(names == std::vector<std::string>{"step", "loss", "sample", "rate"});
}

TEST_CASE("metrics replace values of the same name where they stand") {
  Metrics metrics{{"a", 1}, {"b", 2}, {"a", 3}};
  metrics.update({{"c", "x"}, {"b", 2.5}});
  CHECK(Json(metrics).dump() == R"({"a":3,"b":2.5,"c":"x"})");
}

TEST_CASE("metrics without values are an empty object") {
  const Metrics metrics;
  CHECK(metrics.empty());
  CHECK_FALSE(metrics.contains("loss"));
  CHECK(Json(metrics).dump() == "{}");
}

TEST_CASE("metrics that are not finite are null in logs") {
  const Json written = Metrics{{"a", NAN}, {"b", INFINITY}};
  CHECK(written.dump() == R"({"a":null,"b":null})");
}

TEST_CASE("metrics report which number is missing") {
  const Metrics metrics{{"whole", 2}, {"real", 0.5}, {"text", "0.5"}};
  CHECK(metrics.number("whole") == 2);
  CHECK(metrics.number("real") == 0.5);
  CHECK(std::get<std::string>(metrics.at("text")) == "0.5");
  CHECK_THROWS_WITH(metrics.number("text"), Contains("text is a text, not a number"));
  CHECK_THROWS_WITH(metrics.number("loss"), Contains("there is no loss"));
  CHECK_THROWS_WITH(metrics.at("loss"), Contains("there is no loss"));
}
