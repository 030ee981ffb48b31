#include "tapegrad/nn/metrics/bleu.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/golden_file.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

using Sentences = std::vector<std::string>;

nlohmann::json golden_bleu() {
  std::ifstream file(testing::golden_file("bleu.json"));
  return nlohmann::json::parse(file);
}

}  // namespace

TEST_CASE("words are cut as by sacreBLEU", "[metrics]") {
  const auto lines = golden_bleu().at("words");
  CHECK(lines.size() > 20);
  for (const auto& line : lines) {
    INFO(line.at(0));
    CHECK(bleu_words(line.at(0).get<std::string>()) == line.at(1).get<Sentences>());
  }
}

TEST_CASE("BLEU is sacreBLEU's", "[metrics]") {
  const auto all = golden_bleu();
  for (const auto& [name, corpus] : all.at("corpora").items()) {
    INFO(name);
    CHECK(bleu(corpus.at("translations").get<Sentences>(),
               corpus.at("references").get<Sentences>()) ==
          Approx(corpus.at("bleu").get<double>()).epsilon(0).margin(1e-9));
  }
  const auto pairs = all.at("corpora").at("pairs");
  REQUIRE(all.at("sentences").size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto translation = pairs.at("translations").at(i).get<std::string>(),
               reference = pairs.at("references").at(i).get<std::string>();
    INFO(translation << "\n" << reference);
    CHECK(bleu(bleu_counts(translation, reference)) ==
          Approx(all.at("sentences").at(i).get<double>()).epsilon(0).margin(1e-9));
  }
}

TEST_CASE("an n-gram matches as often as the reference has it", "[metrics]") {
  const BleuCounts counts = bleu_counts("the the the cat", "the cat the");
  CHECK(counts.matches == std::array<Index, bleu_order>{3, 1, 0, 0});
  CHECK(counts.total == std::array<Index, bleu_order>{4, 3, 2, 1});
  CHECK(counts.length == 4);
  CHECK(counts.reference_length == 3);
}

TEST_CASE("BLEU needs a reference for each translation, and some words", "[metrics]") {
  CHECK_THROWS_WITH(bleu(Sentences{"a"}, Sentences{}),
                    Contains("bleu: 1 translations have 0 references"));
  CHECK(bleu(Sentences{}, Sentences{}) == 0);
}
