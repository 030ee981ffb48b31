#include "problems/captions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "experiments/recall.h"
#include "tapegrad/nn/metrics/ranking.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

// How often words occur in the lines of these images.
std::map<std::string, Index> counted(const std::vector<DescribedImage>& images,
                                     std::vector<std::string> DescribedImage::*lines_of) {
  std::map<std::string, Index> counts;
  for (const DescribedImage& image : images)
    for (const std::string& line : image.*lines_of)
      for (const std::string& word : words_of(line)) ++counts[word];
  return counts;
}

OrderEmbeddingOptions of_system(const std::string& system, const RetrievalSizes& sizes) {
  return {.words = sizes.words,
          .hidden = sizes.hidden,
          .norm = NormSpec(system == "layer" ? "layer" : "none"),
          .symmetric = system == "symmetric",
          .bag_of_words = system == "bag_of_words"};
}

Tensor costs_of(const OrderEmbedding& net, const CaptionData& data,
                const std::vector<DescribedImage>& images) {
  const Index captions = std::ssize(images) * data.sets.captions_of_each();
  return all_costs(net, data, images, 0, captions);
}

void enter_search(Outcome& outcome, const std::string& what, const Retrieval& found) {
  outcome.values[fmt::format("test_{}_recall_1", what)] = 100 * found.recall_1;
  outcome.values[fmt::format("test_{}_recall_5", what)] = 100 * found.recall_5;
  outcome.values[fmt::format("test_{}_recall_10", what)] = 100 * found.recall_10;
  outcome.values[fmt::format("test_{}_mean_rank", what)] = found.mean;
}

// The result of these costs of all captions with all images.
void enter_searches(Outcome& outcome, const Tensor& costs) {
  const BothRetrievals found(costs);
  enter_search(outcome, "image", found.image);
  enter_search(outcome, "caption", found.caption);
  const Indices ranks = image_ranks(costs);
  for (Index i = 0; i < ranks.size(); ++i) outcome.traces["ranks"].emplace_back(i, ranks.data()[i]);
  outcome.items = lab::recall_items(outcome, costs.shape()[1], 10);
  outcome.values["test"] = mean_of_items(outcome);
}

Outcome search_by_shared_words(const CaptionData& data) {
  Outcome outcome;
  enter_searches(outcome, costs_by_shared_words(data.features, data.sets.test));
  return outcome;
}

}  // namespace

DescriptionFeatures::DescriptionFeatures(const std::vector<DescribedImage>& images, Index most)
    : vocabulary_(Vocabulary::most_frequent(counted(images, &DescribedImage::descriptions), most)),
      rarity_(vocabulary_.words().size(), 0) {
  for (const DescribedImage& image : images) {
    std::set<Index> present;
    for (const std::string& line : image.descriptions)
      for (const Index word : in(line)) present.insert(word);
    for (const Index word : present) ++rarity_[word];
  }
  for (double& each : rarity_) each = std::log(images.size() / each);
}

std::vector<Index> DescriptionFeatures::in(const std::string& line) const {
  constexpr Index first = 2;  // the number of a vocabulary's first word
  std::vector<Index> numbers;
  for (const std::string& word : words_of(line))
    if (const Index number = vocabulary_.number(word); number >= first)
      numbers.push_back(number - first);
  return numbers;
}

std::vector<DescriptionFeatures::Feature> DescriptionFeatures::of(
    const DescribedImage& image) const {
  std::map<Index, double> counts;
  for (const std::string& line : image.descriptions)
    for (const Index word : in(line)) ++counts[word];
  std::vector<Feature> features;
  double squares = 0;
  for (const auto& [word, count] : counts) {
    const double value = std::log1p(count) * rarity_[word];
    if (value == 0) continue;  // every image has the word
    features.emplace_back(word, value);
    squares += value * value;
  }
  for (auto& [word, value] : features) value /= std::sqrt(squares);
  return features;
}

Vocabulary caption_vocabulary(const std::vector<DescribedImage>& images, Index least) {
  return Vocabulary(counted(images, &DescribedImage::captions), least);
}

SentenceBatch caption_batch(const Vocabulary& vocabulary, std::span<const std::string> captions) {
  std::vector<std::vector<std::string>> words;
  for (const std::string& caption : captions) words.push_back(words_of(caption));
  return ended_batch(vocabulary, words);
}

Tensor feature_rows(const std::vector<std::vector<DescriptionFeatures::Feature>>& images,
                    Index features) {
  std::vector<real> rows(images.size() * features, 0);
  for (std::size_t i = 0; i < images.size(); ++i)
    for (const auto& [word, value] : images[i])
      rows[i * features + word] = static_cast<real>(value);
  return Tensor({std::ssize(images), features}, rows);
}

CaptionData::CaptionData(CaptionSets all)
    : sets(std::move(all)),
      vocabulary(caption_vocabulary(sets.train, 5)),
      features(sets.train, 4096) {
  for (const DescribedImage& image : sets.train) train.push_back(features.of(image));
}

std::vector<std::vector<CaptionPair>> caption_pairs(const CaptionSets& sets, Index batch_size,
                                                    Random& order) {
  std::vector<std::vector<CaptionPair>> batches;
  for (const Index image : order.permutation(std::ssize(sets.train)).values()) {
    if (batches.empty() || std::ssize(batches.back()) == batch_size) batches.emplace_back();
    batches.back().push_back({image, order.below(sets.captions_of_each())});
  }
  return batches;
}

Tensor pair_costs(const OrderEmbedding& net, const CaptionData& data,
                  std::span<const CaptionPair> pairs) {
  std::vector<std::string> captions;
  std::vector<std::vector<DescriptionFeatures::Feature>> images;
  for (const auto& [image, caption] : pairs) {
    captions.push_back(data.sets.train[image].captions[caption]);
    images.push_back(data.train[image]);
  }
  const SentenceBatch batch = caption_batch(data.vocabulary, captions);
  return net.costs(net.caption(named(batch.words, "captions"), batch.lengths),
                   net.image(named(feature_rows(images, data.features.count()), "images")));
}

Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<DescribedImage>& images, Index begin, Index end) {
  std::vector<std::vector<DescriptionFeatures::Feature>> rows;
  std::vector<std::string> captions;
  for (const DescribedImage& image : images) {
    rows.push_back(data.features.of(image));
    captions.insert(captions.end(), image.captions.begin(), image.captions.end());
  }
  const Tensor points = net.image(feature_rows(rows, data.features.count()));
  std::vector<Tensor> costs;
  constexpr Index most = 50;  // at a time, since their costs need captions x images x D values
  for (; begin < end; begin += most) {
    const Index count = std::min(most, end - begin);
    const SentenceBatch batch =
        caption_batch(data.vocabulary, std::span(captions).subspan(begin, count));
    costs.push_back(net.costs(net.caption(batch.words, batch.lengths), points));
  }
  return concat(costs);
}

Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<DescribedImage>& images, Cluster& cluster) {
  const auto of_each = std::ssize(images.front().captions);
  std::vector<Tensor> costs;
  for (const Shard& shard : cluster.shards_of_batch(std::ssize(images) * of_each))
    if (shard.count() > 0) costs.push_back(all_costs(net, data, images, shard.begin, shard.end));
  return cluster.gather(concat(costs));
}

Indices image_ranks(const Tensor& costs) {
  const Index captions = costs.shape()[0], of_each = captions / costs.shape()[1];
  Indices right = Indices::uninitialized({captions});
  for (Index i = 0; i < captions; ++i) right.mutable_data()[i] = i / of_each;
  return ranks(costs, right);
}

Retrieval::Retrieval(const Indices& ranks)
    : recall_1(recall_at(1, ranks)),
      recall_5(recall_at(5, ranks)),
      recall_10(recall_at(10, ranks)),
      median(median_rank(ranks)),
      mean(mean_rank(ranks)) {}

BothRetrievals::BothRetrievals(const Tensor& costs)
    : image(image_ranks(costs)), caption([&] {
        const Index images = costs.shape()[1], of_each = costs.shape()[0] / images;
        Indices right = Indices::uninitialized({images, of_each});
        for (Index i = 0; i < right.size(); ++i) right.mutable_data()[i] = i;
        return Retrieval(ranks(transpose(costs), right));
      }()) {}

Tensor costs_by_shared_words(const DescriptionFeatures& features,
                             const std::vector<DescribedImage>& images) {
  const auto count = std::ssize(images);
  std::map<Index, std::vector<std::pair<Index, double>>> images_with;  // a word, and its value
  for (Index i = 0; i < count; ++i)
    for (const auto& [word, value] : features.of(images[i]))
      images_with[word].emplace_back(i, value);
  std::vector<real> costs;
  for (const DescribedImage& image : images)
    for (const std::string& caption : image.captions) {
      std::vector<double> row(count, 0);
      for (const Index word : features.in(caption))
        for (const auto& [i, value] : images_with[word]) row[i] -= value;
      costs.insert(costs.end(), row.begin(), row.end());
    }
  return Tensor({std::ssize(costs) / count, count}, costs);
}

CaptionSets described_images(const Origin& origin) {
  return origin.is_drawn() ? draw_caption_sets(origin.seed) : read_caption_sets(origin.directory);
}

OrderTrainee::OrderTrainee(const CaptionData& data, const OrderEmbeddingOptions& options,
                           double margin, Index batch_size, std::uint64_t seed, Random& random)
    : data_(data),
      net_(data.vocabulary.count(), data.features.count(), random, options),
      margin_(margin),
      batches_(seed, [&data, batch_size](Random& order) {
        return caption_pairs(data.sets, batch_size, order);
      }) {}

Tensor OrderTrainee::loss(Index step, const Shard& shard, Random&) {
  const std::span all(batches_.at(step));
  const Tensor costs = pair_costs(net_, data_, all.subspan(shard.begin, shard.count()));
  return contrastive_sum(costs, margin_) * (static_cast<double>(all.size()) / shard.count());
}

Validation OrderTrainee::validate() {
  const Retrieval found = BothRetrievals(costs_of(net_, data_, data_.sets.validation)).image;
  return {100 * found.mean_recall(),
          100 - 100 * found.mean_recall(),
          {{"recall_1", 100 * found.recall_1},
           {"recall_5", 100 * found.recall_5},
           {"recall_10", 100 * found.recall_10}}};
}

void OrderTrainee::test(Outcome& outcome) {
  enter_searches(outcome, costs_of(net_, data_, data_.sets.test));
}

Problem retrieval_problem(const CaptionSets& sets, const RetrievalSizes& o) {
  const auto data = std::make_shared<const CaptionData>(sets);
  return {.source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest(), sets.test_digest()),
          .initial_values = "words U(+-0.1)\nGlorot",
          .sizes = {{"words", o.words},
                    {"hidden", o.hidden},
                    {"batch_size", o.batch_size},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval}},
          .optimizer = {.schedule = "constant", .clip_each = 2},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [data, o](const lab::TaskTrial& trial, Random& random) {
                const std::string& system = trial.setting.norm;
                const double margin = system == "symmetric" ? 0.2 : 0.05;
                return std::make_unique<OrderTrainee>(*data, of_system(system, o), margin,
                                                      o.batch_size, trial.trial.seed, random);
              },
          .baselines = {{"shared_words", [data] { return search_by_shared_words(*data); }}}};
}

Problem retrieval_problem(const Origin& origin, Size size) {
  CaptionSets sets = described_images(origin);
  if (size == Size::report) return retrieval_problem(sets);
  sets.train.resize(60);
  for (std::vector<DescribedImage>* images : {&sets.validation, &sets.test}) images->resize(20);
  return retrieval_problem(sets, {.words = 8,
                                  .hidden = 16,
                                  .batch_size = 20,
                                  .steps = 12,
                                  .eval_interval = 3,
                                  .seconds = 0.1});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
