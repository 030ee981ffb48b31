#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A question about a short text, whose answer is one of its entities: the persons, things and
/// places of `entity_names`. Words are in lower case, marks of punctuation are words of their own.
struct Story {
  std::vector<std::string> passage, question;
  std::string answer;  ///< empty if it is not known
};

/// The persons, things and places of the stories, in order.
const std::vector<std::string>& entity_names();
/// The number of a name among them; -1 for any other word.
Index entity(const std::string& word);
/// The different entities of a text, by their numbers, in the order in which they come.
std::vector<Index> entities_of(const std::vector<std::string>& words);

/// How much of a text is read before its question.
struct PassageLimits {
  Index sentences = 4;  ///< the last; 0: all
  Index words = 233;    ///< beginning with a whole sentence
  Index entities = 16;  ///< with the question's; more are refused
};

/// Questions about stories for training, validation and the final test.
struct StorySets {
  std::string source;  ///< where they come from, for people
  std::vector<Story> train, validation, test;

  /// A text that differs for other stories for training or validation.
  std::string digest() const;
  /// A text that differs for another test set.
  std::string test_digest() const;
};

/// Reads questions in the format of bAbI (Weston et al. 2016): numbered lines, which begin anew at
/// 1 with each text; a question is followed by a tab and its answer, if it is known. Throws
/// DataError, naming file and line, for lines of another form and for
/// more entities than the limit.
///   begins: where it is given, gets for each question whether its text differs from the text of
///   the question before
std::vector<Story> read_stories(const std::filesystem::path& path, const PassageLimits& limits,
                                std::vector<bool>* begins = nullptr);

/// Reads task 1 or 5 of bAbI, en-10k/qaN_*_{train,test}.txt, plain or gzipped, in a directory or
/// its folder babi. Leaves out questions whose answer is not in what is read of the text, and those
/// after fewer sentences than the limit. The last 1,000 questions to train on, or the last fifth of
/// fewer, are for validation; no text is in both parts. Throws DataError as `read_stories` does,
/// and for an answer that is not an entity.
StorySets read_story_sets(const std::string& directory, Index task, const PassageLimits& limits);

/// Draws stories of four sentences, of which two tell who gave what to whom. The question is about
/// one of the two.
StorySets draw_story_sets(std::uint64_t seed);

/// Accuracies of rules that learn nothing. Shares.
struct StoryBaselines {
  double uniform;        ///< any entity of the passage
  double last;           ///< its last entity that the question does not name
  double most_frequent;  ///< the most frequent such entity, of several the last

  explicit StoryBaselines(const std::vector<Story>& stories);
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
