#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/internal/storage.h"
#include "tapegrad/core/random.h"
#include "tapegrad/models/char_rnn.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/models/transformer_xl.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/transformer.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i].shape() == b[i].shape() &&
           std::equal(a[i].values().begin(), a[i].values().end(), b[i].values().begin());
  return same;
}

// Gradients of a function of x and a parameter, with f inside recomputed or not.
std::vector<Tensor> gradients(const Function& f, const Tensor& data, const Parameter& w,
                              bool recomputed) {
  const Tape tape;
  const Tensor x = watch(data);
  const Tensor early = tanh(x);
  const Function uses_early = [&](const std::vector<Tensor>& in) { return f(in) * early; };
  const std::vector<Tensor> inputs{x * 2.0};
  const Tensor y = recomputed ? recompute(uses_early, inputs) : uses_early(inputs);
  return grad(sum(y * y), {x, w});
}

}  // namespace

TEST_CASE("recomputed gradients reach inputs, captured tensors and parameters", "[tape]") {
  Random random(1);
  const Parameter w(random.normal({4, 4}));
  const Tensor data = random.normal({3, 4});
  const Function f = [&](const std::vector<Tensor>& in) { return sin(matmul(in[0], w)) + in[0]; };
  CHECK(same_bits(gradients(f, data, w, true), gradients(f, data, w, false)));
  const Function nested = [&](const std::vector<Tensor>& in) { return recompute(f, {f(in)}); };
  CHECK(same_bits(gradients(nested, data, w, true), gradients(nested, data, w, false)));
  const Function slices = [&](const std::vector<Tensor>& in) {
    return matmul(slice(in[0], 0, 0, 3), w) * slice(in[0], 0, 0, 3);
  };
  CHECK(same_bits(gradients(slices, data, w, true), gradients(slices, data, w, false)));
}

TEST_CASE("a second use of a parameter inside and outside of what is recomputed", "[tape]") {
  Random random(2);
  const Parameter w(random.normal({4, 4}), "w");
  const Tensor x = random.normal({2, 4});
  const auto gradient = [&](bool first_outside, bool recomputed) {
    const Tape tape;
    const Function f = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
    Tensor y = first_outside ? matmul(x, w) : x;
    y = recomputed ? recompute(f, {y}) : f({y});
    y = matmul(y, w);
    CHECK(tape.label(tape.find(w)) == "w");
    return grad(sum(y), std::vector{w});
  };
  for (const bool first_outside : {false, true})
    CHECK(same_bits(gradient(first_outside, true), gradient(first_outside, false)));
}

TEST_CASE("dropout repeats its numbers when it is recomputed", "[tape]") {
  const Tensor data = Random(3).normal({64});
  const auto gradient = [&](bool recomputed, Random& random) {
    const Tape tape;
    const Tensor x = watch(data);
    const Function f = [&](const std::vector<Tensor>& in) {
      return dropout(square(in[0]), 0.5, random) + dropout(in[0], 0.5, random);
    };
    Tensor y = recomputed ? recompute(f, {x}) : f({x});
    y = dropout(y, 0.5, random);
    return grad(sum(y), std::vector{x});
  };
  Random random(4), again(4);
  CHECK(same_bits(gradient(true, random), gradient(false, again)));
  CHECK(random.state() == again.state());
}

TEST_CASE("second derivatives of what is recomputed", "[tape]") {
  Random random(5);
  const Tensor w = random.normal({3, 3});
  const Function f = [&](const std::vector<Tensor>& in) {
    return recompute([&](const auto& inner) { return tanh(matmul(inner[0], inner[1])) * inner[0]; },
                     in);
  };
  const std::vector<Tensor> xs{random.normal({2, 3}), w};
  CHECK(check_gradient(f, xs).ok);
  CHECK(check_second_gradient(f, xs).ok);
}

TEST_CASE("what is recomputed is not kept", "[tape]") {
  Random random(6);
  const TransformerStack stack(random, {.layers = 4, .heads = 2, .channels = 16, .causal = true});
  const Tensor data = random.normal({2, 32, 16});
  const auto run = [&](bool recomputed) {
    const Tape tape;
    Tensor x = watch(data);
    const Tensor leaf = x;
    for (const TransformerBlock& block : stack.blocks) {
      const Function f = [&](const std::vector<Tensor>& in) { return block(in[0]); };
      x = recomputed ? recompute(f, {x}) : f({x});
    }
    const std::size_t kept = tape.bytes();
    const std::int32_t nodes = tape.size();
    std::vector<Tensor> found = grad(sum(square(x)), std::vector{leaf});
    CHECK(tape.size() == nodes + 2);  // the loss; what was computed again is gone
    return std::pair(kept, found);
  };
  const auto [plain, expected] = run(false);
  const auto [less, found] = run(true);
  CHECK(same_bits(found, expected));
  CHECK(less * 5 < plain);
}

TEST_CASE("several sweeps, and what leaves nothing to recompute", "[tape]") {
  const Function twice = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
  CHECK(recompute(twice, {Tensor(3.0)}).item() == 9);  // without a tape
  const Tape tape;
  const Tensor x = watch(Tensor(3.0)), constant(2.0);
  const Tensor y = recompute(twice, {x});
  for (int sweep = 0; sweep < 2; ++sweep) CHECK(grad(y, x, {.keep = true}).item() == 6);
  const std::int32_t size = tape.size();
  CHECK(recompute(twice, {constant}).tape_id() == 0);
  CHECK(recompute([](const auto& in) { return in[0]; }, {x}).node() == x.node());
  CHECK(tape.size() == size);
}

TEST_CASE("on a tape that keeps values nothing is recomputed", "[tape]") {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor(3.0));
  const Tensor y = recompute([](const auto& in) { return exp(in[0]); }, {x});
  CHECK(std::string(tape.node(y.node()).name) == "exp");
}

TEST_CASE("several results of what is recomputed", "[tape]") {
  Random random(7);
  const Parameter w(random.normal({4, 4}));
  const Tensor data = random.normal({3, 4});
  const ManyFunction f = [&](const std::vector<Tensor>& in) {
    const Tensor y = tanh(matmul(in[0], w));
    return std::vector<Tensor>{y, in[1] + sum(y), in[0]};
  };
  const auto run = [&](bool recomputed) {
    const Tape tape;
    const Tensor x = watch(data);
    std::vector<Tensor> y{x, Tensor(0.0), x};
    for (int i = 0; i < 3; ++i) y = recomputed ? recompute(f, y) : f(y);
    std::vector<Tensor> found = grad(sum(square(y[0])) * y[1] + sum(y[2]), {x, w});
    found.insert(found.end(), y.begin(), y.end());
    return found;
  };
  CHECK(same_bits(run(true), run(false)));
  const Tape tape;
  const Tensor x = watch(data);
  const ManyFunction undefined = [](const auto& in) { return std::vector<Tensor>{in[0], {}}; };
  const ManyFunction none = [](const auto&) { return std::vector<Tensor>(); };
  CHECK_THROWS_WITH(recompute(undefined, {x}), Contains("result 1 is undefined"));
  CHECK_THROWS_WITH(recompute(none, {x}), Contains("no results"));
}

TEST_CASE("running statistics move once when their layer is recomputed", "[tape]") {
  const Tensor data = Random(8).normal({16, 6});
  const auto run = [&](bool recomputed) {
    Random random(9);
    const Mlp net({6, 8, 8, 2}, random, {.norm = "batch", .dropout = 0.5});
    const Tape tape;
    const Function f = [&](const std::vector<Tensor>& in) { return net(in[0], training(random)); };
    const Function nested = [&](const std::vector<Tensor>& in) { return recompute(f, in); };
    const Tensor x = watch(data), y = recomputed ? recompute(nested, {x}) : f({x});
    std::vector<Tensor> found = grad(sum(square(y)), parameters(net));
    CHECK_FALSE(recomputing());
    for (const auto& [name, buffer] : fields(net).buffers()) found.push_back(buffer.value());
    return found;
  };
  const std::vector<Tensor> found = run(true);
  CHECK(found.size() == 14);
  CHECK(same_bits(found, run(false)));
}

namespace {

const Indices tokens({2, 6}, {1, 4, 2, 0, 3, 3, 2, 2, 1, 0, 4, 1});
const Indices two_lengths({2}, {6, 4});

// Value, gradients and what the tape keeps of a model that `make` makes and `loss_of` uses.
struct RecurrentRun {
  std::vector<Tensor> results;
  std::size_t kept;
};

template <class Make, class LossOf>
RecurrentRun run_model(const TransformerOptions& stack, const Make& make, const LossOf& loss_of) {
  Random random(11);
  const auto net = make(random, stack);
  const Tape tape;
  const Tensor loss = loss_of(net, random);
  const std::size_t kept = tape.bytes();
  std::vector<Tensor> results = grad(loss, parameters(net));
  results.push_back(loss);
  results.push_back(random.uniform({1}));  // the stream goes on from the same place
  return {results, kept};
}

template <class Make, class LossOf>
void check_model(const Make& make, const LossOf& loss_of) {
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post})
    for (const double dropout : {0.0, 0.3}) {
      TransformerOptions stack{.layers = 5, .heads = 2, .channels = 8, .placement = placement};
      stack.dropout = dropout;
      const RecurrentRun plain = run_model(stack, make, loss_of);
      stack.recompute = true;
      const RecurrentRun again = run_model(stack, make, loss_of);
      CHECK(same_bits(again.results, plain.results));
      CHECK(again.kept * 2 < plain.kept);
    }
}

}  // namespace

TEST_CASE("models with recomputed blocks: the same bits from a smaller tape", "[tape]") {
  SECTION("TransformerLm") {
    for (const Positions positions : {Positions::learned, Positions::rotary, Positions::alibi})
      check_model(
          [=](Random& random, const TransformerOptions& stack) {
            return TransformerLm(5, random, {.stack = stack, .positions = positions, .length = 6});
          },
          [](const TransformerLm& net, Random& random) {
            return cross_entropy(net(tokens, training(random)), tokens);
          });
  }
  SECTION("TransformerClassifier") {
    check_model(
        [](Random& random, const TransformerOptions& stack) {
          return TransformerClassifier(5, 2, random, {.stack = stack, .length = 6});
        },
        [](const TransformerClassifier& net, Random& random) {
          return cross_entropy(net(tokens, two_lengths, training(random)), Indices({2}, {0, 1}));
        });
  }
  SECTION("Translator, whose decoder's blocks all see the encoder's last") {
    check_model(
        [](Random& random, const TransformerOptions& stack) {
          return Translator(5, random, {.stack = stack, .length = 6});
        },
        [](const Translator& net, Random& random) {
          return cross_entropy(net(tokens, two_lengths, tokens, training(random)), tokens);
        });
  }
  SECTION("TransformerXl, from segment to segment") {
    check_model(
        [](Random& random, const TransformerOptions& stack) {
          return TransformerXl(5, random, {.stack = stack, .memory = 4});
        },
        [](const TransformerXl& net, Random& random) {
          const TransformerXl::Result first = net(tokens, {}, training(random));
          return cross_entropy(first.logits, tokens) +
                 cross_entropy(net(tokens, first.memory, training(random)).logits, tokens);
        });
  }
}

TEST_CASE("a recomputed block keeps its input and nothing else", "[tape]") {
  const auto kept = [](Index layers) {
    Random random(12);
    const TransformerStack stack(random, {.layers = layers,
                                          .channels = 32,
                                          .placement = NormPlacement::post,
                                          .dropout = 0.1,
                                          .causal = true,
                                          .recompute = true});
    const Tape tape;
    const Tensor y = stack(watch(random.normal({2, 64, 32})), {}, training(random));
    return tape.bytes();
  };
  const std::size_t input = Storage::allocate(2 * 64 * 32 * sizeof(real)).capacity();
  for (const Index layers : {1, 2, 8})
    CHECK(kept(layers) == static_cast<std::size_t>(layers) * input);
}

TEST_CASE("second derivatives of a recomputed stack, with dropout", "[tape]") {
  const TransformerOptions options{
      .layers = 2, .heads = 2, .channels = 4, .dropout = 0.2, .recompute = true};
  Random random(13);
  const TransformerStack stack(random, options);
  Random numbers(14);
  const Function f = [&, start = numbers.state()](const std::vector<Tensor>& in) {
    numbers.restore(start);  // a check calls f many times
    return stack(in[0], {}, training(numbers));
  };
  const std::vector<Tensor> xs{random.normal({1, 3, 4})};
  CHECK(check_gradient(f, xs).ok);
  CHECK(check_second_gradient(f, xs).ok);
  const auto curvature = [&](bool recomputed) {
    TransformerStack other = stack;
    other.recomputed = recomputed;
    Random drawn(15);
    const Tape tape;
    const Tensor x = watch(xs[0]);
    const Tensor slope = grad(sum(square(other(x, {}, training(drawn)))), x, {.record = true});
    std::vector<Tensor> found = grad(sum(square(slope)), parameters(other));
    found.push_back(slope);
    return found;
  };
  const std::vector<Tensor> found = curvature(true), expected = curvature(false);
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(max(abs(found[i] - expected[i])).item() <
          1e-4 * std::max<double>(1, max(abs(expected[i])).item()));
}

TEST_CASE("recomputed blocks and caches", "[tape]") {
  Random random(16);
  const TransformerLm net(
      5, random,
      {.stack = {.layers = 2, .channels = 8, .recompute = true}, .positions = Positions::rotary});
  std::vector<AttentionCache> caches;
  const Tensor logits = net(tokens, {}, &caches);  // as if they were not recomputed
  CHECK(caches[0].length() == 6);
  CHECK(same_bits({logits}, {net(tokens)}));
  const Tape tape;
  CHECK_THROWS_AS(net(tokens, {}, &caches), TapeError);
  CHECK_THROWS_WITH(net(tokens, {}, &caches), Contains("caches"));
  const NoGrad no_grad;
  net(tokens, {}, &caches);
  CHECK(caches[0].length() == 12);
}

TEST_CASE("a sequence recomputed in chunks needs memory like the root of its length", "[tape]") {
  constexpr Index batch = 4, hidden = 16, vocabulary = 8;
  Random random(17);
  const CharRnn net(vocabulary, random, {.embedding = 8, .hidden = hidden});
  // Loss and gradients of a text of `steps`, and the most that the tape ever holds.
  const auto run = [&](Index steps, Index chunk, bool recomputed) {
    Random text(18);
    Indices ids = Indices::uninitialized({steps, batch});
    for (Index i = 0; i < ids.size(); ++i) ids.mutable_data()[i] = text.below(vocabulary);
    const Tape tape;
    std::size_t most = 0;
    std::vector<Tensor> carried{zeros({batch, hidden}), zeros({batch, hidden}), Tensor(0.0)};
    for (Index t = 0; t < steps; t += chunk) {
      const Indices part({chunk, batch}, ids.values().subspan(t * batch, chunk * batch));
      const ManyFunction f = [&net, &tape, &most, part](const std::vector<Tensor>& in) {
        const auto [logits, last] = net(part, {{in[0], in[1]}});
        const Tensor loss = cross_entropy(logits, part);
        most = std::max(most, tape.bytes());
        return std::vector<Tensor>{last[0].h, last[0].c, in[2] + loss};
      };
      carried = recomputed ? recompute(f, carried) : f(carried);
    }
    std::vector<Tensor> results = grad(carried[2], parameters(net));
    results.push_back(carried[2]);
    return std::pair(most, results);
  };
  CHECK(same_bits(run(64, 8, true).second, run(64, 8, false).second));
  const auto growth = [&](Index short_chunk, Index long_chunk, bool recomputed) {
    return std::log2(static_cast<double>(run(4096, long_chunk, recomputed).first) /
                     static_cast<double>(run(256, short_chunk, recomputed).first)) /
           4;
  };
  CHECK(growth(16, 64, true) == Approx(0.5).margin(0.1));
  CHECK(growth(16, 64, false) == Approx(1).margin(0.1));
  CHECK(growth(64, 1024, true) == Approx(1).margin(0.1));  // four chunks, whatever the length
}
