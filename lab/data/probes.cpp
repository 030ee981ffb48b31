#include "data/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "data/naive_bayes.h"
#include "data/probe_classifier.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/metrics/correlation.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index score_count = 5;
constexpr int name_width = 32;

// Gives equal sentences the same number.
Indices numbered(const std::vector<Sentence>& sentences) {
  std::map<Words, Index> numbers;
  std::vector<Index> result;
  for (const Sentence& sentence : sentences)
    result.push_back(numbers.try_emplace(sentence.words, std::ssize(numbers)).first->second);
  return Indices({std::ssize(result)}, result);
}

std::vector<Fold> ten_folds(const ClassifiedSentences& set, Copies copies = Copies::apart) {
  const Random random = Random(1).stream(78);
  return copies == Copies::together ? make_folds_of_groups(numbered(set.sentences), 10, random)
                                    : make_folds(std::ssize(set.sentences), 10, random);
}

Indices labels_of(const ClassifiedSentences& set) {
  std::vector<Index> labels;
  for (const Sentence& sentence : set.sentences) labels.push_back(sentence.label);
  return Indices({std::ssize(labels)}, labels);
}

Classification judged(const ClassifiedSentences& set, const Indices& guesses) {
  Classification result{set.name, {}};
  for (std::size_t i = 0; i < set.sentences.size(); ++i)
    result.right.push_back(guesses.data()[i] == set.sentences[i].label);
  return result;
}

std::vector<double> scores_of(const std::vector<SentencePair>& pairs) {
  std::vector<double> scores;
  for (const SentencePair& pair : pairs) scores.push_back(pair.score);
  return scores;
}

Tensor list(const std::vector<double>& values) {
  return Tensor({std::ssize(values)}, std::vector<real>(values.begin(), values.end()));
}

// |u - v| and u * v of each pair: (N, 2 D)
Tensor pair_features(const std::vector<SentencePair>& pairs, const SentenceEncoder& encode) {
  std::vector<Words> first, second;
  for (const SentencePair& pair : pairs) {
    first.push_back(pair.first);
    second.push_back(pair.second);
  }
  const Tensor u = encode(first), v = encode(second);
  return concat({abs(u - v), u * v}, -1);
}

Tensor soft_labels(const std::vector<SentencePair>& pairs) {
  std::vector<real> rows;
  for (const SentencePair& pair : pairs)
    std::ranges::copy(soft_label(pair.score), std::back_inserter(rows));
  return Tensor({std::ssize(pairs), score_count}, rows);
}

Tensor expected_scores(const Linear& net, const Tensor& features) {
  return matmul(softmax(net(features)), arange(score_count) + 1);
}

// The share of words that both sentences have, of all that one of them has.
std::vector<double> overlaps(const std::vector<SentencePair>& pairs) {
  std::vector<double> result;
  for (const auto& [first, second, score] : pairs) {
    const std::set<std::string> a(first.begin(), first.end()), b(second.begin(), second.end());
    const double common =
        std::ranges::count_if(a, [&](const std::string& word) { return b.contains(word); });
    const double all = a.size() + b.size() - common;
    result.push_back(all == 0 ? 0 : common / all);
  }
  return result;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

// The linear function of x that is nearest to y, at `at`.
Tensor least_squares(const std::vector<double>& x, const std::vector<double>& y,
                     std::vector<double> at) {
  const double mean_x = mean_of(x), mean_y = mean_of(y);
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double slope = xx == 0 ? 0 : xy / xx;
  for (double& each : at) each = mean_y + slope * (each - mean_x);
  return list(at);
}

}  // namespace

Relatedness::Relatedness(const Tensor& guessed, const std::vector<SentencePair>& pairs)
    : guesses(guessed) {
  const Tensor right = list(scores_of(pairs));
  pearson = tapegrad::pearson(guesses, right);
  spearman = tapegrad::spearman(guesses, right);
  mean_squared_error = tapegrad::mean_squared_error(guesses, right);
}

double Classification::accuracy() const {
  return static_cast<double>(std::ranges::count(right, true)) / right.size();
}

std::vector<double> soft_label(double score) {
  std::vector<double> weights(score_count, 0);
  const double below = std::floor(score);
  weights[static_cast<std::size_t>(below) - 1] = 1 - (score - below);
  if (score > below) weights[static_cast<std::size_t>(below)] = score - below;
  return weights;
}

Relatedness probe_relatedness(const ProbeSets& sets, const SentenceEncoder& encode) {
  constexpr int patience = 5;  // epochs
  const Tensor raw = pair_features(sets.train, encode);
  const Scaler scaler(raw);
  const Tensor validation = scaler(pair_features(sets.validation, encode)),
               test = scaler(pair_features(sets.test, encode)),
               right = list(scores_of(sets.validation));
  const Examples train(scaler(raw), soft_labels(sets.train));
  Random random = Random(1).stream(80);
  const Linear net(raw.shape()[1], score_count, random);
  EpochBatches batches(train, 64, 1);
  Adam adam(parameters(net), {.learning_rate = 1e-3});
  double best = -std::numeric_limits<double>::infinity();
  Tensor guesses = expected_scores(net, test);
  for (Index epoch = 0, last_rise = 0; epoch - last_rise <= patience; ++epoch) {
    for (Index i = 0; i < batches.per_epoch(); ++i) {
      const auto& [x, y] = batches.at(epoch * batches.per_epoch() + i);
      const Tape tape;
      adam.step(grad(cross_entropy(net(x), y), adam.parameters()));
    }
    const double found = pearson(expected_scores(net, validation), right);
    if (!(found > best)) continue;
    best = found;
    last_rise = epoch;
    guesses = expected_scores(net, test);
  }
  return {guesses, sets.test};
}

Classification probe_classes(const ClassifiedSentences& set, const SentenceEncoder& encode,
                             Copies copies) {
  std::vector<Words> sentences;
  for (const Sentence& sentence : set.sentences) sentences.push_back(sentence.words);
  const Tensor vectors = encode(sentences);
  const Indices labels = labels_of(set);
  return judged(set, cross_validated(ten_folds(set, copies), logistic_guess(vectors, labels)));
}

ProbeResults probe(const std::string& system, const ProbeSets& sets,
                   const SentenceEncoder& encode) {
  ProbeResults results{system, probe_relatedness(sets, encode), {}};
  for (const ClassifiedSentences& set : sets.classified)
    results.classified.push_back(probe_classes(set, encode));
  return results;
}

SentenceEncoder mean_of_words(const SkipThoughts& net, const Vocabulary& vocabulary) {
  return [&](const std::vector<Words>& sentences) {
    std::vector<Tensor> rows;
    for (const Words& words : sentences) {
      std::vector<Index> numbers;
      for (const std::string& word : words) numbers.push_back(vocabulary.number(word));
      rows.push_back(words.empty() ? zeros({net.words.weight.shape()[1]})
                                   : mean(net.words(Indices({std::ssize(numbers)}, numbers)), 0));
    }
    return stack(rows);
  };
}

ProbeResults majority_baseline(const ProbeSets& sets) {
  const double mean = mean_of(scores_of(sets.train));
  ProbeResults results{
      "the most frequent", Relatedness(full({std::ssize(sets.test)}, mean), sets.test), {}};
  for (const ClassifiedSentences& set : sets.classified) {
    const Indices labels = labels_of(set);
    Indices guesses = Indices::uninitialized(labels.shape());
    std::fill_n(guesses.mutable_data(), guesses.size(), majority(set.sentences));
    results.classified.push_back(judged(set, guesses));
  }
  return results;
}

ProbeResults naive_bayes_baseline(const ProbeSets& sets, const Vocabulary* vocabulary) {
  ProbeResults results{
      vocabulary == nullptr ? "naive Bayes" : "naive Bayes, the net's words", {}, {}};
  for (ClassifiedSentences set : sets.classified) {
    if (vocabulary != nullptr)
      for (Sentence& sentence : set.sentences)
        std::erase_if(sentence.words, [&](const std::string& word) {
          return vocabulary->number(word) == vocabulary->number("");
        });
    const auto guess = [&](const Indices& train, const Indices& test) {
      std::vector<Sentence> known;
      for (const Index i : train.values()) known.push_back(set.sentences[i]);
      const NaiveBayes bayes(known, 2);
      Indices guesses = Indices::uninitialized(test.shape());
      for (Index i = 0; i < test.size(); ++i)
        guesses.mutable_data()[i] = bayes.classify(set.sentences[test.data()[i]]);
      return guesses;
    };
    results.classified.push_back(judged(set, cross_validated(ten_folds(set), guess)));
  }
  return results;
}

ProbeResults overlap_baseline(const ProbeSets& sets) {
  return {
      "words in common",
      Relatedness(least_squares(overlaps(sets.train), scores_of(sets.train), overlaps(sets.test)),
                  sets.test),
      {}};
}

std::string probe_heading(const ProbeSets& sets) {
  std::string line = fmt::format("{:<{}} {:>6} {:>6} {:>6}", "", name_width, "r", "rho", "MSE");
  for (const ClassifiedSentences& set : sets.classified) line += fmt::format(" {:>6}", set.name);
  return line + "\n";
}

std::string probe_line(const ProbeResults& results) {
  std::string line = fmt::format("{:<{}}", results.system, name_width);
  if (results.relatedness) {
    const auto& [guesses, r, rho, error] = *results.relatedness;
    for (const double each : {r, rho, error})
      line += std::isnan(each) ? fmt::format(" {:>6}", "-") : fmt::format(" {:6.3f}", each);
  } else {
    line += fmt::format(" {:>6} {:>6} {:>6}", "-", "-", "-");
  }
  for (const Classification& each : results.classified)
    line += fmt::format(" {:6.1f}", 100 * each.accuracy());
  return line + "\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
