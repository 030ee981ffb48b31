#include "tapegrad/zoo/skip_thoughts.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const SkipThoughtsOptions small{.words = 3, .hidden = 4};

// Sentences that end with 0, as rows of one length.
SentenceBatch batch(const std::vector<std::vector<Index>>& sentences, Index padding = 0) {
  std::vector<Index> words, lengths;
  std::size_t longest = 0;
  for (const auto& each : sentences) longest = std::max(longest, each.size());
  longest += static_cast<std::size_t>(padding);
  for (const auto& each : sentences) {
    words.insert(words.end(), each.begin(), each.end());
    words.insert(words.end(), longest - each.size(), 5);  // any word stands behind the end
    lengths.push_back(std::ssize(each));
  }
  const auto count = std::ssize(sentences);
  return {Indices({count, static_cast<Index>(longest)}, words), Indices({count}, lengths), {}};
}

const std::vector<std::vector<Index>> current{{2, 5, 0}, {3, 3, 1, 0}},
    previous{{4, 0}, {1, 2, 2, 0}}, next{{5, 4, 3, 2, 0}, {0}};

Tensor loss(const SkipThoughts& net) {
  return net.loss(batch(previous), batch(current), batch(next));
}

// The definition: sentence by sentence and step by step, with a first input that is 0.
Tensor definition(const SkipThoughts& net) {
  Tensor total = zeros({});
  double words = 0;
  const auto embedded = [&](Index word) { return net.words(Indices({1}, {word})); };
  for (std::size_t i = 0; i < current.size(); ++i) {
    RecurrentState read;
    for (const Index word : current[i])
      read = read.h.defined() ? net.encoder.step(embedded(word), read)
                              : net.encoder.step(embedded(word), net.encoder.first(1));
    for (const auto& [decoder, neighbour] :
         {std::pair{&net.before, &previous[i]}, {&net.after, &next[i]}}) {
      RecurrentState state = read;
      Tensor x = zeros({1, 3});
      for (const Index word : *neighbour) {
        state = decoder->step(net.every_step ? concat({x, read.h}, -1) : x, state);
        total = total - select(select(log_softmax(net.output(state.h)), 0), word);
        x = embedded(word);
        ++words;
      }
    }
  }
  return total / words;
}

}  // namespace

TEST_CASE("skip-thoughts are PyTorch's", "[models]") {
  for (const bool every_step : {false, true})
    for (const char* norm : {"none", "layer"}) {
      std::string row = every_step ? "every_step" : "start";
      if (std::string(norm) == "layer") row += " layer";
      INFO(row);
      const Golden expected = golden("skip_thoughts.json", row);
      Random random(1);
      const SkipThoughts net(6, random,
                             {.words = 3, .hidden = 4, .norm = norm, .every_step = every_step});
      std::vector<Parameter> all = parameters(net);
      REQUIRE(all.size() == expected.inputs.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i].set(expected.inputs[i]);
      const Tape tape;
      const Tensor found = loss(net);
      CHECK(relative_error(found, expected.value) < golden_tolerance);
      const std::vector<Tensor> gradients = grad(found, all, {.seed = expected.seed});
      for (std::size_t i = 0; i < all.size(); ++i) {
        INFO(all[i].name());
        CHECK(relative_error(gradients[i], expected.gradients[i]) < 20 * golden_tolerance);
      }
    }
}

TEST_CASE("skip-thoughts are GRUs step by step, beginning with a zero vector", "[models]") {
  for (const bool every_step : {false, true})
    for (const char* norm : {"none", "layer", "rms"}) {
      Random random(2);
      const SkipThoughts net(6, random,
                             {.words = 3, .hidden = 4, .norm = norm, .every_step = every_step});
      enlarge(net, random);
      CHECK(relative_error(loss(net), definition(net)) < golden_tolerance);
      const Composite readable;
      CHECK(relative_error(loss(net), definition(net)) < golden_tolerance);
    }
}

TEST_CASE("the first word of a neighbour depends on the vector alone", "[models]") {
  Random random(3);
  const SkipThoughts net(6, random, small);
  enlarge(net, random);
  const Tensor h = net.vectors(batch({{2, 5, 0}}));
  const auto first = [&] { return select(net.logits(net.after, h, batch({{4, 3, 0}})), 0); };
  const Tensor before = first();
  const Tensor step = net.output(net.after.step(zeros({1, 3}), {.h = h, .c = {}}).h);
  CHECK(relative_error(before, select(step, 0)) < golden_tolerance);
  Parameter words = net.words.weight, inputs = net.after.input.weight;
  words.set(random.normal(words.shape()));
  inputs.set(random.normal(inputs.shape()));
  CHECK(relative_error(first(), before) == 0);
}

TEST_CASE("padding changes neither loss nor gradients of skip-thoughts", "[models]") {
  Random random(4);
  const SkipThoughts net(6, random, {.words = 3, .hidden = 4, .norm = "layer"});
  enlarge(net, random);
  const Tape tape;
  const Tensor plain = loss(net),
               padded = net.loss(batch(previous, 3), batch(current, 2), batch(next, 1));
  CHECK(relative_error(padded, plain) < golden_tolerance);
  const auto expected = grad(plain, parameters(net)), found = grad(padded, parameters(net));
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(relative_error(found[i], expected[i]) < 10 * golden_tolerance);
}

TEST_CASE("words, not sentences, are counted", "[models]") {
  Random random(5);
  const SkipThoughts net(6, random, small);
  enlarge(net, random);
  const auto of = [&](std::size_t i) {
    return net.loss(batch({previous[i]}), batch({current[i]}), batch({next[i]})).item();
  };
  CHECK(loss(net).item() == Approx((7 * of(0) + 5 * of(1)) / 12).epsilon(1e-5));
}

TEST_CASE("derivatives of skip-thoughts", "[models]") {
  for (const bool every_step : {false, true}) {
    Random random(6);
    const SkipThoughts net(6, random,
                           {.words = 3, .hidden = 4, .norm = "layer", .every_step = every_step});
    enlarge(net, random);
    check_parameters(
        net, [&] { return loss(net); }, sizeof(real) == 8 ? 1e-4 : 5e-3);
  }
}

TEST_CASE("second derivatives of skip-thoughts", "[models]") {
  for (const char* norm : {"none", "layer"}) {
    Random random(7);
    const SkipThoughts net(6, random, {.words = 3, .hidden = 4, .norm = norm});
    enlarge(net, random);
    std::vector<Parameter> all = parameters(net);
    std::vector<Tensor> start, u, direction;
    for (const Parameter& parameter : all) {
      start.push_back(parameter.value());
      u.push_back(random.normal(parameter.shape()));
      direction.push_back(random.normal(parameter.shape()));
    }
    const auto along = [](const std::vector<Tensor>& gradients, const std::vector<Tensor>& v) {
      Tensor total = zeros({});
      for (std::size_t i = 0; i < v.size(); ++i) total = total + sum(gradients[i] * v[i]);
      return total;
    };
    const double found = [&] {
      const Tape tape;
      return along(grad(along(grad(loss(net), all, {.record = true}), u), all), direction).item();
    }();
    const auto slope = [&](double distance) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i].set(start[i] + direction[i] * distance);
      const Tape tape;
      return static_cast<double>(along(grad(loss(net), all), u).item());
    };
    const double step = sizeof(real) == 8 ? 1e-5 : 2e-3;
    const double expected = (slope(step) - slope(-step)) / (2 * step);
    const double tolerance = sizeof(real) == 8 ? 1e-5 : 2e-2;
    CHECK(std::abs(expected) > 0.1);
    CHECK(found == Approx(expected).epsilon(tolerance));
  }
}

TEST_CASE("skip-thoughts memorize which sentences stand beside which", "[models]") {
  for (const bool every_step : {false, true}) {
    Random random(8);
    const SkipThoughts net(12, random,
                           {.words = 8, .hidden = 16, .norm = "layer", .every_step = every_step});
    std::vector<std::vector<Index>> lines(16);
    for (auto& line : lines)
      for (int i = 0; i < 4; ++i) line.push_back(i < 3 ? 1 + random.below(11) : 0);
    std::vector<std::vector<Index>> others(lines.rbegin(), lines.rend());
    const auto mean = [&] { return net.loss(batch(others), batch(lines), batch(lines)); };
    CHECK(mean().item() > 1.5);
    Adam adam(parameters(net), {.learning_rate = 0.02});
    for (int step = 0; step < 150; ++step) {
      const Tape tape;
      adam.step(grad(mean(), adam.parameters()));
    }
    CHECK(mean().item() < 0.1);
  }
}

TEST_CASE("skip-thoughts refuse what does not fit", "[models]") {
  Random random(9);
  const SkipThoughts net(6, random, small);
  const SentenceBatch one = batch({{2, 0}}), two = batch(current);
  CHECK_THROWS_AS(net.loss(one, two, one), ShapeError);
  CHECK_THROWS_AS(net.vectors({Indices({2}, {1, 1}), Indices({2}, {1, 1}), {}}), ShapeError);
  CHECK_THROWS_AS(net.vectors({Indices({1, 2}, {1, 9}), Indices({1}, {2}), {}}), ShapeError);
  CHECK_THROWS_AS(net.vectors({Indices({1, 2}, {1, 1}), Indices({1}, {3}), {}}), ShapeError);
  CHECK_THROWS_AS(net.logits(net.after, ones({1, 4}), batch({{}}, 1)), ShapeError);
  CHECK_THROWS_AS(net.logits(net.after, Tensor(), one), ShapeError);
  CHECK_THROWS_AS(net.logits(net.after, ones({1, 5}), one), ShapeError);
  CHECK_THROWS_AS(SkipThoughts(6, random, {.hidden = 0}), ArgumentError);
  CHECK_THROWS_AS(SkipThoughts(0, random, small), ArgumentError);
}
