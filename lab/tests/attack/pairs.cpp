// Pairs of sentences: they survive writing and reading again, and a score is the mean of its label.

#include <fmt/format.h>

#include <cmath>

#include "attack.h"
#include "data/probe_sets.h"
#include "data/probes.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<support::SentencePair>& pairs) {
  std::string text = "\n";
  for (const auto& [first, second, score] : pairs)
    text += fmt::format("\t{}\t{}\t{}\t\n", fmt::join(first, " "), fmt::join(second, " "), score);
  return text;
}

}  // namespace

void attack(std::string_view input) {
  const File file(input, File::Kind::mapped);
  const std::vector<support::SentencePair> pairs = support::read_pairs(file.path());
  const File again(written(pairs));
  expect_property(written(support::read_pairs(again.path())) == written(pairs),
                  "pairs survive writing");
  for (const support::SentencePair& pair : pairs) {
    const std::vector<double> label = support::soft_label(pair.score);
    double mean = 0;
    for (std::size_t i = 0; i < label.size(); ++i) mean += static_cast<double>(i + 1) * label[i];
    expect_property(std::abs(mean - pair.score) < 1e-9, "a score is the mean of its label");
  }
}

}  // namespace tapegrad::attack
