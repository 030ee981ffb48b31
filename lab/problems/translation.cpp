#include "problems/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/plain_text.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/nn/metrics/bleu.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

using Ids = std::vector<Index>;

std::vector<Ids> encoded(std::span<const std::string> lines, const Subwords& subwords) {
  std::vector<Ids> ids;
  for (const std::string& line : lines) ids.push_back(subwords.encode(line));
  return ids;
}

Index count(const Ids& ids) { return std::ssize(ids); }

// The chosen sequences, padded: (B, T). Each has one more token, `first` before it or `last`
// behind.
Indices padded(const std::vector<Ids>& all, const Ids& chosen, const Ids& first, const Ids& last) {
  Index longest = 0;
  for (const Index i : chosen) longest = std::max(longest, count(all[i]));
  Ids values;
  for (const Index i : chosen) {
    const Ids& ids = all[i];
    for (const Ids* part : {&first, &ids, &last})
      values.insert(values.end(), part->begin(), part->end());
    values.resize(values.size() + longest - count(ids), Subwords::pad);
  }
  return Indices({count(chosen), longest + 1}, values);
}

Indices lengths_with_end(const std::vector<Ids>& all, const Ids& chosen) {
  Ids lengths;
  for (const Index i : chosen) lengths.push_back(count(all[i]) + 1);
  return Indices({count(chosen)}, lengths);
}

// The text of a target's subwords.
std::string text_of(const std::vector<Hypothesis>& found, const Subwords& subwords) {
  if (found.empty()) return "";
  Ids ids = found.front().tokens;
  ids.pop_back();  // the end
  return subwords.decode(ids);
}

std::vector<double> as_numbers(const BleuCounts& counts) {
  std::vector<double> numbers{static_cast<double>(counts.length),
                              static_cast<double>(counts.reference_length)};
  for (const auto* part : {&counts.matches, &counts.total})
    numbers.insert(numbers.end(), part->begin(), part->end());
  return numbers;
}

BleuCounts as_counts(const std::vector<double>& numbers) {
  BleuCounts counts{.length = static_cast<Index>(numbers[0]),
                    .reference_length = static_cast<Index>(numbers[1])};
  for (std::size_t n = 0; n < bleu_order; ++n) {
    counts.matches[n] = static_cast<Index>(numbers[2 + n]);
    counts.total[n] = static_cast<Index>(numbers[2 + bleu_order + n]);
  }
  return counts;
}

std::vector<std::string> names_of(const Subwords& subwords, const Indices& ids) {
  std::vector<std::string> names;
  for (const Index id : ids.values()) names.push_back(readable(subwords.pieces()[id]));
  return names;
}

std::vector<std::string> both_sides(const ParallelLines& lines) {
  std::vector<std::string> all = lines.source;
  all.insert(all.end(), lines.target.begin(), lines.target.end());
  return all;
}

void score(Outcome& outcome, const std::vector<std::string>& translations,
           const TranslationData& data) {
  outcome.items = bleu_shares(translations, data.test().target);
  outcome.values["test"] = mean_of_items(outcome);
}

std::set<std::string> distinct_words(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  return {words.begin(), words.end()};
}

// For each test line the target of the training pair whose source is nearest to it: the cosine of
// their words, weighted by their rarity, log(pairs / pairs with the word).
std::vector<std::string> nearest_targets(const TranslationData& data) {
  const ParallelLines& train = data.sets.train;
  std::map<std::string, std::vector<std::size_t>> lines_with;
  for (std::size_t i = 0; i < train.source.size(); ++i)
    for (const std::string& word : distinct_words(train.source[i])) lines_with[word].push_back(i);
  const auto rarity = [&](const std::vector<std::size_t>& lines) {
    return std::log(static_cast<double>(train.source.size()) / lines.size());
  };
  std::vector<double> lengths(train.source.size());
  for (const auto& [word, lines] : lines_with)
    for (const std::size_t line : lines) lengths[line] += rarity(lines) * rarity(lines);
  std::vector<std::string> nearest;
  for (const std::string& line : data.test().source) {
    std::vector<double> shared(train.source.size());
    for (const std::string& word : distinct_words(line))
      if (const auto found = lines_with.find(word); found != lines_with.end())
        for (const std::size_t i : found->second)
          shared[i] += rarity(found->second) * rarity(found->second) / std::sqrt(lengths[i]);
    const auto best = std::max_element(shared.begin(), shared.end()) - shared.begin();
    nearest.push_back(train.target[best]);
  }
  return nearest;
}

std::string digest_of(const TranslationSets& sets) {
  Digest test;
  for (const TranslationSets::Test& each : sets.tests)
    for (const std::string& line : both_sides(each.lines)) test.add(line + "\n");
  return fmt::format("{}, test {}", sets.digest(), test.to_string());
}

BleuCounts without(const BleuCounts& all, const BleuCounts& one) {
  BleuCounts others = all;
  for (std::size_t n = 0; n < bleu_order; ++n) {
    others.matches[n] -= one.matches[n];
    others.total[n] -= one.total[n];
  }
  others.length -= one.length;
  others.reference_length -= one.reference_length;
  return others;
}

}  // namespace

EncodedPairs::EncodedPairs(const ParallelLines& lines, const Subwords& subwords)
    : source(encoded(lines.source, subwords)), target(encoded(lines.target, subwords)) {}

Index PairBatch::tokens() const {
  return targets.size() - std::ranges::count(targets.values(), Subwords::pad);
}

PairBatch PairBatch::part(Index begin, Index end) const {
  const auto rows = [&](const Indices& all) { return tapegrad::part(all, begin, end); };
  return {rows(source), rows(lengths), rows(inputs), rows(targets)};
}

std::vector<PairBatch> pair_batches(const EncodedPairs& pairs, Index tokens, Random* random) {
  std::vector<ExampleLengths> lengths;
  for (std::size_t i = 0; i < pairs.source.size(); ++i)
    lengths.push_back({count(pairs.target[i]) + 1, count(pairs.source[i]) + 1});
  std::vector<PairBatch> batches;
  for (const Ids& chosen : batches_by_length(lengths, tokens, random))
    batches.push_back({padded(pairs.source, chosen, {}, {Subwords::end}),
                       lengths_with_end(pairs.source, chosen),
                       padded(pairs.target, chosen, {Subwords::begin}, {}),
                       padded(pairs.target, chosen, {}, {Subwords::end})});
  return batches;
}

Tensor translation_loss(const Translator& net, const PairBatch& batch, double label_smoothing,
                        Mode mode) {
  return cross_entropy(net(batch.source, batch.lengths, batch.inputs, mode), batch.targets,
                       {.label_smoothing = label_smoothing, .ignore_index = Subwords::pad});
}

double translation_loss(const Translator& net, const std::vector<PairBatch>& batches,
                        double label_smoothing, Cluster& cluster) {
  const auto sums = cluster.sums(std::ssize(batches), 2, [&](const Shard& shard) {
    double loss = 0, tokens = 0;
    for (Index i = shard.begin; i < shard.end; ++i) {
      const PairBatch& batch = batches[i];
      const double own = batch.tokens();
      loss += translation_loss(net, batch, label_smoothing).item() * own;
      tokens += own;
    }
    return std::vector{loss, tokens};
  });
  return sums[0] / sums[1];
}

std::vector<std::string> translate(const Translator& net, const Subwords& subwords,
                                   std::span<const std::string> lines, Index width) {
  constexpr Index tokens = 8192;  // of a batch, for all prefixes of its beams
  const std::vector<Ids> sources = encoded(lines, subwords);
  std::vector<ExampleLengths> lengths;
  for (const Ids& source : sources) lengths.push_back({count(source) + 1, 0});
  std::vector<std::string> translations(lines.size());
  for (const Ids& chosen : batches_by_length(lengths, std::max<Index>(1, tokens / width))) {
    Ids longest;
    for (const Index i : chosen) longest.push_back(count(sources[i]) * 6 / 5 + 10);
    const auto found = net.translate(
        padded(sources, chosen, {}, {Subwords::end}), lengths_with_end(sources, chosen), longest,
        {.begin = Subwords::begin, .end = Subwords::end, .width = width});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Index line = chosen[i];
      if (!sources[line].empty()) translations[line] = text_of(found[i], subwords);
    }
  }
  return translations;
}

double translation_bleu(const Translator& net, const Subwords& subwords, const ParallelLines& lines,
                        Index width, Cluster& cluster) {
  const Index numbers = std::ssize(as_numbers({}));
  return bleu(as_counts(cluster.sums(lines.count(), numbers, [&](const Shard& shard) {
    const std::span<const std::string> sources(lines.source);
    const auto translations =
        translate(net, subwords, sources.subspan(shard.begin, shard.count()), width);
    BleuCounts counts;
    for (std::size_t i = 0; i < translations.size(); ++i)
      counts += bleu_counts(translations[i], lines.target[shard.begin + i]);
    return as_numbers(counts);
  })));
}

HeatMap attention_map(const Translator& net, const Subwords& subwords, const std::string& line,
                      const std::string& translation) {
  const EncodedPairs pair({{line}, {translation}}, subwords);
  const PairBatch batch = pair_batches(pair, 1).front();
  const std::vector<Tensor> layers = net.attention(batch.source, batch.lengths, batch.inputs);
  const Tensor& layer = layers[layers.size() < 2 ? 0 : layers.size() - 2];
  const Tensor weights = select(mean(layer, 1), 0) * 100.0;  // (Tt, Ts)
  HeatMap map{.title = readable(line),
              .rows = names_of(subwords, batch.targets),
              .columns = names_of(subwords, batch.source),
              .values = {},
              .unit = "attention in percent, from the translation's subwords to the source's"};
  for (Index t = 0; t < weights.shape()[0]; ++t) {
    const real* row = weights.data() + t * weights.shape()[1];
    map.values.emplace_back(row, row + weights.shape()[1]);
  }
  return map;
}

Subwords learn_subwords(const ParallelLines& pairs, Index most) {
  return Subwords::learn(both_sides(pairs), most);
}

TranslationData::TranslationData(const TranslationSets& all, const Subwords& known, Index tokens)
    : sets(all),
      subwords(known),
      batch_tokens(tokens),
      train(sets.train, subwords),
      validation(pair_batches({sets.validation, subwords}, tokens)) {}

TranslationTrainee::TranslationTrainee(const TranslationData& data,
                                       const TransformerModelOptions& options,
                                       const TranslationTraining& how, std::uint64_t seed,
                                       Random& random)
    : data_(data),
      how_(how),
      net_(data.subwords.count(), random, options),
      batches_(seed, [&data](Random& order) {
        return pair_batches(data.train, data.batch_tokens, &order);
      }) {}

Tensor TranslationTrainee::loss(Index step, const Shard& shard, Random& random) {
  const PairBatch& all = batches_.at(step);
  const PairBatch own = all.part(shard.begin, shard.end);
  const double weight = static_cast<double>(own.tokens()) / all.tokens() *
                        (static_cast<double>(all.rows()) / own.rows());
  named(own.source, "source");
  named(own.targets, "targets");
  return translation_loss(net_, own, how_.label_smoothing, training(random)) * weight;
}

Validation TranslationTrainee::validate() {
  RunningMean loss;
  for (const PairBatch& batch : data_.validation)
    loss.add(translation_loss(net_, batch, how_.label_smoothing).item(), batch.tokens());
  return {loss.value(), loss.value()};
}

void TranslationTrainee::test(Outcome& outcome) {
  const auto translated = [&](const ParallelLines& lines) {
    return translate(net_, data_.subwords, lines.source, how_.beam);
  };
  score(outcome, translated(data_.test()), data_);
  for (const auto& [name, lines] : std::span(data_.sets.tests).subspan(1))
    outcome.values[name] = bleu(translated(lines), lines.target);
}

bool TranslationTrainee::feeds_norms(const std::string& parameter) const {
  return parameter.starts_with("embedding.") || parameter.find(".output.") != std::string::npos ||
         parameter.find(".down.") != std::string::npos;
}

std::vector<double> bleu_shares(const std::vector<std::string>& translations,
                                const std::vector<std::string>& references) {
  const double score = bleu(translations, references);
  std::vector<BleuCounts> sentences;
  BleuCounts all;
  for (std::size_t i = 0; i < translations.size(); ++i)
    all += sentences.emplace_back(bleu_counts(translations[i], references[i]));
  RunningMean mean;
  for (const BleuCounts& each : sentences) mean.add(bleu(without(all, each)));
  const double others = sentences.size() - 1.0;
  std::vector<double> shares;
  for (const BleuCounts& each : sentences)
    shares.push_back(score + others * (mean.value() - bleu(without(all, each))));
  return shares;
}

Problem translation_problem(const TranslationSets& sets, const TranslationSizes& o) {
  const auto data = std::make_shared<const TranslationData>(
      sets, learn_subwords(sets.train, o.vocabulary), o.batch_tokens);
  const Index eval_interval = std::ssize(pair_batches(data->train, o.batch_tokens)) / o.validations;
  const auto tested = [data](const std::vector<std::string>& translations) {
    Outcome outcome;
    score(outcome, translations, *data);
    return outcome;
  };
  return {
      .source = sets.source,
      .data = digest_of(sets),
      .initial_values = "U(+-1/sqrt(inputs))\nsubwords N(0, 1/sqrt(channels))",
      .sizes = {{"layers", o.stack.layers},
                {"heads", o.stack.heads},
                {"channels", o.stack.channels},
                {"feed_forward", o.stack.feed_forward},
                {"dropouts",
                 {o.stack.dropout, o.stack.attention_dropout.value_or(o.stack.dropout),
                  o.stack.activation_dropout.value_or(o.stack.dropout)}},
                {"vocabulary", o.vocabulary},
                {"batch_tokens", o.batch_tokens},
                {"epochs", o.epochs},
                {"validations", o.validations},
                {"warmup", o.warmup},
                {"label_smoothing", o.label_smoothing},
                {"beam", o.beam}},
      .optimizer = {.optimizer = "adamw",
                    .schedule = "warmup",
                    .warmup = o.warmup,
                    .beta2 = 0.98,
                    .weight_decay = 1e-4},
      .steps = o.epochs * o.validations * eval_interval,
      .eval_interval = eval_interval,
      .rate = o.rate,
      .seconds = o.seconds,
      .trainee =
          [data, o](const lab::TaskTrial& trial, Random& random) {
            TransformerOptions stack = o.stack;
            stack.norm = NormSpec(trial.setting.norm);
            return std::make_unique<TranslationTrainee>(
                *data, TransformerModelOptions{.stack = stack, .positions = Positions::sinusoidal},
                TranslationTraining{o.label_smoothing, o.beam}, trial.trial.seed, random);
          },
      .baselines = {{"source_copied", [data, tested] { return tested(data->test().source); }},
                    {"nearest_source", [data, tested] { return tested(nearest_targets(*data)); }}}};
}

Problem translation_problem(const std::string& pair, const Origin& origin, Size size) {
  TranslationSets sets =
      origin.is_drawn()
          ? draw_translation_sets(origin.seed)
          : read_translation_sets(origin.directory, pair.substr(0, 2), pair.substr(3));
  if (size == Size::report) return translation_problem(sets);
  for (ParallelLines* lines : {&sets.train, &sets.validation, &sets.tests.front().lines}) {
    lines->source.resize(40);
    lines->target.resize(40);
  }
  return translation_problem(sets, {.stack = {.layers = 1,
                                              .heads = 2,
                                              .channels = 8,
                                              .feed_forward = 16,
                                              .activation = Activation::relu},
                                    .vocabulary = 60,
                                    .batch_tokens = 256,
                                    .epochs = 1,
                                    .validations = 1,
                                    .warmup = 2,
                                    .beam = 1,
                                    .seconds = 0.3});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
