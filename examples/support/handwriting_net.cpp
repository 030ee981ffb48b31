#include "support/handwriting_net.h"

#include <algorithm>
#include <numeric>

#include "tapegrad/ops/layout.h"
#include "tapegrad/zoo/mixture.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using AnyNet = std::variant<HandwritingPredictor, HandwritingSynthesis>;

AnyNet make_net(bool with_text, Random& random, const HandwritingSynthesisOptions& options) {
  if (with_text) return HandwritingSynthesis(digit_count, random, options);
  return HandwritingPredictor(random, options.net);
}

Tensor texts_of(std::span<const WrittenLine> lines) {
  const auto batch = static_cast<Index>(lines.size());
  Indices lengths = Indices::uninitialized({batch});
  for (Index b = 0; b < batch; ++b)
    lengths.mutable_data()[b] =
        static_cast<Index>(lines[static_cast<std::size_t>(b)].digits.size());
  const Index longest = *std::ranges::max_element(lengths.values());
  std::vector<Index> digits(static_cast<std::size_t>(batch * longest), 0);
  auto row = digits.begin();
  for (const WrittenLine& line : lines) {
    std::ranges::copy(line.digits, row);
    row += longest;
  }
  return window_text(Indices({batch, longest}, digits), lengths, digit_count);
}

}  // namespace

double HandwritingBatch::moves() const {
  const auto lengths = strokes.lengths.values();
  return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), Index{0}));
}

Tensor HandwritingBatch::counted() const {
  return select(running(strokes.lengths, 0, strokes.moves.shape()[0]), 0, -1);
}

HandwritingBatch handwriting_batch(std::span<const WrittenLine> lines) {
  std::vector<Strokes> strokes;
  for (const WrittenLine& line : lines) strokes.push_back(line.moves);
  HandwritingBatch batch{.strokes = stroke_batch(strokes), .text = {}};
  if (!lines.front().digits.empty()) batch.text = texts_of(lines);
  return batch;
}

std::vector<std::vector<WrittenLine>> line_batches(const std::vector<WrittenLine>& lines,
                                                   Index size) {
  std::vector<std::vector<WrittenLine>> batches;
  for (auto next = lines.begin(); lines.end() - next >= size; next += size)
    batches.emplace_back(next, next + size);
  return batches;
}

std::vector<WrittenLine> without_text(std::vector<WrittenLine> lines) {
  for (WrittenLine& line : lines) line.digits.clear();
  return lines;
}

double moves_of(std::span<const WrittenLine> lines) {
  double moves = 0;
  for (const WrittenLine& line : lines) moves += static_cast<double>(line.moves.size());
  return moves;
}

Tensor text_of(const std::vector<Index>& digits) {
  return texts_of(std::vector<WrittenLine>{{{}, digits}});
}

HandwritingNet::HandwritingNet(bool with_text, Random& random,
                               const HandwritingSynthesisOptions& options)
    : net(make_net(with_text, random, options)) {}

Tensor HandwritingNet::nll(const HandwritingBatch& batch, Mode mode) const {
  const Tensor& moves = batch.strokes.moves;
  const Tensor before = moves_before(moves);
  const auto* synthesis = std::get_if<HandwritingSynthesis>(&net);
  const Tensor numbers = synthesis != nullptr
                             ? (*synthesis)(before, batch.text, mode).numbers
                             : std::get<HandwritingPredictor>(net)(before, {}, mode).numbers;
  return mixture_nll(numbers, moves, {.counted = batch.counted()});
}

double HandwritingNet::cost(std::span<const WrittenLine> lines) const {
  constexpr std::size_t most = 16;  // lines at a time
  double nats = 0;
  for (std::size_t begin = 0; begin < lines.size(); begin += most) {
    const HandwritingBatch batch =
        handwriting_batch(lines.subspan(begin, std::min(most, lines.size() - begin)));
    nats += nll(batch).item() * batch.moves();
  }
  return nats;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
