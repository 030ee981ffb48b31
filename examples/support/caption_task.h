#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/caption_sets.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/zoo/order_embedding.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The features of images: the words of their descriptions, each weighed by how often it occurs
/// there and how rare it is, f_w = log(1 + count) log(images / images with w).
class DescriptionFeatures {
 public:
  /// A feature that is not 0: its number in [0, count()) and its value.
  using Feature = std::pair<Index, double>;

  /// The `most` most frequent words of the descriptions of these images.
  DescriptionFeatures(const std::vector<DescribedImage>& images, Index most);

  Index count() const { return static_cast<Index>(rarity_.size()); }
  /// The features of an image. Their squares add up to 1, unless there are none.
  std::vector<Feature> of(const DescribedImage& image) const;
  /// The numbers of the words of a line that are features.
  std::vector<Index> in(const std::string& line) const;

 private:
  Vocabulary vocabulary_;
  std::vector<double> rarity_;  // of each word
};

/// The words of all captions that occur at least `least` times.
Vocabulary caption_vocabulary(const std::vector<DescribedImage>& images, Index least);

/// Captions side by side, each with a 0 at its end.
SentenceBatch caption_batch(const Vocabulary& vocabulary, std::span<const std::string> captions);

/// Described images, and what a net knows of their words.
struct CaptionData {
  CaptionSets sets;
  Vocabulary vocabulary;         ///< of captions: words that occur five times to train on
  DescriptionFeatures features;  ///< the 4,096 most frequent words to train on
  std::vector<std::vector<DescriptionFeatures::Feature>> train;  ///< of each image

  explicit CaptionData(CaptionSets all);
};

/// An image to train on and one of its captions, by their numbers.
struct CaptionPair {
  Index image, caption;
};
/// The batches of an epoch: every image once, with one of its captions, so that no batch has two
/// captions of an image.
std::vector<std::vector<CaptionPair>> caption_pairs(const CaptionSets& sets, Index batch_size,
                                                    Random& order);
/// The costs of the captions of these pairs with their images: (B, B)
Tensor pair_costs(const OrderEmbedding& net, const CaptionData& data,
                  std::span<const CaptionPair> pairs);

/// The features of images, side by side: (B, features)
Tensor feature_rows(const std::vector<std::vector<DescriptionFeatures::Feature>>& images,
                    Index features);

/// The costs of the captions [begin, end) of these images with all of them: (captions, images),
/// image by image.
Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<DescribedImage>& images, Index begin, Index end);
/// The same of all captions; the processes of a cluster share them.
Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<DescribedImage>& images, Cluster& cluster);

/// What ranks say about a search.
struct Retrieval {
  double recall_1, recall_5, recall_10, median, mean;  // of ranks; recalls are shares

  explicit Retrieval(const Indices& ranks);
  double mean_recall() const { return (recall_1 + recall_5 + recall_10) / 3; }
};
/// The search of an image by each caption, and of one of its captions by each image.
///   costs: (captions, images), where those of image i begin with row i * captions / images
struct BothRetrievals {
  Retrieval image, caption;

  explicit BothRetrievals(const Tensor& costs);
};
/// The rank of the image of each caption: (captions)   costs: as for `BothRetrievals`
Indices image_ranks(const Tensor& costs);

/// The costs of captions and images by the words that both languages share: minus the sum of the
/// image's features that are words of the caption. A baseline that learns nothing.
Tensor costs_by_shared_words(const DescriptionFeatures& features,
                             const std::vector<DescribedImage>& images);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
