#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/books.h"
#include "data/probe_sets.h"
#include "data/shuffled_epochs.h"
#include "problems/problem.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/zoo/skip_thoughts.h"

/// Vectors of sentences, which predict what stands before and after: skip-thoughts (Kiros et al.
/// 2015), as in Ba et al. 2016, section 6.3.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// Triplets side by side, each sentence with a 0 at its end.
struct TripletBatch {
  SentenceBatch previous, current, next;

  TripletBatch(const Vocabulary& vocabulary, std::span<const support::Triplet> triplets);
  Index rows() const { return current.lengths.size(); }
  /// The number of words to predict: the sentences before and after, with their ends.
  Index words() const;
  /// The triplets [begin, end).
  TripletBatch part(Index begin, Index end) const;
};

/// All triplets in batches of at most `size`, each with current sentences of one length. `order`,
/// if given, shuffles batches and triplets.
std::vector<TripletBatch> triplet_batches(const std::vector<support::Triplet>& triplets,
                                          const Vocabulary& vocabulary, Index size,
                                          Random* order = nullptr);

/// The loss of the triplets of a shard, weighted so that the mean over the triplets of all shards
/// is that over the words of the batch.
Tensor triplet_loss(const SkipThoughts& net, const TripletBatch& batch, const Shard& shard);

/// The mean of -log p over the words before and after, in nats. The processes of a cluster share
/// the batches.
double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                Cluster& cluster);
/// Computes it in one process alone.
double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches);
/// The loss per word if each decoder begins with the vector of another sentence of its batch. The
/// difference measures the information of vectors about neighbours.
double strange_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                   Cluster& cluster);
/// The loss per word of the frequencies of words beside the triplets to train on, with add-one
/// smoothing: a baseline without sentences.
double frequency_nll(const support::TripletSets& sets, const Vocabulary& vocabulary);

/// The vectors of sentences, in their order: (N, H). Throws DataError for one of more than 1,000
/// words.
Tensor sentence_vectors(const SkipThoughts& net, const Vocabulary& vocabulary,
                        const std::vector<support::Words>& sentences);

/// A sentence, by its number, and the cosine of its vector and a query's.
struct Neighbour {
  Index sentence;
  double cosine;
};
/// The sentences nearest to a query, the nearest first.
///   vectors: (N, H)   query: (H)
std::vector<Neighbour> nearest(const Tensor& vectors, const Tensor& query, Index most);

/// Stories from books, or drawn ones.
support::TripletSets book_triplets(const Origin& origin);

class SkipThoughtsTrainee : public Trainee {
 public:
  SkipThoughtsTrainee(const support::TripletSets& sets, const Vocabulary& vocabulary,
                      const SkipThoughtsOptions& options, Index batch_size, std::uint64_t seed,
                      Random& random);

  const SkipThoughts& encoder() const { return net_; }
  const std::vector<TripletBatch>& validation_batches() const { return validation_; }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).rows(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  /// Enters the value "frequencies", the validation loss of the frequencies of words alone.
  void test(lab::Outcome& outcome) override;

 protected:
  const support::TripletSets& sets_;
  const Vocabulary& vocabulary_;

 private:
  SkipThoughts net_;
  std::vector<TripletBatch> validation_;
  support::ShuffledEpochs<TripletBatch> batches_;
};

/// The sizes of the paper's task: fewer words, units and updates than there.
struct SkipThoughtsSizes {
  Index vocabulary = 4000, words = 100, hidden = 256;
  Index batch_size = 64;
  Index steps = 1200;
  Index eval_interval = 100;
  Index look = 400;  ///< steps between two looks by probes; a multiple of `eval_interval`
  double rate = 5e-4;
  double seconds = 280;
};

/// Skip-thoughts on books, judged by probes. Curves and validations are in nats per word. "test" is
/// the mean of what the probes find, in percent: 100 r of SICK, and the accuracies of four
/// classifications. "test_r", "test_rho" and "test_MSE" belong to SICK, and "test_MR" and so on are
/// the accuracies, "test_MPQA_together" of MPQA with equal phrases in one fold. "untrained"
/// and "untrained_r" ... are the same of the net before its training, and the traces "probed" and
/// "probed_r" ... what probes find in it at step 0 and at each look.
Problem skip_thoughts_problem(const support::TripletSets& sets, const support::ProbeSets& probes,
                              const SkipThoughtsSizes& sizes = {});
/// The small size has probes of drawn sentences, whatever the books are.
Problem skip_thoughts_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
