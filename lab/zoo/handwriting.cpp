#include "tapegrad/zoo/handwriting.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/zoo/mixture.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr Index move_size = 3;

// x_0
Tensor start(Index batch) { return broadcast_to(Tensor({3}, {0, 0, 1}), {1, batch, move_size}); }

// LSTMs that all read `in` values, and those above the first also the layer below.
std::vector<RecurrentLayer> make_layers(Index in, Random& random, const HandwritingOptions& o) {
  expect_positive("handwriting", "layers", o.layers);
  std::vector<RecurrentLayer> layers;
  for (Index i = 0; i < o.layers; ++i)
    layers.emplace_back(Cell::lstm, i == 0 ? in : in + o.hidden, o.hidden, random, o.recurrent);
  return layers;
}

Linear make_output(Random& random, const HandwritingOptions& o) {
  expect_positive("handwriting", "components", o.components);
  return Linear(o.layers * o.hidden, 6 * o.components + 1, random);
}

// Runs the layers above the first over whole sequences.
//   in: what all of them read   h: of the first layer   returns the outputs of all, joined
Tensor upper_layers(const std::vector<RecurrentLayer>& layers, const Tensor& in, const Tensor& h,
                    std::vector<RecurrentState>& states, Mode mode) {
  std::vector<Tensor> outputs{h};
  for (std::size_t i = 1; i < layers.size(); ++i) {
    const RecurrentResult result = layers[i](concat({in, outputs.back()}, -1), states[i], {}, mode);
    states[i] = result.last;
    outputs.push_back(result.outputs);
  }
  return concat(outputs, -1);
}

void expect_moves(const char* operation, const Tensor& moves) {
  expect_defined(operation, moves);
  expect(moves.rank() == 3 && moves.shape()[0] > 0 && moves.shape()[2] == move_size,
         "{}: needs moves (T, B, 3): {}", operation, moves.shape());
}

}  // namespace

Tensor moves_before(const Tensor& moves, Place place) {
  const PlaceScope caller(place);
  expect_moves("moves_before", moves);
  return concat({start(moves.shape()[1]), slice(moves, 0, 0, -1)});
}

HandwritingPredictor::HandwritingPredictor(Random& random, const HandwritingOptions& options)
    : layers(make_layers(move_size, random, options)), output(make_output(random, options)) {}

HandwritingPredictor::Result HandwritingPredictor::operator()(
    const Tensor& before, const std::vector<RecurrentState>& states, Mode mode) const {
  expect_moves("handwriting", before);
  expect(states.empty() || states.size() == layers.size(),
         "handwriting: needs one state for each of {} layers: {} given", layers.size(),
         states.size());
  std::vector<RecurrentState> last =
      states.empty() ? std::vector<RecurrentState>(layers.size()) : states;
  const RecurrentResult first = layers[0](before, last[0], {}, mode);
  last[0] = first.last;
  const Tensor joined = upper_layers(layers, before, first.outputs, last, mode);
  return {output(joined), last};
}

Tensor HandwritingPredictor::sample(Index moves, Index batch, Random& random, double bias) const {
  expect_positive("handwriting: sample", "moves", moves);
  expect_positive("handwriting: sample", "batch", batch);
  const NoGrad constants;
  std::vector<Tensor> drawn{start(batch)};
  std::vector<RecurrentState> states;
  for (Index t = 0; t < moves; ++t) {
    const auto [numbers, last] = (*this)(drawn.back(), states);
    drawn.push_back(sample_mixture(numbers, random, bias));
    states = last;
  }
  return slice(concat(drawn), 0, 1, moves + 1);
}

HandwritingSynthesis::HandwritingSynthesis(Index characters, Random& random,
                                           const HandwritingSynthesisOptions& options)
    : layers(make_layers(move_size + expect_positive("handwriting", "characters", characters),
                         random, options.net)),
      window(options.net.hidden, random, options.bumps, options.advance),
      output(make_output(random, options.net)) {}

HandwritingSynthesis::State HandwritingSynthesis::first(Index batch) const {
  const Index characters = layers[0].input.weight.shape()[0] - move_size;
  State state{.layers = std::vector<RecurrentState>(layers.size()),
              .place = window.first(batch),
              .window = zeros({batch, characters})};
  state.layers[0] = layers[0].first(batch);
  return state;
}

HandwritingSynthesis::Result HandwritingSynthesis::operator()(const Tensor& before,
                                                              const Tensor& text,
                                                              const State& state, Mode mode) const {
  expect_moves("handwriting", before);
  State now = state;
  std::vector<Tensor> outputs, windows, weights;
  for (Index t = 0; t < before.shape()[0]; ++t) {
    now.layers[0] =
        layers[0].step(concat({select(before, t), now.window}, -1), now.layers[0], mode);
    const auto [seen, weight, place] = window(now.layers[0].h, now.place, text);
    now.window = seen;
    now.place = place;
    outputs.push_back(now.layers[0].h);
    windows.push_back(seen);
    weights.push_back(weight);
  }
  const Tensor joined =
      upper_layers(layers, concat({before, stack(windows)}, -1), stack(outputs), now.layers, mode);
  return {output(joined), stack(weights), now};
}

HandwritingSynthesis::Result HandwritingSynthesis::operator()(const Tensor& before,
                                                              const Tensor& text, Mode mode) const {
  expect_moves("handwriting", before);
  return (*this)(before, text, first(before.shape()[1]), mode);
}

HandwritingSynthesis::Written HandwritingSynthesis::write(const Tensor& text, Index most,
                                                          Random& random, double bias) const {
  expect_positive("handwriting: write", "most", most);
  expect_defined("handwriting: write", text);
  expect(text.rank() == 3, "handwriting: write: needs a text (B, U, C): {}", text.shape());
  const NoGrad constants;
  const Index batch = text.shape()[0], behind = text.shape()[1];
  const Tensor extended = concat({text, zeros(text.shape().with(1, 1))}, 1);
  std::vector<Tensor> moves{start(batch)}, weights;
  std::vector<Index> lengths(batch, most);
  State state = first(batch);
  for (Index t = 0; t < std::ranges::max(lengths); ++t) {
    const Result result = (*this)(moves.back(), extended, state);
    state = result.last;
    moves.push_back(sample_mixture(result.numbers, random, bias));
    weights.push_back(result.weights);
    const Indices looks_at = argmax(result.weights);
    for (std::size_t b = 0; b < lengths.size(); ++b)
      if (lengths[b] == most && looks_at.values()[b] == behind) lengths[b] = t + 1;
  }
  return {slice(concat(moves), 0, 1, std::ssize(moves)), Indices({batch}, lengths),
          concat(weights)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
