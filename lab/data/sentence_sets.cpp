#include "data/sentence_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "support/data_files.h"
#include "support/grammar.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using Sentences = std::vector<Sentence>;

// Throws DataError for a sentence, one per line of the file, that is too long for a batch.
void expect_short(const Sentences& sentences, const std::filesystem::path& path, Index most_words) {
  for (std::size_t i = 0; i < sentences.size(); ++i)
    expect<DataError>(
        std::ssize(sentences[i].words) <= most_words,
        "{}: line {} has {} words, but --batch-tokens allows {}; shorten it, or allow more",
        path.string(), i + 1, sentences[i].words.size(), most_words);
}

// Reads files of a task, plain or gzipped.
struct Files {
  std::string directory;
  Index most_words;

  Sentences read(const std::string& folder, const std::string& file) const {
    const std::filesystem::path path = find_data_file(directory, folder, file);
    Sentences sentences = read_sentences(path);
    expect_short(sentences, path, most_words);
    return sentences;
  }
  // A file of sentences with one label, which is not written there.
  Sentences read_with_label(Index label, const std::string& folder, const std::string& file) const {
    const std::filesystem::path path = find_data_file(directory, folder, file);
    Sentences sentences;
    LineReader lines(path);
    while (const auto line = lines.next()) {
      lines.keep(in_growing_vector<Sentence>);
      sentences.push_back({label, lines.words(*line)});
      expect<DataError>(!sentences.back().words.empty(), "{}: line {} has no words", path.string(),
                        sentences.size());
    }
    expect_short(sentences, path, most_words);
    return sentences;
  }
  // All sentences of RT, those that are not liked first.
  Sentences read_rt() const {
    if (look_for_data_file(directory, "sentence-classification", "rt-polarity.all"))
      return read("sentence-classification", "rt-polarity.all");
    Sentences sentences = read_with_label(0, "rt-polaritydata", "rt-polarity.neg");
    Sentences liked = read_with_label(1, "rt-polaritydata", "rt-polarity.pos");
    std::ranges::move(liked, std::back_inserter(sentences));
    return sentences;
  }
};

// Removes the sentences from `first` on, and returns them.
Sentences split_off(Sentences& all, std::size_t first) {
  Sentences rest(std::make_move_iterator(all.begin() + first), std::make_move_iterator(all.end()));
  all.resize(first);
  return rest;
}

void shuffle(Sentences& sentences, Random random) {
  Sentences shuffled;
  shuffled.reserve(sentences.size());
  for (const Index i : random.permutation(std::ssize(sentences)).values())
    shuffled.push_back(std::move(sentences[i]));
  sentences = std::move(shuffled);
}

Index classes_of(const SentenceSets& sets, const std::string& directory) {
  const auto greatest = [](const Sentences& sentences) {
    Index label = 0;
    for (const Sentence& each : sentences) label = std::max(label, each.label);
    return label;
  };
  const Index classes = 1 + greatest(sets.train);
  expect<DataError>(greatest(sets.test) < classes && greatest(sets.validation) < classes,
                    "{}: some labels occur in no training sentence", directory);
  return classes;
}

void add_sentences(Digest& digest, const Sentences& sentences) {
  for (const Sentence& sentence : sentences) {
    digest.add(std::to_string(sentence.label));
    for (const std::string& word : sentence.words) digest.add(word + " ");
  }
}

// Changes the number of a random verb. Returns false if it finds none.
bool spoil(Sentence& sentence, Random& random) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    const Index at = random.below(std::ssize(sentence.words));
    if (const std::string other = other_form_of_verb(sentence.words[at]); !other.empty()) {
      sentence.words[at] = other;
      return true;
    }
  }
  return false;
}

Sentences draw_sentences(Index count, Random random) {
  Sentences sentences;
  while (std::ssize(sentences) < count) {
    const std::string text = grammar_text(1, random);
    Sentence sentence{random.below(2), words_of(std::string_view(text).substr(0, text.find('.')))};
    if (sentence.label == 0 || spoil(sentence, random)) sentences.push_back(sentence);
  }
  return sentences;
}

}  // namespace

std::string SentenceSets::digest() const {
  Digest digest;
  for (const Sentences* set : {&train, &validation}) add_sentences(digest, *set);
  return fmt::format("{} sentences, {}", train.size() + validation.size(), digest.to_string());
}

std::string SentenceSets::test_digest() const {
  Digest digest;
  add_sentences(digest, test);
  return digest.to_string();
}

SentenceSets read_rt(const std::string& directory, Index most_words, std::uint64_t seed) {
  SentenceSets sets{directory, {}, {}, {}, 0};
  sets.train = Files{directory, most_words}.read_rt();
  shuffle(sets.train, Random(seed));
  const auto share = [n = sets.train.size()](double part) {
    return static_cast<std::size_t>(n * part / 10661);
  };
  sets.test = split_off(sets.train, share(8608 + 964));
  sets.validation = split_off(sets.train, share(8608));
  sets.classes = classes_of(sets, directory);
  return sets;
}

SentenceSets read_sentence_sets(const std::string& task, const std::string& directory,
                                Index most_words) {
  constexpr std::uint64_t seed = 1;  // of splits, the same for every seed of a run
  if (task == "rt") return read_rt(directory, most_words, seed);
  const Files files{directory, most_words};
  SentenceSets sets{directory, {}, {}, {}, 0};
  if (task == "sst5") {
    sets.train = files.read("sst5", "stsa.fine.train");
    sets.validation = files.read("sst5", "stsa.fine.dev");
    sets.test = files.read("sst5", "stsa.fine.test");
  } else {
    sets.train = files.read("sentence-classification", "TREC.train.all");
    sets.test = files.read("sentence-classification", "TREC.test.all");
    shuffle(sets.train, Random(seed));
    sets.validation = split_off(sets.train, sets.train.size() - sets.train.size() / 10);
  }
  sets.classes = classes_of(sets, directory);
  return sets;
}

SentenceSets draw_sentence_sets(std::uint64_t seed) {
  const Random random(seed);
  return {"sentences drawn by this program", draw_sentences(6000, random.stream(11)),
          draw_sentences(500, random.stream(12)), draw_sentences(1000, random.stream(13)), 2};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
