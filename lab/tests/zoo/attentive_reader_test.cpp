#include "tapegrad/zoo/attentive_reader.h"

#include <catch2/catch.hpp>
#include <limits>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/metrics.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const Indices passages({2, 5}, {1, 4, 3, 6, 2, 2, 5, 1, 0, 0}), questions({2, 2}, {2, 6, 3, 0});
const Indices lengths({2}, {5, 3}), question_lengths({2}, {2, 1});

Tensor logits(const AttentiveReader& net) {
  return net(passages, lengths, questions, question_lengths).logits;
}

}  // namespace

TEST_CASE("an attentive reader is two LSTMs, a softmax over words and a sum", "[models]") {
  Random random(1);
  const AttentiveReader net(7, 3, random, {.hidden = 4, .norm = "layer"});
  enlarge(net, random);
  const auto read = [&](const Recurrent& lstm, std::initializer_list<Index> ids) {
    const Indices column({std::ssize(ids), 1}, ids);
    return lstm.layers[0](embedding(net.embedding.weight, column));
  };
  const auto weight = [](const Linear& layer, const Tensor& x) { return matmul(x, layer.weight); };
  const auto [found, attention] = net(passages, lengths, questions, question_lengths);
  CHECK(found.shape() == Shape{2, 3});
  for (Index b = 0; b < 2; ++b) {
    const Tensor d = select(
        b == 0 ? read(net.passage, {1, 4, 3, 6, 2}).outputs : read(net.passage, {2, 5, 1}).outputs,
        0, 1);
    const Tensor q =
        b == 0 ? read(net.question, {2, 6}).last.h : read(net.question, {3}).last.h;      // (1, D)
    const Tensor scalar = matmul(weight(net.match, d), transpose(weight(net.match, q)));  // (T, 1)
    const Tensor k =
        tanh(weight(net.of_passage, d) + net.of_passage.bias + weight(net.of_question, q) + scalar);
    const Tensor a = softmax(weight(net.score, k), 0);  // (T, 1)
    const Tensor r = matmul(transpose(a), d);
    const Tensor g =
        tanh(weight(net.of_content, r) + net.of_content.bias + weight(net.of_question_again, q));
    const Tensor expected = weight(net.output, g) + net.output.bias;
    CHECK(relative_error(reshape(select(found, b), {1, 3}), expected) < golden_tolerance);
    CHECK(relative_error(slice(select(attention, b), 0, 0, d.shape()[0]),
                         reshape(a, {d.shape()[0]})) < golden_tolerance);
  }
}

TEST_CASE("attention adds up to 1 and sees no padding", "[models]") {
  Random random(2);
  const AttentiveReader net(7, 3, random, {.hidden = 4});
  const Tensor a = net(passages, lengths, questions, question_lengths).attention;
  CHECK(a.shape() == Shape{2, 5});
  CHECK(relative_error(sum(a, -1), ones({2})) < golden_tolerance);
  CHECK(max(slice(select(a, 1), 0, 3, 5)).item() == 0);
  CHECK(min(slice(select(a, 1), 0, 0, 3)).item() > 0);
}

TEST_CASE("padding changes neither logits nor gradients of a reader", "[models]") {
  Random random(3);
  const AttentiveReader net(7, 3, random, {.hidden = 4, .norm = "layer"});
  const Tensor u = random.normal({3});
  const auto gradients = [&](const Tensor& of_row) {
    return grad(sum(of_row * u), parameters(net));
  };
  const Tape tape;
  const Tensor padded = select(logits(net), 1);
  const Tensor alone =
      select(net(Indices({1, 3}, {2, 5, 1}), {}, Indices({1, 1}, {3}), {}).logits, 0);
  CHECK(relative_error(padded, alone) < golden_tolerance);
  const std::vector<Tensor> with = gradients(padded), without = gradients(alone);
  for (std::size_t i = 0; i < with.size(); ++i)
    CHECK(relative_error(with[i], without[i]) < 10 * golden_tolerance);
}

TEST_CASE("a reader whose entities are renamed answers with the new names", "[models]") {
  Random random(4);
  const AttentiveReader net(7, 3, random, {.hidden = 4});
  // Entities 0, 1, 2 become 2, 0, 1; their answers do, too.
  const std::vector<Index> names{2, 0, 1, 3, 4, 5, 6};
  const auto rename = [&](const Indices& ids) {
    Indices result = Indices::uninitialized(ids.shape());
    for (Index i = 0; i < ids.size(); ++i)
      result.mutable_data()[i] = names[static_cast<std::size_t>(ids.data()[i])];
    return result;
  };
  const Indices old_of({7}, {1, 2, 0, 3, 4, 5, 6}), old_answers({3}, {1, 2, 0});
  const Tensor before = logits(net);
  Parameter words = net.embedding.weight, weight = net.output.weight, bias = net.output.bias;
  words.set(index_select(words.value(), 0, old_of));
  weight.set(index_select(weight.value(), 1, old_answers));
  bias.set(index_select(bias.value(), 0, old_answers));
  const Tensor after = net(rename(passages), lengths, rename(questions), question_lengths).logits;
  CHECK(relative_error(after, index_select(before, 1, old_answers)) < golden_tolerance);
  CHECK(relative_error(after, before) > 1e-3);
}

TEST_CASE("a reader with fused LSTMs agrees with their definition", "[models]") {
  for (const char* norm : {"none", "layer", "layer:gain=0.1"}) {
    Random random(5);
    const AttentiveReader net(7, 3, random, {.hidden = 4, .norm = norm});
    const Tensor fused = logits(net);
    const Composite readable;
    CHECK(relative_error(logits(net), fused) < golden_tolerance);
  }
}

TEST_CASE("norms of the products stand after each of the four", "[models]") {
  Random random(6), masks(7);
  const AttentiveReader net(7, 3, random, {.hidden = 8, .product_norm = "layer", .dropout = 0.5});
  const Tensor before = logits(net);
  for (const Norm& norm : net.norms) {
    const Tensor gain = norm.gain.value();
    Parameter(norm.gain).set(gain * 3);
    CHECK(relative_error(logits(net), before) > 1e-4);
    Parameter(norm.gain).set(gain);
  }
  CHECK(relative_error(logits(net), before) == 0);
  const auto in_training = net(passages, lengths, questions, question_lengths, training(masks));
  CHECK(relative_error(in_training.logits, before) > 1e-3);
}

TEST_CASE("derivatives of an attentive reader", "[models]") {
  for (const char* norm : {"none", "layer"}) {
    Random random(8);
    const AttentiveReader net(7, 3, random, {.hidden = 3, .norm = norm, .product_norm = norm});
    enlarge(net, random);
    REQUIRE(net.question.layers[0].first_h.defined());
    for (const Recurrent* lstm : {&net.passage, &net.question})  // not 0, where a norm is steep
      Parameter(lstm->layers[0].first_h).set(random.normal({3}));
    check_parameters(
        net, [&] { return logits(net); }, sizeof(real) == 8 ? 1e-3 : 1e-2);
  }
}

TEST_CASE("a reader memorizes 64 items", "[models]") {
  Random random(9);
  const AttentiveReader net(12, 4, random, {.hidden = 16, .norm = "layer"});
  const Indices stories = random_ids({64, 8}, 12, random), asked = random_ids({64, 3}, 12, random),
                answers = random_ids({64}, 4, random);
  const auto found = [&] { return net(stories, {}, asked, {}).logits; };
  Adam adam(parameters(net), {.learning_rate = 0.01});
  for (int step = 0; step < 120; ++step) {
    const Tape tape;
    adam.step(grad(cross_entropy(found(), answers), adam.parameters()));
  }
  CHECK(accuracy(found(), answers) == 1);
}

TEST_CASE("a reader refuses what does not fit", "[models]") {
  Random random(10);
  const AttentiveReader net(7, 3, random, {.hidden = 4});
  CHECK_THROWS_AS(net(passages, lengths, Indices({3, 1}, {0, 0, 0}), {}), ShapeError);
  CHECK_THROWS_AS(net(passages, Indices({2}, {5, 0}), questions, {}), ShapeError);
  CHECK_THROWS_AS(AttentiveReader(7, 0, random), ArgumentError);
  CHECK_THROWS_AS(AttentiveReader(7, 3, random, {.dropout = 1}), ArgumentError);
}
