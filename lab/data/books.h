#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

using Words = std::vector<std::string>;

/// Adds words and the end of their line.
void add_line(Digest& digest, const Words& words);

/// The sentences of a book, in lower case and in order. Marks of punctuation are words.
struct Book {
  std::string title;
  std::vector<Words> sentences;
};

/// A sentence of a book with those before and after it.
struct Triplet {
  Words previous, current, next;
};

/// Triplets to train on and, from another book, for validation.
struct TripletSets {
  std::string source;  ///< where they come from, for people
  std::vector<Triplet> train, validation;
  std::map<std::string, Index> counts;  ///< how often words occur in the books to train on

  /// A text that differs for other triplets or counts.
  std::string digest() const;
};

/// Reads books in the format of the Children's Book Test: a line `_BOOK_TITLE_ : TITLE` begins each
/// book, and each other line is a sentence, words separated by blanks. Replaces bytes that are no
/// UTF-8 and control characters. Throws DataError, naming file and line, for a sentence before the
/// first title and for a mark without a title, and naming the file if it has no books.
std::vector<Book> read_books(const std::filesystem::path& path);

/// The triplets of a book in which each sentence has 1 to `most_words` words, in order.
std::vector<Triplet> triplets_of(const Book& book, Index most_words = 30);

/// Throws DataError, naming `source`, if one of both has no triplets.
TripletSets triplet_sets(const std::string& source, const std::vector<Book>& train,
                         const std::vector<Book>& validation);

/// Reads cbt_valid.txt and cbt_test.txt, plain or gzipped, from a directory or its folder
/// cbt-books. The last book is for validation. Throws DataError as `read_books` and `triplet_sets`
/// do.
TripletSets read_triplet_sets(const std::string& directory);

/// Draws stories, each about a person and a thing, so that a sentence shows who and what its
/// neighbours are about.
TripletSets draw_triplet_sets(std::uint64_t seed);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
