#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/sentence_sets.h"
#include "data/shuffled_epochs.h"
#include "problems/problem.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/models/transformer.h"

/// Sentences to classify, by a Transformer encoder, as in Xu et al. 2019, section 2.2.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The shape of a Transformer encoder that classifies sentences. The defaults follow Xu et
/// al. 2019, section 2.2; heads are not stated there.
struct SentenceNet {
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index hidden = 128;
  double dropout = 0.2;

  TransformerModelOptions model() const;
};

class SentenceTrainee : public Trainee {
 public:
  /// The vocabulary comes from the training part.
  SentenceTrainee(std::shared_ptr<const support::SentenceSets> sets, const SentenceNet& net,
                  Index batch_tokens, std::uint64_t seed, Random& random);

  const TransformerClassifier& classifier() const { return net_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  std::vector<SentenceBatch> batches(const std::vector<Sentence>& sentences) const {
    return sentence_batches(sentences, vocabulary_, batch_tokens_);
  }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).labels.size(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;

 private:
  std::shared_ptr<const support::SentenceSets> sets_;
  Index batch_tokens_;
  Vocabulary vocabulary_;
  TransformerClassifier net_;
  support::ShuffledEpochs<SentenceBatch> batches_;
};

/// The sizes of the paper's tasks; the defaults are the paper's.
struct SentenceSizes {
  SentenceNet net = {};
  Index batch_tokens = 4096;
  Index epochs = 10;
  double rate = 1e-3;
  double seconds = 60;
};

/// Items are 100 for a right answer, 0 for a wrong one.
Problem sentence_problem(const support::SentenceSets& sets, const SentenceSizes& sizes = {});
/// `rt` or `sst5`.
Problem sentence_problem(const std::string& task, const Origin& origin, Size size);

/// Repeats the problem on other splits of the sentences into training, validation and test: a run
/// with seed K has split 1 + K, since `sentence_problem` has split 1. Baselines are means over the
/// first five of these splits.
Problem split_problem(const std::function<support::SentenceSets(std::uint64_t split)>& sets,
                      const SentenceSizes& sizes = {});
Problem split_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
