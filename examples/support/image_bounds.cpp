#include "support/image_bounds.h"

#include <algorithm>
#include <numeric>

#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index images_of_group = 500;

}  // namespace

Index bound_groups(const ImageSet& set) {
  return (set.count() + images_of_group - 1) / images_of_group;
}

std::vector<ImageBound> image_bounds(const Draw& net, const ImageSet& set, const Random& noise,
                                     Index begin, Index end) {
  std::vector<ImageBound> bounds;
  for (Index group = begin; group < end; ++group) {
    const Index first = group * images_of_group;
    std::vector<Index> chosen(
        static_cast<std::size_t>(std::min(images_of_group, set.count() - first)));
    std::iota(chosen.begin(), chosen.end(), first);
    Random own = noise.stream(static_cast<std::uint64_t>(group));
    const Draw::Result result = net(plain_images(set.images(chosen)), own);
    const Tensor total = result.bound();
    for (Index i = 0; i < total.size(); ++i)
      bounds.push_back({total.data()[i], result.divergence.data()[i]});
  }
  return bounds;
}

Tensor plain_images(const Tensor& images) { return select(images, 0, 1); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
