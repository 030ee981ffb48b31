#include "support/triplet_task.h"

#include <algorithm>
#include <map>
#include <numbers>
#include <numeric>

#include "support/ngrams.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/data/examples.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/order.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

SentenceBatch column(const Vocabulary& vocabulary, std::span<const Triplet> triplets,
                     Words Triplet::*which) {
  std::vector<Words> sentences;
  for (const Triplet& triplet : triplets) sentences.push_back(triplet.*which);
  return ended_batch(vocabulary, sentences);
}

SentenceBatch part_of(const SentenceBatch& batch, Index begin, Index end) {
  return {part(batch.words, begin, end), part(batch.lengths, begin, end), {}};
}

Index sum_of(const Indices& lengths) {
  return std::accumulate(lengths.values().begin(), lengths.values().end(), Index{0});
}

// The sum over the words of some batches of a loss that is a mean over the words of one, and the
// number of these words.
template <class Loss>
std::vector<double> sum_over_words(std::span<const TripletBatch> batches, const Loss& loss) {
  double total = 0, words = 0;
  for (const TripletBatch& batch : batches) {
    const auto count = static_cast<double>(batch.words());
    total += count * static_cast<double>(loss(batch).item());
    words += count;
  }
  return {total, words};
}

template <class Loss>
double mean_over_words(const std::vector<TripletBatch>& batches, Cluster& cluster,
                       const Loss& loss) {
  const auto sums = cluster.sums(static_cast<Index>(batches.size()), 2, [&](const Shard& shard) {
    return sum_over_words(std::span(batches).subspan(static_cast<std::size_t>(shard.begin),
                                                     static_cast<std::size_t>(shard.count())),
                          loss);
  });
  return sums[0] / sums[1];
}

auto loss_of(const SkipThoughts& net) {
  return [&](const TripletBatch& batch) {
    return net.loss(batch.previous, batch.current, batch.next);
  };
}

// Each sentence in the place of the one before it, and the first behind the last.
SentenceBatch rotated(const SentenceBatch& batch) {
  std::vector<Index> order;
  for (Index i = 0; i < batch.lengths.size(); ++i) order.push_back((i + 1) % batch.lengths.size());
  return {take_rows(batch.words, order), take_rows(batch.lengths, order), {}};
}

// The words beside the current sentences, with a 0 at the end of each sentence.
Indices told(const std::vector<Triplet>& triplets, const Vocabulary& vocabulary) {
  std::vector<Index> numbers;
  for (const Triplet& triplet : triplets)
    for (const Words* words : {&triplet.previous, &triplet.next}) {
      for (const std::string& word : *words) numbers.push_back(vocabulary.number(word));
      numbers.push_back(0);
    }
  return Indices({static_cast<Index>(numbers.size())}, numbers);
}

}  // namespace

TripletBatch::TripletBatch(const Vocabulary& vocabulary, std::span<const Triplet> triplets)
    : previous(column(vocabulary, triplets, &Triplet::previous)),
      current(column(vocabulary, triplets, &Triplet::current)),
      next(column(vocabulary, triplets, &Triplet::next)) {}

Index TripletBatch::words() const { return sum_of(previous.lengths) + sum_of(next.lengths); }

TripletBatch TripletBatch::part(Index begin, Index end) const {
  TripletBatch result = *this;
  for (SentenceBatch* each : {&result.previous, &result.current, &result.next})
    *each = part_of(*each, begin, end);
  return result;
}

std::vector<TripletBatch> triplet_batches(const std::vector<Triplet>& triplets,
                                          const Vocabulary& vocabulary, Index size, Random* order) {
  std::vector<Index> places(triplets.size());
  std::iota(places.begin(), places.end(), 0);
  if (order != nullptr)
    std::ranges::copy(order->permutation(static_cast<Index>(places.size())).values(),
                      places.begin());
  std::map<std::size_t, std::vector<Triplet>> by_length;
  for (const Index i : places) {
    const Triplet& triplet = triplets[static_cast<std::size_t>(i)];
    by_length[triplet.current.size()].push_back(triplet);
  }
  std::vector<TripletBatch> batches;
  for (const auto& [length, all] : by_length)
    for (std::size_t begin = 0; begin < all.size(); begin += static_cast<std::size_t>(size))
      batches.emplace_back(
          vocabulary, std::span(all).subspan(
                          begin, std::min(static_cast<std::size_t>(size), all.size() - begin)));
  if (order == nullptr) return batches;
  std::vector<TripletBatch> result;
  for (const Index i : order->permutation(static_cast<Index>(batches.size())).values())
    result.push_back(batches[static_cast<std::size_t>(i)]);
  return result;
}

Tensor triplet_loss(const SkipThoughts& net, const TripletBatch& batch, const Shard& shard) {
  const TripletBatch own = batch.part(shard.begin, shard.end);
  const double weight = static_cast<double>(own.words()) / static_cast<double>(batch.words()) *
                        (static_cast<double>(batch.rows()) / static_cast<double>(own.rows()));
  return net.loss(own.previous, own.current, own.next) * weight;
}

double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                Cluster& cluster) {
  return mean_over_words(batches, cluster, loss_of(net));
}

double word_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches) {
  const std::vector<double> sums = sum_over_words(std::span(batches), loss_of(net));
  return sums[0] / sums[1];
}

double strange_nll(const SkipThoughts& net, const std::vector<TripletBatch>& batches,
                   Cluster& cluster) {
  return mean_over_words(batches, cluster, [&](const TripletBatch& batch) {
    return net.loss(batch.previous, rotated(batch.current), batch.next);
  });
}

double frequency_nll(const TripletSets& sets, const Vocabulary& vocabulary) {
  return std::numbers::ln2 * unigram_bits(told(sets.train, vocabulary),
                                          told(sets.validation, vocabulary), vocabulary.count());
}

Tensor sentence_vectors(const SkipThoughts& net, const Vocabulary& vocabulary,
                        const std::vector<Words>& sentences) {
  constexpr std::size_t most = 64;  // at a time
  constexpr std::size_t most_words = 1000;
  for (const Words& sentence : sentences)
    expect<DataError>(sentence.size() <= most_words,
                      "a sentence has {} words; vectors are made of at most {}", sentence.size(),
                      most_words);
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sentences[i].size(); });
  std::vector<Tensor> vectors;
  for (std::size_t begin = 0; begin < order.size(); begin += most) {
    std::vector<Words> chosen;
    for (std::size_t i = begin; i < std::min(begin + most, order.size()); ++i)
      chosen.push_back(sentences[order[i]]);
    vectors.push_back(net.vectors(ended_batch(vocabulary, chosen)));
  }
  Indices places = Indices::uninitialized({static_cast<Index>(order.size())});
  for (std::size_t i = 0; i < order.size(); ++i)
    places.mutable_data()[order[i]] = static_cast<Index>(i);
  return index_select(concat(vectors), 0, places);
}

std::vector<Neighbour> nearest(const Tensor& vectors, const Tensor& query, Index most) {
  const Tensor cosines = matmul(l2_normalize(vectors), l2_normalize(query));
  const Indices order = argsort(-cosines);
  std::vector<Neighbour> found;
  for (Index i = 0; i < std::min(most, order.size()); ++i)
    found.push_back({order.data()[i], cosines.data()[order.data()[i]]});
  return found;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
