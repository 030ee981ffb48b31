#include "data/probe_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "data/plain_text.h"
#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/lines.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr std::size_t column_count = 5;

SentencePair pair_of(std::string_view line, const std::string& file, LineReader& lines) {
  const Index number = lines.number();
  std::vector<std::string_view> fields;
  std::string_view rest = line;
  for (std::size_t tab = rest.find('\t'); tab != rest.npos && fields.size() < column_count;
       tab = rest.find('\t')) {
    fields.push_back(rest.substr(0, tab));
    rest.remove_prefix(tab + 1);
  }
  expect<DataError>(fields.size() == column_count - 1, "{}: line {} does not have {} columns: {}",
                    file, number, column_count, beginning(std::string(line)));
  SentencePair pair{words_of_sentence(fields[1], &lines), words_of_sentence(fields[2], &lines), 0};
  const std::string_view score = fields[3];
  const auto [end, error] = std::from_chars(score.data(), score.data() + score.size(), pair.score);
  expect<DataError>(error == std::errc() && end == score.data() + score.size() && pair.score >= 1 &&
                        pair.score <= 5,
                    "{}: line {}: it is not a score from 1 to 5: {}", file, number,
                    beginning(std::string(score)));
  return pair;
}

ClassifiedSentences read_classified(const std::string& directory, const std::string& name,
                                    const std::string& file) {
  const std::filesystem::path path = find_data_file(directory, "sentence-classification", file);
  ClassifiedSentences set{name, read_sentences(path, 0)};
  for (std::size_t i = 0; i < set.sentences.size(); ++i) {
    Sentence& sentence = set.sentences[i];
    expect<DataError>(sentence.label <= 1, "{}: line {} has the label {}; there are two classes",
                      path.string(), i + 1, sentence.label);
    for (std::string& word : sentence.words) word = lower_case(std::move(word));
  }
  return set;
}

// Chooses as many sentences with a word as without it.
ClassifiedSentences sentences_with(const std::string& name, const std::string& word,
                                   const std::vector<Triplet>& stories) {
  constexpr Index of_each = 16;
  std::array<Index, 2> left{of_each, of_each};
  ClassifiedSentences set{name, {}};
  for (const Triplet& triplet : stories) {
    const Index label = std::ranges::count(triplet.current, word) > 0 ? 1 : 0;
    if (left[label]-- > 0) set.sentences.push_back({label, triplet.current});
  }
  return set;
}

}  // namespace

std::string ProbeSets::digest() const {
  Digest digest;
  for (const std::vector<SentencePair>* part : {&train, &validation, &test}) {
    digest.add(fmt::format("{} pairs\n", part->size()));
    for (const auto& [first, second, score] : *part) {
      add_line(digest, first);
      add_line(digest, second);
      digest.add(fmt::format("{}\n", score));
    }
  }
  for (const auto& [name, sentences] : classified)
    for (const Sentence& sentence : sentences) {
      digest.add(fmt::format("{} {} ", name, sentence.label));
      add_line(digest, sentence.words);
    }
  return digest.to_string();
}

std::vector<SentencePair> read_pairs(const std::filesystem::path& path) {
  std::vector<SentencePair> pairs;
  LineReader lines(path);
  while (const auto line = lines.next())
    if (lines.number() > 1) {
      pairs.push_back(pair_of(*line, path.string(), lines));
      lines.keep(in_growing_vector<SentencePair>);
    }
  expect<DataError>(!pairs.empty(), "{}: it has no pairs", path.string());
  return pairs;
}

ProbeSets read_probe_sets(const std::string& directory) {
  const auto pairs = [&](const char* file) {
    return read_pairs(find_data_file(directory, "sick", file));
  };
  ProbeSets sets{
      pairs("SICK_train.txt"), pairs("SICK_trial.txt"), pairs("SICK_test_annotated.txt"), {}};
  for (const auto& [name, file] :
       std::array<std::pair<const char*, const char*>, 4>{{{"MR", "rt-polarity.all"},
                                                           {"CR", "custrev.all"},
                                                           {"SUBJ", "subj.all"},
                                                           {"MPQA", "mpqa.all"}}})
    sets.classified.push_back(read_classified(directory, name, file));
  return sets;
}

ProbeSets draw_probe_sets(std::uint64_t seed) {
  const std::vector<Triplet> stories = draw_triplet_sets(seed).train;
  ProbeSets sets;
  auto story = stories.begin();
  for (const auto& [part, count] :
       {std::pair{&sets.train, 60}, {&sets.validation, 20}, {&sets.test, 20}})
    for (int i = 0; i < count; ++i) {
      const Words &first = (story++)->current, &second = (story++)->current;
      part->push_back({first, second, first.size() == second.size() ? 5.0 : 1.0});
    }
  for (const auto& [name, word] :
       {std::pair{"MR", "saw"}, {"CR", "took"}, {"SUBJ", "said"}, {"MPQA", "asked"}})
    sets.classified.push_back(sentences_with(name, word, stories));
  return sets;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
