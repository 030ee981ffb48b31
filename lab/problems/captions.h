#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/caption_sets.h"
#include "data/shuffled_epochs.h"
#include "problems/problem.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/zoo/order_embedding.h"

/// Captions and the images that they describe, as an order of points (Vendrov et al. 2016), as in
/// Ba et al. 2016, section 6.1.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The features of images: the words of their descriptions, each weighed by how often it occurs
/// there and how rare it is, f_w = log(1 + count) log(images / images with w).
class DescriptionFeatures {
 public:
  /// A feature that is not 0: its number in [0, count()) and its value.
  using Feature = std::pair<Index, double>;

  /// The `most` most frequent words of the descriptions of these images.
  DescriptionFeatures(const std::vector<support::DescribedImage>& images, Index most);

  Index count() const { return std::ssize(rarity_); }
  /// The features of an image. Their squares add up to 1, unless there are none.
  std::vector<Feature> of(const support::DescribedImage& image) const;
  /// The numbers of the words of a line that are features.
  std::vector<Index> in(const std::string& line) const;

 private:
  Vocabulary vocabulary_;
  std::vector<double> rarity_;  // of each word
};

/// The words of all captions that occur at least `least` times.
Vocabulary caption_vocabulary(const std::vector<support::DescribedImage>& images, Index least);

/// Captions side by side, each with a 0 at its end.
SentenceBatch caption_batch(const Vocabulary& vocabulary, std::span<const std::string> captions);

/// Described images, and what a net knows of their words.
struct CaptionData {
  support::CaptionSets sets;
  Vocabulary vocabulary;         ///< of captions: words that occur five times to train on
  DescriptionFeatures features;  ///< the 4,096 most frequent words to train on
  std::vector<std::vector<DescriptionFeatures::Feature>> train;  ///< of each image

  explicit CaptionData(support::CaptionSets all);
};

/// An image to train on and one of its captions, by their numbers.
struct CaptionPair {
  Index image, caption;
};
/// The batches of an epoch: every image once, with one of its captions, so that no batch has two
/// captions of an image.
std::vector<std::vector<CaptionPair>> caption_pairs(const support::CaptionSets& sets,
                                                    Index batch_size, Random& order);
/// The costs of the captions of these pairs with their images: (B, B)
Tensor pair_costs(const OrderEmbedding& net, const CaptionData& data,
                  std::span<const CaptionPair> pairs);

/// The features of images, side by side: (B, features)
Tensor feature_rows(const std::vector<std::vector<DescriptionFeatures::Feature>>& images,
                    Index features);

/// The costs of the captions [begin, end) of these images with all of them: (captions, images),
/// image by image.
Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<support::DescribedImage>& images, Index begin, Index end);
/// The costs of all captions; the processes of a cluster share them.
Tensor all_costs(const OrderEmbedding& net, const CaptionData& data,
                 const std::vector<support::DescribedImage>& images, Cluster& cluster);

/// The quality of a search, by ranks.
struct Retrieval {
  double recall_1, recall_5, recall_10, median, mean;  // of ranks; recalls are shares

  explicit Retrieval(const Indices& ranks);
  double mean_recall() const { return (recall_1 + recall_5 + recall_10) / 3; }
};
/// The search of an image by each caption, and of one of its captions by each image.
///   costs: (captions, images); the captions of image i begin with row i * captions / images
struct BothRetrievals {
  Retrieval image, caption;

  explicit BothRetrievals(const Tensor& costs);
};
/// The rank of the image of each caption: (captions)   costs: as for `BothRetrievals`
Indices image_ranks(const Tensor& costs);

/// The costs of captions and images by the words that both languages share: minus the sum of the
/// image's features that are words of the caption. A baseline that learns nothing.
Tensor costs_by_shared_words(const DescriptionFeatures& features,
                             const std::vector<support::DescribedImage>& images);

/// Captions of Multi30k, or drawn ones.
support::CaptionSets described_images(const Origin& origin);

class OrderTrainee : public Trainee {
 public:
  OrderTrainee(const CaptionData& data, const OrderEmbeddingOptions& options, double margin,
               Index batch_size, std::uint64_t seed, Random& random);

  const OrderEmbedding& order() const { return net_; }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return std::ssize(batches_.at(step)); }
  /// Contrastive sums do not depend on the number of pairs, so each shard counts as much as it has
  /// of all.
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;

 private:
  const CaptionData& data_;
  OrderEmbedding net_;
  double margin_;
  support::ShuffledEpochs<std::vector<CaptionPair>> batches_;
};

/// The sizes of the paper's task: fewer dimensions and updates than there.
struct RetrievalSizes {
  Index words = 64, hidden = 128;
  Index batch_size = 128;
  Index steps = 3000;
  Index eval_interval = 150;
  double rate = 1e-3;
  double seconds = 126;
};

/// Retrieval across languages: descriptions in one language stand for images, and captions in
/// another are sought. `none` and `layer` are the order embeddings of a GRU, `symmetric` has
/// cosines for costs, and `bag_of_words` no GRU. Searches of an image by a caption, and of one of
/// its captions by an image, have the values "test_image_recall_1", "..._5", "..._10" in percent
/// and "test_image_mean_rank", and the same of "caption". "test" is the R@10 of images; items are
/// the shares of an image's captions that find it among ten, in percent. The trace "ranks" has the
/// rank of its image for each caption, by the caption's number, and the traces "recall_1",
/// "recall_5" and "recall_10" the recall of images for validation.
Problem retrieval_problem(const support::CaptionSets& sets, const RetrievalSizes& sizes = {});
Problem retrieval_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
