#include "problems/skip_thoughts.h"

#include <algorithm>
#include <numbers>
#include <numeric>

#include "data/ngrams.h"
#include "data/probes.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;
using Values = std::map<std::string, double>;

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
    const double count = batch.words();
    total += count * loss(batch).item();
    words += count;
  }
  return {total, words};
}

template <class Loss>
double mean_over_words(const std::vector<TripletBatch>& batches, Cluster& cluster,
                       const Loss& loss) {
  const auto sums = cluster.sums(std::ssize(batches), 2, [&](const Shard& shard) {
    return sum_over_words(std::span(batches).subspan(shard.begin, shard.count()), loss);
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
Indices neighbor_words(const std::vector<Triplet>& triplets, const Vocabulary& vocabulary) {
  std::vector<Index> numbers;
  for (const Triplet& triplet : triplets)
    for (const Words* words : {&triplet.previous, &triplet.next}) {
      for (const std::string& word : *words) numbers.push_back(vocabulary.number(word));
      numbers.push_back(0);
    }
  return Indices({std::ssize(numbers)}, numbers);
}

// What all runs on these books share.
struct SkipThoughtsData {
  TripletSets sets;
  ProbeSets probes;
  SkipThoughtsSizes sizes;
  Vocabulary vocabulary;

  SkipThoughtsData(const TripletSets& books, const ProbeSets& judges, const SkipThoughtsSizes& o)
      : sets(books),
        probes(judges),
        sizes(o),
        vocabulary(Vocabulary::most_frequent(sets.counts, o.vocabulary)) {}

  SkipThoughtsOptions model(const std::string& norm) const {
    return {.words = sizes.words, .hidden = sizes.hidden, .norm = NormSpec(norm)};
  }
  SentenceEncoder encoder(const SkipThoughts& net) const {
    return [&](const std::vector<Words>& sentences) {
      return sentence_vectors(net, vocabulary, sentences);
    };
  }
};

// What probes find, each under a name that begins with `prefix`, and the mean of 100 r and the
// accuracies as `prefix`.
Values named(const std::string& prefix, const ProbeResults& found) {
  const Relatedness& pairs = *found.relatedness;
  Values values{{prefix + "_r", pairs.pearson},
                {prefix + "_rho", pairs.spearman},
                {prefix + "_MSE", pairs.mean_squared_error}};
  RunningMean mean;
  mean.add(100 * pairs.pearson);
  for (const Classification& each : found.classified) {
    values[fmt::format("{}_{}", prefix, each.name)] = 100 * each.accuracy();
    mean.add(100 * each.accuracy());
  }
  values[prefix] = mean.value();
  return values;
}

// Enters what probes find in the tested state, and before the run as the first points of what
// they found while it went on.
void enter_probes(Outcome& outcome, const ProbeResults& tested, const ProbeResults& untrained) {
  outcome.values.merge(named("test", tested));
  outcome.values.merge(named("untrained", untrained));
  for (const auto& [name, value] : named("probed", untrained)) {
    lab::RunTrace& trace = outcome.traces[name];
    trace.emplace(trace.begin(), 0, value);
  }
}

// The accuracy on MPQA, in percent, if no phrase is tested after training on a copy of it: of
// 10,606 phrases, 8,241 differ.
double without_copies(const ProbeSets& sets, const SentenceEncoder& encode) {
  const auto set = std::ranges::find(sets.classified, "MPQA", &ClassifiedSentences::name);
  return 100 * probe_classes(*set, encode, Copies::together).accuracy();
}

class ProbedTrainee : public SkipThoughtsTrainee {
 public:
  ProbedTrainee(const SkipThoughtsData& data, const lab::TaskTrial& trial, Random& random)
      : SkipThoughtsTrainee(data.sets, data.vocabulary, data.model(trial.setting.norm),
                            data.sizes.batch_size, trial.trial.seed, random),
        data_(data),
        trial_(trial) {}

  Validation validate() override {
    Validation found = SkipThoughtsTrainee::validate();
    steps_ += data_.sizes.eval_interval;
    if (trial_.tested && steps_ % data_.sizes.look == 0)
      found.traced = named("probed", probed(encoder()));
    return found;
  }

  void test(Outcome& outcome) override {
    SkipThoughtsTrainee::test(outcome);
    Random random = trial_.trial.weights();
    const SkipThoughts untrained(vocabulary_.count(), random, data_.model(trial_.setting.norm));
    enter_probes(outcome, probed(encoder()), probed(untrained));
    outcome.values["test_MPQA_together"] = without_copies(data_.probes, data_.encoder(encoder()));
    outcome.values["untrained_MPQA_together"] =
        without_copies(data_.probes, data_.encoder(untrained));
  }

 private:
  ProbeResults probed(const SkipThoughts& net) const {
    return probe(trial_.setting.norm, data_.probes, data_.encoder(net));
  }

  const SkipThoughtsData& data_;
  lab::TaskTrial trial_;
  Index steps_ = 0;
};

// All that words in common show, and how often the net's words stand in a class.
Outcome judge_by_words(const SkipThoughtsData& data) {
  ProbeResults found = naive_bayes_baseline(data.probes, &data.vocabulary);
  found.relatedness = overlap_baseline(data.probes).relatedness;
  return {.values = named("test", found)};
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
    std::ranges::copy(order->permutation(std::ssize(places)).values(), places.begin());
  std::map<std::size_t, std::vector<Triplet>> by_length;
  for (const Index i : places) {
    const Triplet& triplet = triplets[i];
    by_length[triplet.current.size()].push_back(triplet);
  }
  std::vector<TripletBatch> batches;
  for (const auto& [length, all] : by_length)
    for (std::size_t begin = 0; begin < all.size(); begin += size) {
      const std::size_t count = std::min<std::size_t>(size, all.size() - begin);
      batches.emplace_back(vocabulary, std::span(all).subspan(begin, count));
    }
  if (order == nullptr) return batches;
  std::vector<TripletBatch> result;
  for (const Index i : order->permutation(std::ssize(batches)).values())
    result.push_back(batches[i]);
  return result;
}

Tensor triplet_loss(const SkipThoughts& net, const TripletBatch& batch, const Shard& shard) {
  const TripletBatch own = batch.part(shard.begin, shard.end);
  const double weight = static_cast<double>(own.words()) / batch.words() *
                        (static_cast<double>(batch.rows()) / own.rows());
  named(own.previous.words, "previous");
  named(own.current.words, "current");
  named(own.next.words, "next");
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
  return std::numbers::ln2 * unigram_bits(neighbor_words(sets.train, vocabulary),
                                          neighbor_words(sets.validation, vocabulary),
                                          vocabulary.count());
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
  Indices places = Indices::uninitialized({std::ssize(order)});
  for (std::size_t i = 0; i < order.size(); ++i) places.mutable_data()[order[i]] = i;
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

TripletSets book_triplets(const Origin& origin) {
  return origin.is_drawn() ? draw_triplet_sets(origin.seed) : read_triplet_sets(origin.directory);
}

SkipThoughtsTrainee::SkipThoughtsTrainee(const TripletSets& sets, const Vocabulary& vocabulary,
                                         const SkipThoughtsOptions& options, Index batch_size,
                                         std::uint64_t seed, Random& random)
    : sets_(sets),
      vocabulary_(vocabulary),
      net_(vocabulary.count(), random, options),
      validation_(triplet_batches(sets.validation, vocabulary, batch_size)),
      batches_(seed, [&sets, &vocabulary, batch_size](Random& order) {
        return triplet_batches(sets.train, vocabulary, batch_size, &order);
      }) {}

Tensor SkipThoughtsTrainee::loss(Index step, const Shard& shard, Random&) {
  return triplet_loss(net_, batches_.at(step), shard);
}

Validation SkipThoughtsTrainee::validate() {
  const double loss = word_nll(net_, validation_);
  return {loss, loss};
}

void SkipThoughtsTrainee::test(Outcome& outcome) {
  outcome.values["frequencies"] = frequency_nll(sets_, vocabulary_);
}

Problem skip_thoughts_problem(const TripletSets& sets, const ProbeSets& probes,
                              const SkipThoughtsSizes& o) {
  const auto data = std::make_shared<const SkipThoughtsData>(sets, probes, o);
  return {.source = sets.source,
          .data = fmt::format("{}, probes {}", sets.digest(), probes.digest()),
          .initial_values = "words and inputs U(+-0.1)\nU(+-1/sqrt(inputs))",
          .sizes = {{"vocabulary", o.vocabulary},
                    {"words", o.words},
                    {"hidden", o.hidden},
                    {"batch_size", o.batch_size},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval},
                    {"look", o.look}},
          .optimizer = {.schedule = "constant", .clip_norm = 5},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [data](const lab::TaskTrial& trial, Random& random) {
                return std::make_unique<ProbedTrainee>(*data, trial, random);
              },
          .baselines = {{"words_alone", [data] { return judge_by_words(*data); }}}};
}

Problem skip_thoughts_problem(const Origin& origin, Size size) {
  const bool small = size == Size::smoke;
  TripletSets sets = book_triplets(origin);
  const ProbeSets probes =
      origin.is_drawn() || small ? draw_probe_sets(origin.seed) : read_probe_sets(origin.directory);
  if (!small) return skip_thoughts_problem(sets, probes);
  sets.source += ", judged by drawn sentences";
  sets.train.resize(200);
  sets.validation.resize(40);
  return skip_thoughts_problem(sets, probes,
                               {.vocabulary = 60,
                                .words = 8,
                                .hidden = 16,
                                .batch_size = 16,
                                .steps = 12,
                                .eval_interval = 3,
                                .look = 6,
                                .seconds = 1});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
