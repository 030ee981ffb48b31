#include "data/books.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "data/plain_text.h"
#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/core/random.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/io/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr std::string_view title_mark = "_BOOK_TITLE_";

Book draw_book(Random& random) {
  constexpr std::array names{"anna",  "ben",   "clara", "david", "emma", "felix",
                             "grace", "henry", "ida",   "jacob", "kate", "leo"};
  constexpr std::array objects{"kite", "lamp",  "drum", "boat", "cake", "coat",
                               "door", "stone", "ring", "tree", "bell", "book"};
  constexpr std::array colors{"red", "green", "blue", "white", "black", "yellow"};
  constexpr std::array sentences{"{0} saw the {1} .", "{0} looked at the {2} {1} again .",
                                 "the {1} was {2} , said {0} .", "where is my {1} ? asked {0} .",
                                 "then {0} took the {1} home ."};
  const auto drawn = [&](const auto& list) { return list[random.below(std::ssize(list))]; };
  const char *person = drawn(names), *thing = drawn(objects), *color = drawn(colors);
  Book book;
  for (int i = 0; i < 8; ++i)
    book.sentences.push_back(
        words_of(fmt::format(fmt::runtime(drawn(sentences)), person, thing, color)));
  return book;
}

std::vector<Book> draw_books(Index count, Random random) {
  std::vector<Book> books;
  for (Index i = 0; i < count; ++i) books.push_back(draw_book(random));
  return books;
}

std::vector<Triplet> triplets_of_all(const std::vector<Book>& books, const std::string& source) {
  std::vector<Triplet> result;
  for (const Book& book : books) std::ranges::move(triplets_of(book), std::back_inserter(result));
  expect<DataError>(!result.empty(), "{}: no book has three short sentences in a row", source);
  return result;
}

}  // namespace

void add_line(Digest& digest, const Words& words) {
  for (const std::string& word : words) digest.add(word + " ");
  digest.add("\n");
}

std::string TripletSets::digest() const {
  Digest digest;
  for (const auto* set : {&train, &validation})
    for (const Triplet& triplet : *set)
      for (const Words* words : {&triplet.previous, &triplet.current, &triplet.next})
        add_line(digest, *words);
  digest.add(fmt::format("{} {}\n", train.size(), validation.size()));
  for (const auto& [word, count] : counts) add_line(digest, {word, std::to_string(count)});
  return fmt::format("{} triplets, {}", train.size() + validation.size(), digest.to_string());
}

std::vector<Book> read_books(const std::filesystem::path& path) {
  std::vector<Book> books;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    Words words = lines.words(*line);
    lines.keep(in_growing_vector<Book>);
    const bool is_title = !words.empty() && words[0].starts_with(title_mark);
    expect<DataError>(!is_title || (words.size() >= 3 && words[0] == title_mark && words[1] == ":"),
                      "{}: line {}: it is not {} : and a title: {}", path.string(), lines.number(),
                      title_mark, beginning(*line));
    expect<DataError>(is_title || !books.empty(), "{}: line {}: a sentence before the first {}",
                      path.string(), lines.number(), title_mark);
    std::ranges::transform(words, words.begin(), readable);
    if (is_title) {
      books.push_back({fmt::format("{}", fmt::join(words.begin() + 2, words.end(), " ")), {}});
    } else {
      std::ranges::transform(words, words.begin(), lower_case);
      books.back().sentences.push_back(std::move(words));
    }
  }
  expect<DataError>(!books.empty(), "{}: it has no books", path.string());
  return books;
}

std::vector<Triplet> triplets_of(const Book& book, Index most_words) {
  const auto is_short = [&](const Words& words) {
    return !words.empty() && std::ssize(words) <= most_words;
  };
  const std::vector<Words>& all = book.sentences;
  std::vector<Triplet> triplets;
  for (std::size_t i = 1; i + 1 < all.size(); ++i)
    if (is_short(all[i - 1]) && is_short(all[i]) && is_short(all[i + 1]))
      triplets.push_back({all[i - 1], all[i], all[i + 1]});
  return triplets;
}

TripletSets triplet_sets(const std::string& source, const std::vector<Book>& train,
                         const std::vector<Book>& validation) {
  TripletSets sets{source, triplets_of_all(train, source), triplets_of_all(validation, source), {}};
  for (const Book& book : train)
    for (const Words& sentence : book.sentences)
      for (const std::string& word : sentence) ++sets.counts[word];
  return sets;
}

TripletSets read_triplet_sets(const std::string& directory) {
  std::vector<Book> train;
  for (const char* name : {"cbt_valid.txt", "cbt_test.txt"})
    std::ranges::move(read_books(find_data_file(directory, "cbt-books", name)),
                      std::back_inserter(train));
  const std::vector<Book> validation{std::move(train.back())};
  train.pop_back();
  return triplet_sets(directory, train, validation);
}

TripletSets draw_triplet_sets(std::uint64_t seed) {
  const Random random = Random(seed).stream(14);
  return triplet_sets("stories drawn by this program", draw_books(300, random.stream(1)),
                      draw_books(40, random.stream(2)));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
