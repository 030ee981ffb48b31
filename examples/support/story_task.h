#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/stories.h"
#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/zoo/attentive_reader.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The words of stories but for entities, which have numbers of their own in each story.
class StoryVocabulary {
 public:
  /// Entities are numbered below `entities`.
  StoryVocabulary(const std::vector<Story>& stories, Index entities);
  /// Of these words, in their order. Throws DataError for a word that is there twice.
  StoryVocabulary(std::vector<std::string> words, Index entities);

  Index entities() const { return entities_; }
  Index count() const { return entities_ + words_.count(); }
  const std::vector<std::string>& words() const { return words_.words(); }
  Index number(const std::string& word) const { return entities_ + words_.number(word); }

 private:
  Vocabulary words_;
  Index entities_;
};

/// A story in numbers. Its entities are numbered at random, so that a net cannot learn who usually
/// is the answer, and has to read.
struct NumberedStory {
  std::vector<Index> passage, question;
  Index answer;  ///< -1 if it is not known
  /// The entity of each number, by its place in `entity_names`; -1 where the story has none.
  std::vector<Index> entities;

  /// Throws ArgumentError for a story with more entities than the vocabulary has numbers.
  NumberedStory(const Story& story, const StoryVocabulary& vocabulary, Random& random);
};

/// Stories whose passages have one length, side by side.
struct StoryBatch {
  Indices passages;          ///< (B, T)
  Indices questions;         ///< (B, n), padded with 0
  Indices question_lengths;  ///< (B)
  Indices answers;           ///< (B)

  explicit StoryBatch(std::span<const NumberedStory> stories);
  Index rows() const { return answers.size(); }
  /// The stories [begin, end).
  StoryBatch part(Index begin, Index end) const;

 private:
  StoryBatch() = default;
};

/// All stories in batches of at most `size`, each of one passage length, with entities numbered
/// anew. `order` shuffles batches and stories of one length, if `shuffled`, and draws the numbers.
std::vector<StoryBatch> story_batches(const std::vector<Story>& stories,
                                      const StoryVocabulary& vocabulary, Index size, Random& order,
                                      bool shuffled);

AttentiveReader::Result read(const AttentiveReader& net, const StoryBatch& batch, Mode mode = {});

/// 1 for each story whose answer is wrong, 0 for the others.
std::vector<double> wrong_answers(const AttentiveReader& net, std::span<const StoryBatch> batches);
/// The share of stories whose answer is wrong. The processes of a cluster share the batches.
double error_rate(const AttentiveReader& net, const std::vector<StoryBatch>& batches,
                  Cluster& cluster);

/// A story, what a net answers, and where it looks.
struct ReadStory {
  Story story;
  std::string answer;
  double probability;             ///< of the answer
  std::vector<double> attention;  ///< to each word of the passage; they add up to 1

  ReadStory(const AttentiveReader& net, const StoryVocabulary& vocabulary, const Story& asked);
};
/// The passage, a sentence on each line, with the weights of words of at least 1 % in brackets,
/// then question and answer.
std::string as_text(const ReadStory& read);
/// The stories as an SVG image: the more a net looks at a word, the stronger its bar below the
/// word.
std::string as_svg(const std::vector<ReadStory>& stories);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
