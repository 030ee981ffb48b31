#include "support/translation.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/readable.h"
#include "tapegrad/nn/data/batches.h"
#include "tapegrad/nn/data/examples.h"
#include "tapegrad/nn/metrics/bleu.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using Ids = std::vector<Index>;

std::vector<Ids> encoded(std::span<const std::string> lines, const Subwords& subwords) {
  std::vector<Ids> ids;
  for (const std::string& line : lines) ids.push_back(subwords.encode(line));
  return ids;
}

Index count(const Ids& ids) { return static_cast<Index>(ids.size()); }

// The chosen sequences, padded: (B, T). Each has one more token, `first` before it or `last`
// behind.
Indices padded(const std::vector<Ids>& all, const Ids& chosen, const Ids& first, const Ids& last) {
  Index longest = 0;
  for (const Index i : chosen) longest = std::max(longest, count(all[static_cast<std::size_t>(i)]));
  Ids values;
  for (const Index i : chosen) {
    const Ids& ids = all[static_cast<std::size_t>(i)];
    for (const Ids* part : {&first, &ids, &last})
      values.insert(values.end(), part->begin(), part->end());
    values.resize(values.size() + static_cast<std::size_t>(longest - count(ids)), Subwords::pad);
  }
  return Indices({count(chosen), longest + 1}, values);
}

Indices lengths_with_end(const std::vector<Ids>& all, const Ids& chosen) {
  Ids lengths;
  for (const Index i : chosen) lengths.push_back(count(all[static_cast<std::size_t>(i)]) + 1);
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
  for (const Index id : ids.values())
    names.push_back(readable(subwords.pieces()[static_cast<std::size_t>(id)]));
  return names;
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
  const auto sums = cluster.sums(static_cast<Index>(batches.size()), 2, [&](const Shard& shard) {
    double loss = 0, tokens = 0;
    for (Index i = shard.begin; i < shard.end; ++i) {
      const PairBatch& batch = batches[static_cast<std::size_t>(i)];
      const auto own = static_cast<double>(batch.tokens());
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
    for (const Index i : chosen)
      longest.push_back(count(sources[static_cast<std::size_t>(i)]) * 6 / 5 + 10);
    const auto found = net.translate(
        padded(sources, chosen, {}, {Subwords::end}), lengths_with_end(sources, chosen), longest,
        {.begin = Subwords::begin, .end = Subwords::end, .width = width});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto line = static_cast<std::size_t>(chosen[i]);
      if (!sources[line].empty()) translations[line] = text_of(found[i], subwords);
    }
  }
  return translations;
}

double translation_bleu(const Translator& net, const Subwords& subwords, const ParallelLines& lines,
                        Index width, Cluster& cluster) {
  const Index numbers = static_cast<Index>(as_numbers({}).size());
  return bleu(as_counts(cluster.sums(lines.count(), numbers, [&](const Shard& shard) {
    const std::span<const std::string> sources(lines.source);
    const auto begin = static_cast<std::size_t>(shard.begin);
    const auto translations = translate(
        net, subwords, sources.subspan(begin, static_cast<std::size_t>(shard.count())), width);
    BleuCounts counts;
    for (std::size_t i = 0; i < translations.size(); ++i)
      counts += bleu_counts(translations[i], lines.target[begin + i]);
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

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
