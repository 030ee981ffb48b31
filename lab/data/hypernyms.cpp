#include "data/hypernyms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/zoo/ranking_loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr std::size_t most_pairs = 10'000'000;

// The two fields of a line, separated by a tab. Throws DataError for other lines.
std::pair<std::string_view, std::string_view> fields_of(std::string_view line,
                                                        const std::string& place) {
  const std::size_t tab = line.find('\t');
  expect<DataError>(tab != std::string_view::npos && line.find('\t', tab + 1) == line.npos,
                    "{}: it is not two fields with a tab between them: {}", place,
                    beginning(std::string(line)));
  return {line.substr(0, tab), line.substr(tab + 1)};
}

// A number in [0, count). Throws DataError for other texts.
Index number_of(std::string_view text, Index count, const std::string& place) {
  Index number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  expect<DataError>(
      error == std::errc() && end == text.data() + text.size() && number >= 0 && number < count,
      "{}: it is not the number of a concept, below {}: {}", place, count,
      beginning(std::string(text)));
  return number;
}

// Adds a root above the concepts that have no hypernym.
void add_root(Hierarchy& hierarchy, const std::string& name) {
  const auto root = std::ssize(hierarchy.names);
  std::vector<bool> has_hypernym(hierarchy.names.size(), false);
  for (const Hypernym& pair : hierarchy.direct) has_hypernym[pair.specific] = true;
  for (Index i = 0; i < root; ++i)
    if (!has_hypernym[i]) hierarchy.direct.push_back({root, i});
  hierarchy.names.push_back(name);
}

// What pairs hold directly about each concept.
class Graph {
 public:
  Graph(Index count, const Hypernyms& pairs) : generals_(count), seen_(count, 0) {
    for (const Hypernym& pair : pairs) generals_[pair.specific].push_back(pair.general);
  }
  // All that a concept is a kind of, in the order in which it finds them.
  std::vector<Index> above(Index from) {
    ++searches_;
    std::vector<Index> found{from};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const Index general : generals_[found[i]]) {
        Index& seen = seen_[general];
        if (seen == searches_) continue;
        seen = searches_;
        found.push_back(general);
      }
    return {found.begin() + 1, found.end()};
  }

 private:
  std::vector<std::vector<Index>> generals_;
  std::vector<Index> seen_;  // by concept, the search that found it last
  Index searches_ = 0;
};

HypernymExamples examples_of(Hypernyms positive, Index count, Random random) {
  Hypernyms negative = corrupted(positive, count, random);
  return {std::move(positive), std::move(negative)};
}

}  // namespace

std::string Hierarchy::digest() const {
  Digest digest;
  for (const std::string& name : names) digest.add(name + "\n");
  for (const Hypernym& pair : direct)
    digest.add(fmt::format("{},{};", pair.general, pair.specific));
  return fmt::format("{} concepts, {}", names.size(), digest.to_string());
}

std::vector<std::string> read_concepts(const std::filesystem::path& path) {
  std::vector<std::string> names;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    const auto count = std::ssize(names);
    const std::string place = fmt::format("{}: line {}", path.string(), lines.number());
    const auto [number, name] = fields_of(*line, place);
    expect<DataError>(number_of(number, count + 1, place) == count && !name.empty(),
                      "{}: it is not concept {} with its name", place, count);
    lines.keep(in_growing_vector<std::string> + memory_of(names.emplace_back(name)));
  }
  expect<DataError>(!names.empty(), "{}: it has no concepts", path.string());
  return names;
}

Hypernyms read_hypernyms(const std::filesystem::path& path, Index count) {
  Hypernyms pairs;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    const std::string place = fmt::format("{}: line {}", path.string(), lines.number());
    const auto [general, specific] = fields_of(*line, place);
    lines.keep(in_growing_vector<Hypernym>);
    pairs.push_back({number_of(general, count, place), number_of(specific, count, place)});
    expect<DataError>(pairs.back().general != pairs.back().specific,
                      "{}: a concept is a kind of itself", place);
  }
  expect<DataError>(!pairs.empty(), "{}: it has no pairs", path.string());
  return pairs;
}

Hierarchy read_wordnet_nouns(const std::string& directory) {
  const auto find = [&](const char* file) {
    return find_data_file(directory, "wordnet-hypernyms", file);
  };
  Hierarchy hierarchy{directory, read_concepts(find("noun_closure.tsv.vocab")), {}};
  hierarchy.direct =
      read_hypernyms(find("noun_closure.tsv.train_0percent"), std::ssize(hierarchy.names));
  add_root(hierarchy, "entity.n.01");
  return hierarchy;
}

Hierarchy draw_hierarchy(std::uint64_t seed) {
  Random random = Random(seed).stream(9);
  Hierarchy hierarchy{"a tree of concepts drawn by this program", {}, {}};
  for (Index i = 0; i < 2000; ++i) {
    hierarchy.names.push_back(fmt::format("concept_{}", i));
    if (i > 0) hierarchy.direct.push_back({random.below(i), i});
  }
  add_root(hierarchy, "root");
  return hierarchy;
}

Hypernyms closure(Index count, const Hypernyms& pairs) {
  Graph graph(count, pairs);
  Hypernyms all;
  for (Index specific = 0; specific < count; ++specific)
    for (const Index general : graph.above(specific)) {
      expect<DataError>(general != specific, "hypernyms: concept {} is a kind of itself", specific);
      expect<DataError>(all.size() < most_pairs, "hypernyms: more than {} pairs follow",
                        most_pairs);
      all.push_back({general, specific});
    }
  std::ranges::sort(all);
  return all;
}

HypernymSets::HypernymSets(const Hierarchy& hierarchy, std::uint64_t seed) {
  const auto count = std::ssize(hierarchy.names);
  const Hypernyms all = closure(count, hierarchy.direct);
  const std::size_t part = std::min<std::size_t>(4000, all.size() / 10);
  expect<DataError>(part > 0, "{}: {} pairs are too few", hierarchy.source, all.size());
  Random random = Random(seed).stream(10);
  Hypernyms shuffled;
  for (const Index i : random.permutation(std::ssize(all)).values()) shuffled.push_back(all[i]);
  const auto cut = [&](std::size_t begin, std::size_t end) {
    return Hypernyms(shuffled.begin() + begin, shuffled.begin() + end);
  };
  validation = examples_of(cut(0, part), count, random.stream(1));
  test = examples_of(cut(part, 2 * part), count, random.stream(2));
  train = cut(2 * part, all.size());
  const auto holds = [&](const Hypernym& pair) { return std::ranges::binary_search(all, pair); };
  false_negatives =
      static_cast<double>(std::ranges::count_if(test.negative, holds)) / test.negative.size();
}

Hypernyms corrupted(const Hypernyms& pairs, Index count, Random& random) {
  Hypernyms result = pairs;
  for (Hypernym& pair : result)
    (random.below(2) == 0 ? pair.general : pair.specific) = random.below(count);
  return result;
}

Tensor violations(const Embedding& net, std::span<const Hypernym> pairs) {
  const auto side = [&](Index Hypernym::*which, const char* name) {
    Indices ids = Indices::uninitialized({std::ssize(pairs)});
    std::ranges::transform(pairs, ids.mutable_data(), which);
    return net(named(ids, name));
  };
  return order_violation(side(&Hypernym::general, "general"),
                         side(&Hypernym::specific, "specific"));
}

double closure_accuracy(const HypernymSets& sets, Index count) {
  Hypernyms known = sets.train;
  known.insert(known.end(), sets.validation.positive.begin(), sets.validation.positive.end());
  Graph graph(count, known);
  const auto follows = [&](const Hypernym& pair) {
    const std::vector<Index> above = graph.above(pair.specific);
    return std::ranges::find(above, pair.general) != above.end();
  };
  const auto right = std::ranges::count_if(sets.test.positive, follows) +
                     std::ssize(sets.test.negative) -
                     std::ranges::count_if(sets.test.negative, follows);
  return static_cast<double>(right) / (sets.test.positive.size() + sets.test.negative.size());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
