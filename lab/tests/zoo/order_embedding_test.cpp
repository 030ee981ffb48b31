#include "tapegrad/zoo/order_embedding.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/io/text.h"
#include "tapegrad/nn/metrics/ranking.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/zoo/ranking_loss.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const OrderEmbeddingOptions small{.words = 3, .hidden = 4};
const Indices ids({2, 3}, {1, 4, 3, 2, 2, 0}), lengths({2}, {3, 2});

Tensor row_norms(const Tensor& x) { return norm(x, -1); }

}  // namespace

TEST_CASE("captions and images are absolute directions", "[models]") {
  Random random(1);
  const OrderEmbedding net(5, 6, random, small);
  const Tensor v = random.normal({2, 6});
  const Tensor caption = net.caption(ids, lengths), image = net.image(v);
  CHECK(caption.shape() == Shape{2, 4});
  for (const Tensor& points : {caption, image}) {
    CHECK(min(points).item() >= 0);
    CHECK(relative_error(row_norms(points), ones({2})) < golden_tolerance);
  }
  const Tensor h =
      (*net.encoder)(embedding(net.words.weight, transposed(ids)), {}, lengths).last[0].h;
  CHECK(relative_error(caption, abs(h / norm(h, -1, Keep::yes))) < golden_tolerance);
  const Tensor projected = linear(v, net.features.weight, net.features.bias);
  CHECK(relative_error(image, abs(projected / norm(projected, -1, Keep::yes))) < golden_tolerance);
}

TEST_CASE("a caption is the general side of a cost", "[models]") {
  Random random(2);
  const OrderEmbedding net(5, 6, random, small);
  const Tensor below = Tensor({1, 4}, {0, 0.1, 0.2, 0}),
               above = Tensor({2, 4}, {0.5, 0.1, 0.3, 0, 1, 1, 1, 1});
  CHECK(max(net.costs(below, above)).item() == 0);
  const Tensor turned = net.costs(above, below);
  CHECK(turned.shape() == Shape{2, 1});
  CHECK(min(turned).item() > 0.2);
}

TEST_CASE("the symmetric form costs negative cosines", "[models]") {
  Random random(3);
  const OrderEmbedding net(5, 6, random, {.words = 3, .hidden = 4, .symmetric = true});
  const Tensor captions = net.caption(ids, lengths), images = net.image(random.normal({3, 6}));
  CHECK(min(captions).item() < 0);  // no absolute values
  const Tensor costs = net.costs(captions, images);
  for (Index i = 0; i < 2; ++i)
    for (Index j = 0; j < 3; ++j)
      CHECK(select(select(costs, i), j).item() ==
            Approx(-sum(select(captions, i) * select(images, j)).item()).margin(1e-6));
}

TEST_CASE("padding does not change a caption", "[models]") {
  for (const bool bag : {false, true}) {
    Random random(4);
    const OrderEmbedding net(5, 6, random, {.words = 3, .hidden = 4, .bag_of_words = bag});
    const Indices padded({1, 5}, {2, 3, 4, 4, 1}), alone({1, 2}, {2, 3});
    CHECK(relative_error(net.caption(padded, Indices({1}, {2})),
                         net.caption(alone, Indices({1}, {2}))) < golden_tolerance);
    CHECK(relative_error(net.caption(padded, Indices({1}, {3})),
                         net.caption(alone, Indices({1}, {2}))) > 1e-3);
  }
}

TEST_CASE("the order of words matters to a GRU only", "[models]") {
  for (const bool bag : {false, true}) {
    Random random(5);
    const OrderEmbedding net(5, 6, random, {.words = 3, .hidden = 4, .bag_of_words = bag});
    const Indices three({1}, {3});
    const double difference = relative_error(net.caption(Indices({1, 3}, {2, 3, 4}), three),
                                             net.caption(Indices({1, 3}, {4, 3, 2}), three));
    CHECK((difference < golden_tolerance) == bag);
  }
}

TEST_CASE("derivatives of order embeddings", "[models]") {
  for (const OrderEmbeddingOptions& options :
       {OrderEmbeddingOptions{.words = 3, .hidden = 4, .norm = "layer"},
        OrderEmbeddingOptions{.words = 3, .hidden = 4, .symmetric = true, .bag_of_words = true}}) {
    Random random(6);
    const OrderEmbedding net(5, 6, random, options);
    enlarge(net, random);
    const Tensor v = random.normal({2, 6});
    check_parameters(
        net, [&] { return net.costs(net.caption(ids, lengths), net.image(v)); },
        sizeof(real) == 8 ? 1e-5 : 3e-3);
  }
}

TEST_CASE("twenty pairs are found after training on them", "[models]") {
  Random random(7);
  const Index count = 20;
  const OrderEmbedding net(30, 16, random, {.words = 8, .hidden = 16, .norm = "layer"});
  const Indices captions = random_ids({count, 4}, 30, random);
  const Tensor v = random.normal({count, 16});
  const Indices all({count}, std::vector<Index>(count, 4));
  Indices right = Indices::uninitialized({count});
  for (Index i = 0; i < count; ++i) right.mutable_data()[i] = i;
  const auto costs = [&] { return net.costs(net.caption(captions, all), net.image(v)); };
  CHECK(recall_at(1, ranks(costs(), right)) < 0.5);
  Adam adam(parameters(net), {.learning_rate = 0.01});
  for (int step = 0; step < 150; ++step) {
    const Tape tape;
    adam.step(grad(contrastive_sum(costs(), 0.05), adam.parameters()));
  }
  CHECK(recall_at(1, ranks(costs(), right)) == 1);
  CHECK(recall_at(1, ranks(transpose(costs()), right)) == 1);
}

TEST_CASE("order embeddings refuse what does not fit", "[models]") {
  Random random(8);
  const OrderEmbedding net(5, 6, random, small);
  CHECK_THROWS_AS(net.caption(Indices({2}, {1, 1}), lengths), ShapeError);
  CHECK_THROWS_AS(net.caption(ids, Indices({2}, {3, 4})), ShapeError);
  CHECK_THROWS_AS(net.costs(ones({2, 4}), ones({2, 3})), ShapeError);
  CHECK_THROWS_AS(OrderEmbedding(5, 0, random), ArgumentError);
  CHECK_THROWS_AS(OrderEmbedding(5, 6, random, {.norm = "layer", .bag_of_words = true}),
                  ArgumentError);
}
