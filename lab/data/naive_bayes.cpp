#include "data/naive_bayes.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

NaiveBayes::NaiveBayes(const std::vector<Sentence>& sentences, Index classes) {
  expect<ArgumentError>(classes >= 1, "naive_bayes: needs classes: {}", classes);
  std::vector<double> examples(classes);
  words_.resize(classes);
  for (const auto& [label, words] : sentences) {
    expect<ArgumentError>(0 <= label && label < classes, "naive_bayes: label {} of {} classes",
                          label, classes);
    ++examples[label];
    words_[label] += words.size();
    for (const std::string& word : words) ++counts_.try_emplace(word, classes).first->second[label];
  }
  for (const double each : examples) priors_.push_back(std::log(each / sentences.size()));
}

std::vector<double> NaiveBayes::scores(const Sentence& sentence) const {
  const double distinct = counts_.size();
  std::vector<double> scores = priors_;
  for (const std::string& word : sentence.words)
    if (const auto seen = counts_.find(word); seen != counts_.end())
      for (std::size_t i = 0; i < scores.size(); ++i)
        scores[i] += std::log((seen->second[i] + 1) / (words_[i] + distinct));
  return scores;
}

Index NaiveBayes::classify(const Sentence& sentence) const {
  const std::vector<double> found = scores(sentence);
  return std::max_element(found.begin(), found.end()) - found.begin();
}

Index majority(const std::vector<Sentence>& sentences) {
  expect<ArgumentError>(!sentences.empty(), "majority: there are no sentences");
  std::map<Index, Index> counts;
  for (const Sentence& sentence : sentences) ++counts[sentence.label];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
