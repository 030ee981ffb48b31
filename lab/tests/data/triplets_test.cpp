#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <set>

#include "models/nets.h"
#include "problems/skip_thoughts.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

std::filesystem::path written(const Scratch& folder, const std::string& text) {
  write_file(folder / "books", std::as_bytes(std::span(text)));
  return folder / "books";
}

const std::string two_books =
    "_BOOK_TITLE_ : One.txt\nA cat sat .\nIt saw a Dog .\r\n\nThe dog ran .\n"
    "_BOOK_TITLE_ : Two\nA .\nB .\nC .\nD .\n";

SkipThoughts make_net(const Vocabulary& vocabulary, std::uint64_t seed = 1) {
  Random random(seed);
  return SkipThoughts(vocabulary.count(), random, {.words = 4, .hidden = 6});
}

}  // namespace

TEST_CASE("books are read sentence by sentence, in lower case") {
  const Scratch folder;
  const std::vector<Book> books = read_books(written(folder, two_books));
  REQUIRE(books.size() == 2);
  CHECK_THAT(books[0].title, Contains("One.txt"));
  REQUIRE(books[0].sentences.size() == 4);
  CHECK(books[0].sentences[1] == Words{"it", "saw", "a", "dog", "."});
  CHECK(books[0].sentences[2].empty());
  CHECK(books[1].sentences.size() == 4);
}

TEST_CASE("damaged books are refused by line") {
  const Scratch folder;
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"a sentence .\n_BOOK_TITLE_ : A\n", "line 1: a sentence before the first"},
           {"_BOOK_TITLE_ : A\nb .\n_BOOK_TITLE_\n", "line 3: it is not _BOOK_TITLE_ : and a"},
           {"_BOOK_TITLE_ :\n", "line 1: it is not _BOOK_TITLE_ : and a title"},
           {"_BOOK_TITLE_ A B\n", "line 1: it is not _BOOK_TITLE_ : and a title"},
           {"", "it has no books"}}) {
    CHECK_THROWS_WITH(read_books(written(folder, text)), Contains(message));
    CHECK_THROWS_WITH(read_books(folder / "books"), Contains("books: "));
  }
  const std::vector<Book> books = read_books(written(folder, two_books));
  CHECK_THROWS_WITH(triplet_sets("here", books, {books[0]}), Contains("here: no book has three"));
}

TEST_CASE("a triplet has three short sentences of one book") {
  const Scratch folder;
  const std::vector<Book> books = read_books(written(folder, two_books));
  CHECK(triplets_of(books[0]).empty());  // an empty line stands between
  const std::vector<Triplet> all = triplets_of(books[1]);
  REQUIRE(all.size() == 2);
  CHECK(all[0].previous == Words{"a", "."});
  CHECK(all[0].current == Words{"b", "."});
  CHECK(all[0].next == Words{"c", "."});
  CHECK(all[1].next == Words{"d", "."});
  CHECK(triplets_of(books[1], 2).size() == 2);
  CHECK(triplets_of(books[1], 1).empty());
  const TripletSets sets = triplet_sets("here", {books[1], books[0]}, {books[1]});
  CHECK(sets.train.size() == 2);
  CHECK(sets.counts.at("dog") == 2);  // sentences without a triplet count, too
  CHECK(sets.digest() != triplet_sets("here", {books[1]}, {books[1]}).digest());
  TripletSets other = sets;
  other.train.push_back(other.validation.front());
  other.validation.erase(other.validation.begin());
  CHECK(sets.digest() != other.digest());
}

TEST_CASE("the neighbours of drawn sentences are about the same person") {
  const TripletSets sets = draw_triplet_sets(1);
  CHECK(sets.train.size() == 1800);
  CHECK(sets.validation.size() == 240);
  CHECK(sets.counts.size() <= 60);
  CHECK(sets.digest() != draw_triplet_sets(2).digest());
  const std::set<std::string> persons{"anna",  "ben",   "clara", "david", "emma", "felix",
                                      "grace", "henry", "ida",   "jacob", "kate", "leo"};
  const auto person = [&](const Words& words) {
    std::string found;
    for (const std::string& word : words)
      if (persons.contains(word)) found = word;
    return found;
  };
  for (const Triplet& triplet : sets.validation) {
    const std::string who = person(triplet.current);
    for (const Words* words : {&triplet.previous, &triplet.next})
      CHECK((who.empty() || person(*words).empty() || person(*words) == who));
  }
}

TEST_CASE("batches have current sentences of one length and every triplet once") {
  const TripletSets sets = draw_triplet_sets(1);
  const Vocabulary vocabulary(sets.counts, 1);
  Random random(2);
  const auto batches = triplet_batches(sets.train, vocabulary, 64, &random);
  Index rows = 0, words = 0, expected = 0;
  for (const TripletBatch& batch : batches) {
    CHECK(batch.rows() <= 64);
    rows += batch.rows();
    words += batch.words();
    for (const Index length : batch.current.lengths.values())
      CHECK(length == batch.current.words.shape()[1]);
    const TripletBatch part = batch.part(1, batch.rows());
    CHECK(part.rows() == batch.rows() - 1);
    CHECK(part.next.lengths.data()[0] == batch.next.lengths.data()[1]);
  }
  for (const Triplet& triplet : sets.train)
    expected += static_cast<Index>(triplet.previous.size() + triplet.next.size()) + 2;
  CHECK(rows == 1800);
  CHECK(words == expected);
  Random other(3);
  const auto shuffled = triplet_batches(sets.train, vocabulary, 64, &other);
  CHECK(shuffled.size() == batches.size());
  CHECK(!std::ranges::equal(shuffled[0].next.words.values(), batches[0].next.words.values()));
}

TEST_CASE("the loss of a batch is the mean over its words, however it is divided") {
  const TripletSets sets = draw_triplet_sets(1);
  const Vocabulary vocabulary(sets.counts, 1);
  const SkipThoughts net = make_net(vocabulary);
  Random random(4);
  enlarge(net, random);
  const TripletBatch batch(vocabulary, std::span(sets.train).first(7));
  const double whole = net.loss(batch.previous, batch.current, batch.next).item();
  const double first = triplet_loss(net, batch, {.index = 0, .begin = 0, .end = 3}).item(),
               second = triplet_loss(net, batch, {.index = 1, .begin = 3, .end = 7}).item();
  CHECK((3 * first + 4 * second) / 7 == Approx(whole).epsilon(1e-5));
  Cluster cluster;
  const double once = word_nll(net, {batch}, cluster);
  CHECK(once == Approx(whole).epsilon(1e-6));
  CHECK(word_nll(net, {batch.part(0, 3), batch.part(3, 7)}, cluster) ==
        Approx(whole).epsilon(1e-5));
  CHECK(strange_nll(net, {batch}, cluster) != Approx(whole).epsilon(1e-4));
}

TEST_CASE("the baseline knows how frequent words are") {
  const Triplet one{{"a"}, {"b"}, {"a"}}, other{{"c"}, {"b"}, {"a"}};
  const TripletSets sets{"", {one}, {other}, {{"a", 2}, {"b", 1}}};
  // Told are a 0 a 0, of five words: two more than the vocabulary, c among the unknown.
  const Vocabulary vocabulary(sets.counts, 1);
  CHECK(vocabulary.count() == 4);
  // After c: 0 a 0, each seen twice of 4 words, with one more of each.
  CHECK(frequency_nll(sets, vocabulary) == Approx(-std::log(3.0 / 8)));
}

TEST_CASE("vectors of sentences stand in their order") {
  const TripletSets sets = draw_triplet_sets(1);
  const Vocabulary vocabulary(sets.counts, 1);
  const SkipThoughts net = make_net(vocabulary);
  std::vector<Words> sentences;
  for (std::size_t i = 0; i < 150; ++i) sentences.push_back(sets.train[i].current);
  sentences[7] = {};
  CHECK_THROWS_AS(sentence_vectors(net, vocabulary, {Words(1001, "a")}), DataError);
  const Tensor vectors = sentence_vectors(net, vocabulary, sentences);
  CHECK(vectors.shape() == Shape{150, 6});
  for (const Index i : {0, 7, 149}) {
    const Tensor alone =
        net.vectors(ended_batch(vocabulary, {sentences[static_cast<std::size_t>(i)]}));
    for (Index k = 0; k < 6; ++k)
      CHECK(vectors.data()[6 * i + k] == Approx(alone.data()[k]).margin(1e-6));
  }
  const auto found = nearest(vectors, select(vectors, 7), 3);
  REQUIRE(found.size() == 3);
  CHECK(found[0].sentence == 7);
  CHECK(found[0].cosine == Approx(1));
  CHECK(found[1].cosine <= found[0].cosine);
  CHECK(found[2].cosine <= found[1].cosine);
  CHECK(nearest(vectors, select(vectors, 7), 1000).size() == 150);
}

TEST_CASE("the Children's Book Test has the published counts") {
  const char* data = std::getenv("TAPEGRAD_DATA");
  if (data == nullptr) return;
  const TripletSets sets = read_triplet_sets(data);
  CHECK(sets.train.size() == 16677);
  CHECK(sets.validation.size() == 737);
  CHECK(sets.counts.size() == 15770);
  CHECK(triplet_batches(sets.train, Vocabulary::most_frequent(sets.counts, 4000), 64).size() ==
        275);
}
