#include "problems/handwriting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "experiments/drift_training.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/zoo/mixture.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

constexpr Index lines_at_a_time = 16;

using AnyNet = std::variant<HandwritingPredictor, HandwritingSynthesis>;

AnyNet make_net(bool with_text, Random& random, const HandwritingSynthesisOptions& options) {
  if (with_text) return HandwritingSynthesis(digit_count, random, options);
  return HandwritingPredictor(random, options.net);
}

Tensor texts_of(std::span<const WrittenLine> lines) {
  const auto batch = std::ssize(lines);
  Indices lengths = Indices::uninitialized({batch});
  for (Index b = 0; b < batch; ++b) lengths.mutable_data()[b] = std::ssize(lines[b].digits);
  const Index longest = *std::ranges::max_element(lengths.values());
  std::vector<Index> digits(batch * longest, 0);
  auto row = digits.begin();
  for (const WrittenLine& line : lines) {
    std::ranges::copy(line.digits, row);
    row += longest;
  }
  return window_text(Indices({batch, longest}, digits), lengths, digit_count);
}

// The lines without their texts, unless the net is to write them.
Lines lines_for(bool with_text, Lines lines) {
  if (!with_text)
    for (WrittenLine& line : lines) line.digits.clear();
  return lines;
}

Outcome density_without_net(const HandwritingSets& sets, double HandwritingBaselines::*value) {
  Random order = Random(1).stream(1);
  return {.values = {{"test", handwriting_baselines(sets.train(order), sets.test).*value}}};
}

}  // namespace

double HandwritingBatch::moves() const {
  const auto lengths = strokes.lengths.values();
  return std::accumulate(lengths.begin(), lengths.end(), Index{0});
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

std::vector<Lines> line_batches(const Lines& lines, Index size) {
  std::vector<Lines> batches;
  for (auto next = lines.begin(); lines.end() - next >= size; next += size)
    batches.emplace_back(next, next + size);
  return batches;
}

double moves_of(std::span<const WrittenLine> lines) {
  double moves = 0;
  for (const WrittenLine& line : lines) moves += line.moves.size();
  return moves;
}

double moves_a_line(std::span<const WrittenLine> lines) { return moves_of(lines) / lines.size(); }

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
  constexpr std::size_t most = lines_at_a_time;
  double nats = 0;
  for (std::size_t begin = 0; begin < lines.size(); begin += most) {
    const HandwritingBatch batch =
        handwriting_batch(lines.subspan(begin, std::min(most, lines.size() - begin)));
    nats += nll(batch).item() * batch.moves();
  }
  return nats;
}

double mean_cost(const HandwritingNet& net, const Lines& lines, Cluster& cluster) {
  const auto count = std::ssize(lines);
  const auto sums =
      cluster.sums((count + lines_at_a_time - 1) / lines_at_a_time, 2, [&](const Shard& groups) {
        const Index begin = groups.begin * lines_at_a_time,
                    end = std::min<Index>(groups.end * lines_at_a_time, count);
        const auto own = std::span(lines).subspan(begin, end - begin);
        return std::vector{net.cost(own), moves_of(own)};
      });
  return sums[0] / sums[1];
}

HandwritingTrainee::HandwritingTrainee(const HandwritingSets& sets, bool with_text,
                                       const HandwritingSynthesisOptions& options, Index batch_size,
                                       std::uint64_t seed, Random& random)
    : with_text_(with_text),
      net_(with_text, random, options),
      validation_(lines_for(with_text, sets.validation)),
      test_(lines_for(with_text, sets.test)),
      batches_(seed, [this, &sets, batch_size](Random& order) {
        return line_batches(lines_for(with_text_, sets.train(order)), batch_size);
      }) {}

Tensor HandwritingTrainee::loss(Index step, const Shard& shard, Random& random) {
  const std::span all(batches_.at(step));
  const auto own = all.subspan(shard.begin, shard.count());
  const double weight = moves_a_line(own) / moves_a_line(all);
  const HandwritingBatch batch = handwriting_batch(own);
  named(batch.strokes.moves, "moves");
  if (batch.text.defined()) named(batch.text, "text");
  return net_.nll(batch, training(random)) * weight;
}

Validation HandwritingTrainee::validate() {
  const double nats = net_.cost(validation_) / moves_of(validation_);
  return {nats, nats, {{"gradient_norm", std::exchange(recent_gradient_, 0)}}};
}

// Line by line, so that the mean over lines is that over moves.
void HandwritingTrainee::test(Outcome& outcome) {
  for (const WrittenLine& line : test_)
    outcome.items.push_back(net_.cost({&line, 1}) / moves_a_line(test_));
  outcome.values["test"] = mean_of_items(outcome);
  outcome.values["largest_gradient"] = largest_gradient_;
}

void HandwritingTrainee::watch(const std::vector<Tensor>& gradients) {
  recent_gradient_ = std::max<double>(recent_gradient_, global_norm(gradients));
  largest_gradient_ = std::max(largest_gradient_, recent_gradient_);
}

Problem handwriting_problem(const HandwritingSets& sets, bool with_text,
                            const HandwritingSizes& o) {
  const auto data = std::make_shared<const HandwritingSets>(sets);
  return {.source = sets.source,
          .data = fmt::format("{}, test {}", sets.digest, sets.test_digest()),
          .initial_values = "U(+-1/sqrt(inputs))",
          .sizes = {{"layers", o.model.net.layers},
                    {"hidden", o.model.net.hidden},
                    {"components", o.model.net.components},
                    {"bumps", o.model.bumps},
                    {"moves", sets.lines.moves},
                    {"batch_size", o.batch_size},
                    {"steps", o.steps},
                    {"eval_interval", o.eval_interval}},
          .optimizer = {.schedule = "constant", .clip_norm = 10},
          .steps = o.steps,
          .eval_interval = o.eval_interval,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [data, with_text, o](const lab::TaskTrial& trial, Random& random) {
                HandwritingSynthesisOptions options = o.model;
                options.net.recurrent.norm = lab::norm_and_constraints(trial.setting.norm).norm;
                return std::make_unique<HandwritingTrainee>(*data, with_text, options, o.batch_size,
                                                            trial.trial.seed, random);
              },
          .baselines = {{"one_density",
                         [data] { return density_without_net(*data, &HandwritingBaselines::one); }},
                        {"by_pen", [data] {
                           return density_without_net(*data, &HandwritingBaselines::by_pen);
                         }}}};
}

Problem handwriting_problem(const std::string& task, const Origin& origin, Size size) {
  constexpr Index moves = 300;
  const bool with_text = task == "written_digits";
  const std::uint64_t seed = origin.seed + (task == "omniglot" ? 1 : task == "kanji" ? 2 : 0);
  HandwritingSets sets = origin.is_drawn() || with_text
                             ? write_handwriting_sets(seed)
                             : read_handwriting_sets(task, origin.directory, moves);
  if (size == Size::report) return handwriting_problem(sets, with_text);
  for (Lines* lines : {&sets.validation, &sets.test}) lines->resize(4);
  return handwriting_problem(
      sets, with_text,
      {.model = {.net = {.layers = 2, .hidden = 8, .components = 2}, .bumps = 2, .advance = 0.057},
       .batch_size = 4,
       .steps = 4,
       .eval_interval = 1,
       .seconds = 0.1});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
