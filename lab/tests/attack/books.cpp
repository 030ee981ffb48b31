// Books: they survive writing and reading again, and triplets are three sentences of one of them.

#include "data/books.h"

#include <fmt/format.h>

#include <algorithm>

#include "attack.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<support::Book>& books) {
  std::string text;
  for (const support::Book& book : books) {
    text += fmt::format("_BOOK_TITLE_ : {}\n", book.title);
    for (const support::Words& words : book.sentences)
      text += fmt::format("{}\n", fmt::join(words, " "));
  }
  return text;
}

}  // namespace

void attack(std::string_view input) {
  constexpr Index most_words = 5;
  const File file(input, File::Kind::mapped);
  const std::vector<support::Book> books = support::read_books(file.path());
  for (const support::Book& book : books) {
    const auto triplets = support::triplets_of(book, most_words);
    expect_property(triplets.size() + 2 <= std::max<std::size_t>(2, book.sentences.size()),
                    "a triplet has a sentence in its middle");
    for (const support::Triplet& triplet : triplets)
      for (const support::Words* words : {&triplet.previous, &triplet.current, &triplet.next})
        expect_property(!words->empty() && static_cast<Index>(words->size()) <= most_words,
                        "a sentence keeps its limit");
  }
  const File again(written(books));
  expect_property(written(support::read_books(again.path())) == written(books),
                  "books survive writing");
}

}  // namespace tapegrad::attack
