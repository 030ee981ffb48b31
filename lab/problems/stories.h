#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/shuffled_epochs.h"
#include "data/stories.h"
#include "problems/problem.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/zoo/attentive_reader.h"

/// Questions about short stories, which the attentive reader of Hermann et al. 2015 answers, as in
/// Ba et al. 2016, section 6.2.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The words of stories but for entities, which have numbers of their own in each story.
class StoryVocabulary {
 public:
  /// Entities are numbered below `entities`.
  StoryVocabulary(const std::vector<support::Story>& stories, Index entities);
  /// Takes these words in their order. Throws DataError for a word that is there twice.
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
  NumberedStory(const support::Story& story, const StoryVocabulary& vocabulary, Random& random);
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
  /// Without passages but for their last word.
  StoryBatch last_word_only() const;

 private:
  StoryBatch() = default;
};

/// All stories in batches of at most `size`, each of one passage length, with entities numbered
/// anew. `order` shuffles batches and stories of one length, if `shuffled`, and draws the numbers.
std::vector<StoryBatch> story_batches(const std::vector<support::Story>& stories,
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
  support::Story story;
  std::string answer;
  double probability;             ///< of the answer
  std::vector<double> attention;  ///< to each word of the passage; they add up to 1

  ReadStory(const AttentiveReader& net, const StoryVocabulary& vocabulary,
            const support::Story& asked);
};
/// The passage, a sentence on each line, with the weights of words of at least 1 % in brackets,
/// then question and answer.
std::string as_text(const ReadStory& read);
/// The stories as an SVG image: the more a net looks at a word, the stronger its bar below the
/// word.
std::string as_svg(const std::vector<ReadStory>& stories);

class ReaderTrainee : public Trainee {
 public:
  /// Throws what `AttentiveReader` throws.
  ///   question_only: whether it sees the last mark of punctuation of each passage only
  ReaderTrainee(const support::StorySets& sets, const StoryVocabulary& vocabulary,
                const AttentiveReaderOptions& options, Index batch_size, std::uint64_t seed,
                Random& random, bool question_only = false);

  const AttentiveReader& reader() const { return net_; }
  const std::vector<StoryBatch>& validation_batches() const { return validation_; }
  std::vector<StoryBatch> test_batches() const { return fixed_batches(sets_.test); }
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return batches_.at(step).rows(); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;

 private:
  StoryBatch seen(StoryBatch batch) const;
  /// With the same numbers of entities at every time.
  std::vector<StoryBatch> fixed_batches(const std::vector<support::Story>& stories) const;

  const support::StorySets& sets_;
  const StoryVocabulary& vocabulary_;
  Index batch_size_;
  bool question_only_;
  AttentiveReader net_;
  std::vector<StoryBatch> validation_;
  support::ShuffledEpochs<StoryBatch> batches_;
};

/// The sizes of the paper's task: fewer units and updates than there.
struct ReaderSizes {
  Index hidden = 64;
  Index entities = 10;
  double dropout = 0.5;
  Index batch_size = 64;
  Index steps = 1500;
  Index eval_interval = 75;
  double rate = 3e-4;
  double seconds = 15;
};

/// The attentive reader on bAbI. `layer` normalizes both LSTMs, `layer_small_gain` begins with a
/// gain of 0.1, and `layer_everywhere` normalizes the products of the attention and of the last
/// layer, too; `batch` and `batch_everywhere` are the same with recurrent batch normalization, gain
/// 0.1. "test" is the error in percent; items are 100 for a wrong answer, 0 for a right one. Curves
/// have the validation error in percent.
Problem reader_problem(const support::StorySets& sets, const ReaderSizes& sizes = {});
Problem reader_problem(const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
