#pragma once

#include "problems/problem.h"
#include "support/image_sets.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/zoo/draw.h"

/// Handwritten digits, drawn glimpse by glimpse: DRAW (Gregor et al. 2015), as in Ba et al. 2016,
/// section 6.4.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// Binarized MNIST, or digits that are drawn.
support::ImageSets binary_digits(const Origin& origin);

/// A bound of -log p of an image from above, with one draw of the latent variables, in nats.
struct Bound {
  double total;
  double divergence;  ///< the part for the latent variables
};
/// The number of groups in which the bounds of a set are computed.
Index bound_groups(const ImageSet& set);
/// The bounds of the images in groups [begin, end), in their order. Each group draws from a stream
/// of `noise` of its own, so that bounds do not depend on who computes which group.
std::vector<Bound> image_bounds(const Draw& net, const ImageSet& set, const Random& noise,
                                Index begin, Index end);
/// Their mean over a set. The processes of a cluster share the groups.
Bound mean_bound(const Draw& net, const ImageSet& set, const Random& noise, Cluster& cluster);

/// (B, 1, height, width) without the channel.
Tensor plain_images(const Tensor& images);

class DrawTrainee : public Trainee {
 public:
  /// noise: of the latent variables in validations and the test
  DrawTrainee(const support::ImageSets& sets, const DrawOptions& options, Index batch_size,
              std::uint64_t seed, Random& random, const Random& noise);

  const Draw& draw() const { return net_; }
  Index per_epoch() const { return batches_.per_epoch(); }
  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).labels.size(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;

 private:
  const support::ImageSets& sets_;
  Draw net_;
  EpochBatches<ImageSet> batches_;
  Random noise_;
  std::uint64_t validations_ = 0;
};

/// The sizes of the paper's task: fewer glimpses, units and epochs than there.
struct DrawSizes {
  DrawOptions model = {};
  Index batch_size = 128;
  Index steps = 2340;
  Index eval_interval = 117;
  Index watched = 2000;  ///< images of the validation; 0: all
  double rate = 1e-3;
  double seconds = 104;
};

/// DRAW without normalization, normalized in the cells alone (`layer`), as in the paper, and in all
/// places of its LSTMs (`layer_everywhere`). Values: "test", a bound in nats per image, and its
/// parts "test_reconstruction" and "test_divergence". Items are the bounds of images, to three
/// decimals.
Problem draw_problem(support::ImageSets sets, const DrawSizes& sizes = {});
Problem draw_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
