#include "support/caption_task.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tapegrad/nn/metrics/ranking.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

// How often words occur in the lines of these images.
std::map<std::string, Index> counted(const std::vector<DescribedImage>& images,
                                     std::vector<std::string> DescribedImage::*lines_of) {
  std::map<std::string, Index> counts;
  for (const DescribedImage& image : images)
    for (const std::string& line : image.*lines_of)
      for (const std::string& word : words_of(line)) ++counts[word];
  return counts;
}

}  // namespace

DescriptionFeatures::DescriptionFeatures(const std::vector<DescribedImage>& images, Index most)
    : vocabulary_(Vocabulary::most_frequent(counted(images, &DescribedImage::descriptions), most)),
      rarity_(vocabulary_.words().size(), 0) {
  for (const DescribedImage& image : images) {
    std::set<Index> present;
    for (const std::string& line : image.descriptions)
      for (const Index word : in(line)) present.insert(word);
    for (const Index word : present) ++rarity_[static_cast<std::size_t>(word)];
  }
  for (double& each : rarity_) each = std::log(static_cast<double>(images.size()) / each);
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
    const double value = std::log1p(count) * rarity_[static_cast<std::size_t>(word)];
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
  std::vector<real> rows(images.size() * static_cast<std::size_t>(features), 0);
  for (std::size_t i = 0; i < images.size(); ++i)
    for (const auto& [word, value] : images[i])
      rows[i * static_cast<std::size_t>(features) + static_cast<std::size_t>(word)] =
          static_cast<real>(value);
  return Tensor({static_cast<Index>(images.size()), features}, rows);
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
  for (const Index image : order.permutation(static_cast<Index>(sets.train.size())).values()) {
    if (batches.empty() || static_cast<Index>(batches.back().size()) == batch_size)
      batches.emplace_back();
    batches.back().push_back({image, order.below(sets.captions_of_each())});
  }
  return batches;
}

Tensor pair_costs(const OrderEmbedding& net, const CaptionData& data,
                  std::span<const CaptionPair> pairs) {
  std::vector<std::string> captions;
  std::vector<std::vector<DescriptionFeatures::Feature>> images;
  for (const auto& [image, caption] : pairs) {
    captions.push_back(data.sets.train[static_cast<std::size_t>(image)]
                           .captions[static_cast<std::size_t>(caption)]);
    images.push_back(data.train[static_cast<std::size_t>(image)]);
  }
  const SentenceBatch batch = caption_batch(data.vocabulary, captions);
  return net.costs(net.caption(batch.words, batch.lengths),
                   net.image(feature_rows(images, data.features.count())));
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
    const auto count = static_cast<std::size_t>(std::min(most, end - begin));
    const SentenceBatch batch = caption_batch(
        data.vocabulary, std::span(captions).subspan(static_cast<std::size_t>(begin), count));
    costs.push_back(net.costs(net.caption(batch.words, batch.lengths), points));
  }
  return concat(costs);
}

Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<DescribedImage>& images, Cluster& cluster) {
  const auto of_each = static_cast<Index>(images.front().captions.size());
  std::vector<Tensor> costs;
  for (const Shard& shard : cluster.shards_of_batch(static_cast<Index>(images.size()) * of_each))
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
  const auto count = static_cast<Index>(images.size());
  std::map<Index, std::vector<std::pair<Index, double>>> images_with;  // a word, and its value
  for (Index i = 0; i < count; ++i)
    for (const auto& [word, value] : features.of(images[static_cast<std::size_t>(i)]))
      images_with[word].emplace_back(i, value);
  std::vector<real> costs;
  for (const DescribedImage& image : images)
    for (const std::string& caption : image.captions) {
      std::vector<double> row(static_cast<std::size_t>(count), 0);
      for (const Index word : features.in(caption))
        for (const auto& [i, value] : images_with[word]) row[static_cast<std::size_t>(i)] -= value;
      costs.insert(costs.end(), row.begin(), row.end());
    }
  return Tensor({static_cast<Index>(costs.size()) / count, count}, costs);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
