#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/books.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/zoo/skip_thoughts.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Triplets side by side, each sentence with a 0 at its end.
struct TripletBatch {
  SentenceBatch previous, current, next;

  TripletBatch(const Vocabulary& vocabulary, std::span<const Triplet> triplets);
  Index rows() const { return current.lengths.size(); }
  /// Those of the sentences before and after, which are to be told, with their ends.
  Index words() const;
  /// The triplets [begin, end).
  TripletBatch part(Index begin, Index end) const;
};

/// All triplets in batches of at most `size`, each with current sentences of one length. `order`,
/// if given, shuffles batches and triplets.
std::vector<TripletBatch> triplet_batches(const std::vector<Triplet>& triplets,
                                          const Vocabulary& vocabulary, Index size,
                                          Random* order = nullptr);

/// The loss of the triplets of a shard, weighted so that the mean over the triplets of all shards
/// is that over the words of the batch.
Tensor triplet_loss(const SkipThoughts& net, const TripletBatch& batch, const Shard& shard);

/// The mean of -log p over the words before and after, in nats. The processes of a cluster share
/// the batches.
double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                Cluster& cluster);
/// The same by one process alone.
double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches);
/// The same where each decoder begins with the vector of another sentence of its batch. What it
/// loses is what vectors tell about neighbours.
double strange_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                   Cluster& cluster);
/// The same for the frequencies of words beside the triplets to train on, with add-one smoothing. A
/// baseline that sees no sentence.
double frequency_nll(const TripletSets& sets, const Vocabulary& vocabulary);

/// The vectors of sentences, in their order: (N, H). Throws DataError for one of more than 1,000
/// words.
Tensor sentence_vectors(const SkipThoughts& net, const Vocabulary& vocabulary,
                        const std::vector<Words>& sentences);

/// A sentence, by its number, and the cosine of its vector and that of a query.
struct Neighbour {
  Index sentence;
  double cosine;
};
/// The sentences nearest to a query, the nearest first.
///   vectors: (N, H)   query: (H)
std::vector<Neighbour> nearest(const Tensor& vectors, const Tensor& query, Index most);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
