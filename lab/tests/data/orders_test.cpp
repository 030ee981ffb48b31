#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "data/hypernyms.h"
#include "problems/captions.h"
#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/nn/metrics/ranking.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

/// A set of real data, or nothing where TAPEGRAD_DATA is not set.
const char* real_data() { return std::getenv("TAPEGRAD_DATA"); }

}  // namespace

TEST_CASE("features of images are weighed by count and rarity") {
  const std::vector<DescribedImage> images{{{"a dog", "a dog dog"}, {"x"}}, {{"a cat"}, {"y"}}};
  const DescriptionFeatures features(images, 10);
  CHECK(features.count() == 3);
  const auto dog = features.of(images[0]);
  REQUIRE(dog.size() == 1);  // every image has an "a"
  CHECK(dog[0].second == Approx(1));
  const auto both = features.of({{"a dog dog cat"}, {}});
  REQUIRE(both.size() == 2);
  std::map<Index, double> values(both.begin(), both.end());
  CHECK(values.at(features.in("dog")[0]) / values.at(features.in("cat")[0]) ==
        Approx(std::log(3) / std::log(2)));
  CHECK(features.of({{"unknown"}, {}}).empty());
  CHECK(DescriptionFeatures(images, 1).in("a dog") ==
        DescriptionFeatures(images, 1).in("a"));  // of equally frequent words, the first
}

TEST_CASE("captions end with a 0 that their lengths count") {
  const Vocabulary vocabulary = Vocabulary::of({"a", "dog"});
  const std::vector<std::string> lines{"a dog", "a red dog runs", ""};
  const SentenceBatch batch = caption_batch(vocabulary, lines);
  CHECK(batch.words.shape() == Shape{3, 5});
  const std::vector<Index> expected{2, 3, 0, 0, 0, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0};
  CHECK(std::ranges::equal(batch.words.values(), expected));
  CHECK(std::ranges::equal(batch.lengths.values(), std::vector<Index>{3, 5, 1}));
}

TEST_CASE("both searches take the right pairs from the order of captions") {
  // Two images with two captions each.
  const Tensor costs({4, 2}, {0, 1,  //
                              2, 1,  //
                              5, 4,  //
                              6, 3});
  const BothRetrievals found(costs);
  CHECK(found.image.recall_1 == 0.75);
  CHECK(found.image.mean == 1.25);
  CHECK(found.caption.recall_1 == 0.5);  // 0 for the first image; 1 and 1 beat 3 for the second
  CHECK(found.caption.median == 2);
}

TEST_CASE("all costs pair each caption with each image") {
  const CaptionSets sets = draw_caption_sets(3);
  const std::vector<DescribedImage> some(sets.test.begin(), sets.test.begin() + 40);
  const CaptionData data(sets);
  const auto& [all, vocabulary, features, train] = data;
  Random random(4);
  const OrderEmbedding net(vocabulary.count(), features.count(), random, {.words = 4, .hidden = 6});
  Cluster cluster;
  const Tensor costs = all_costs(net, data, some, cluster);
  REQUIRE(costs.shape() == Shape{120, 40});
  for (const auto& [image, caption, other] : {std::array{0, 0, 0}, {17, 2, 39}, {39, 1, 3}}) {
    const SentenceBatch batch = caption_batch(vocabulary, {&some[image].captions[caption], 1});
    const Tensor alone = net.costs(net.caption(batch.words, batch.lengths),
                                   net.image(feature_rows({features.of(some[other])}, 40)));
    CHECK(costs.data()[(3 * image + caption) * 40 + other] == Approx(alone.item()).margin(1e-6));
  }
}

TEST_CASE("drawn captions share no words with descriptions") {
  const CaptionSets sets = draw_caption_sets(1);
  CHECK(sets.captions_of_each() == 3);
  const DescriptionFeatures features(sets.train, 4096);
  CHECK(features.count() == 40);
  CHECK(min(equal(costs_by_shared_words(features, sets.test), 0)).item() == 1);
  CHECK(sets.digest() != draw_caption_sets(2).digest());
  CHECK(sets.test_digest() != draw_caption_sets(2).test_digest());
}

TEST_CASE("the closure agrees with Floyd and Warshall's") {
  Random random(5);
  for (int trial = 0; trial < 20; ++trial) {
    const Index count = 12;
    Hypernyms pairs;
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count, false));
    for (int i = 0; i < 18; ++i) {
      const Index a = random.below(count), b = random.below(count);
      if (a >= b) continue;  // no cycles
      pairs.push_back({a, b});
      reaches[a][b] = true;
    }
    for (Index k = 0; k < count; ++k)
      for (Index i = 0; i < count; ++i)
        for (Index j = 0; j < count; ++j)
          if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
    Hypernyms expected;
    for (Index i = 0; i < count; ++i)
      for (Index j = 0; j < count; ++j)
        if (reaches[i][j]) expected.push_back({i, j});
    CHECK(closure(count, pairs) == expected);
  }
  CHECK_THROWS_WITH(closure(3, {{0, 1}, {1, 2}, {2, 0}}), Contains("is a kind of itself"));
}

TEST_CASE("the parts of a hierarchy have no pair in common") {
  const Hierarchy hierarchy = draw_hierarchy(1);
  const auto count = std::ssize(hierarchy.names);
  const HypernymSets sets(hierarchy, 1);
  std::set<Hypernym> all(sets.train.begin(), sets.train.end());
  for (const HypernymExamples* part : {&sets.validation, &sets.test}) {
    CHECK(part->positive.size() == part->negative.size());
    for (std::size_t i = 0; i < part->positive.size(); ++i) {
      const Hypernym &right = part->positive[i], &wrong = part->negative[i];
      CHECK(all.insert(right).second);
      CHECK((right.general == wrong.general || right.specific == wrong.specific));
    }
  }
  const Hypernyms expected = closure(count, hierarchy.direct);
  CHECK(std::ranges::equal(all, expected));
  std::size_t holding = 0;
  for (const Hypernym& wrong : sets.test.negative) holding += all.contains(wrong);
  CHECK(sets.false_negatives * static_cast<double>(sets.test.negative.size()) == Approx(holding));
  CHECK(HypernymSets(hierarchy, 2).train != sets.train);
}

TEST_CASE("what follows from known pairs is classified right") {
  // 0 above 1 above 2 above 3; the test asks for (0, 2), which follows, and (0, 3), which does not.
  HypernymSets sets(draw_hierarchy(1), 1);
  sets.train = {{0, 1}};
  sets.validation = {{{1, 2}}, {{0, 3}}};
  sets.test = {{{0, 2}, {2, 3}}, {{3, 0}, {0, 2}}};
  CHECK(closure_accuracy(sets, 4) == 0.5);  // (2, 3) is missed, and the second (0, 2) holds
}

TEST_CASE("the order has a direction, and general concepts lie near the origin") {
  const Hypernyms all = closure(63, [] {  // a binary tree
    Hypernyms pairs;
    for (Index i = 1; i < 63; ++i) pairs.push_back({(i - 1) / 2, i});
    return pairs;
  }());
  Random random(6);
  const Embedding net(63, 8, random);
  Parameter weight = net.weight;
  weight.set(random.uniform(weight.shape(), 0, 0.1));
  Adam adam({weight}, {.learning_rate = 0.02});
  for (int step = 0; step < 300; ++step) {
    const Tape tape;
    const Tensor loss =
        mean(violations(net, all)) + mean(relu(1.0 - violations(net, corrupted(all, 63, random))));
    adam.step(grad(loss, adam.parameters()));
    weight.set(maximum(weight.value(), 0));
  }
  const Hypernyms wrong = corrupted(all, 63, random);
  const Threshold threshold = best_threshold(violations(net, all), violations(net, wrong));
  CHECK(threshold.accuracy > 0.75);
  Hypernyms turned = all;
  for (Hypernym& pair : turned) std::swap(pair.general, pair.specific);
  Hypernyms turned_wrong = wrong;
  for (Hypernym& pair : turned_wrong) std::swap(pair.general, pair.specific);
  CHECK(threshold_accuracy(threshold.bound, violations(net, turned),
                           violations(net, turned_wrong)) == Approx(0.5).margin(0.1));
  const Tensor lengths = norm(weight.value(), -1);
  const auto mean_length = [&](Index begin, Index end) {
    return mean(slice(lengths, 0, begin, end)).item();
  };
  CHECK(mean_length(0, 1) < mean_length(1, 7));
  CHECK(mean_length(1, 7) < mean_length(7, 31));
  CHECK(mean_length(7, 31) < mean_length(31, 63));
}

TEST_CASE("damaged hierarchies are refused by line") {
  const Scratch folder;
  const std::string names = "noun_closure.tsv.vocab", pairs = "noun_closure.tsv.train_0percent";
  const std::string good_names = "0\tdog.n.01\n1\tanimal.n.01\n", good_pairs = "1\t0\n";
  const auto reads = [&] { return read_wordnet_nouns((folder / "").string()); };
  write(folder / names, good_names);
  write(folder / pairs, good_pairs);
  const Hierarchy hierarchy = reads();
  CHECK(hierarchy.names == std::vector<std::string>{"dog.n.01", "animal.n.01", "entity.n.01"});
  CHECK(hierarchy.direct == Hypernyms{{1, 0}, {2, 1}});
  for (const auto& [text, message] : std::map<std::string, std::string>{
           {"1\t0\n1 0\n", "line 2: it is not two fields"},
           {"1\t0\t0\n", "line 1: it is not two fields"},
           {"1\t2\n", "line 1: it is not the number of a concept, below 2: 2"},
           {"1\t-1\n", "line 1: it is not the number"},
           {"1\t99999999999999999999\n", "line 1: it is not the number"},
           {"1\t0x\n", "line 1: it is not the number"},
           {"0\t0\n", "line 1: a concept is a kind of itself"},
           {"", "it has no pairs"}}) {
    write(folder / pairs, text);
    CHECK_THROWS_WITH(reads(), Contains(pairs) && Contains(message));
  }
  write(folder / pairs, good_pairs);
  for (const std::string text : {"0\ta\n2\tb\n", "1\ta\n", "0\t\n", "a\n", ""}) {
    write(folder / names, text);
    CHECK_THROWS_WITH(reads(), Contains(names));
  }
}

TEST_CASE("a small file of a hierarchy does not become a large one in memory") {
  const Scratch folder;
  const auto pairs = folder / "noun_closure.tsv.train_0percent.gz";
  write(folder / "noun_closure.tsv.vocab", "0\tdog.n.01\n1\tanimal.n.01\n");
  write_repeated(pairs, "1\t0\n", std::size_t{70} << 20);  // 16 bytes of memory for each 4
  CHECK_THROWS_WITH(read_wordnet_nouns((folder / "").string()), too_much_of(pairs));
}

TEST_CASE("why files of captions and hierarchies cannot be read") {
  const Scratch folder;
  const std::string captions = "train.lc.norm.tok.", images = "train.lc.norm.tok.1.de";
  for (int i = 1; i <= 5; ++i)
    for (const char* language : {".de", ".en"})
      write(folder / fmt::format("{}{}{}", captions, i, language), "a dog\na cat\n");
  write(folder / images, "a dog\n");
  CHECK_THROWS_WITH(
      read_caption_sets(folder.path),  // either may be wrong
      Contains(captions + "1.en has 2 lines, but ") && Contains(images + " has 1; each"));
  std::filesystem::remove(folder / images);
  std::filesystem::create_symlink(images, folder / images);
  CHECK_THROWS_WITH(read_caption_sets(folder.path),
                    Contains(images + ": ") && Contains("; name the file"));
  const std::string long_name(5000, 'n');
  CHECK_THROWS_WITH(read_wordnet_nouns(long_name), Contains("; name a shorter path"));
}

TEST_CASE("WordNet has the published counts") {
  if (real_data() == nullptr) return;
  const Hierarchy hierarchy = read_wordnet_nouns(real_data());
  const auto count = std::ssize(hierarchy.names);
  CHECK(count == 82'115);
  CHECK(closure(count, hierarchy.direct).size() == 743'241);
  const HypernymSets sets(hierarchy, 1);
  CHECK(sets.false_negatives == Approx(0.127).margin(0.02));
  CHECK(closure_accuracy(sets, count) == Approx(0.8825).margin(0.01));
}

TEST_CASE("Multi30k has the published counts") {
  if (real_data() == nullptr) return;
  const CaptionSets sets = read_caption_sets(real_data());
  CHECK(sets.train.size() == 29'000);
  CHECK(sets.validation.size() == 1'014);
  CHECK(sets.test.size() == 1'000);
  CHECK(sets.captions_of_each() == 5);
  CHECK(caption_vocabulary(sets.train, 5).count() == 7'444 + 2);
  const DescriptionFeatures features(sets.train, 4096);
  CHECK(features.count() == 4096);
  CHECK(BothRetrievals(costs_by_shared_words(features, sets.test)).image.recall_10 < 0.2);
}
