#include "data/translation_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/data_files.h"
#include "support/grammar.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr const char* multi30k = "multi30k";

ParallelLines read_pair(const std::string& directory, const std::string& name,
                        const std::string& from, const std::string& to) {
  return read_parallel_lines(find_data_file(directory, multi30k, name + "." + from),
                             find_data_file(directory, multi30k, name + "." + to));
}

// The names of the tests beside a file, in order: test_2016_flickr for test_2016_flickr.de.gz.
std::set<std::string> tests_beside(const std::filesystem::path& file, const std::string& from) {
  std::set<std::string> names;
  for (const std::filesystem::path& path : entries_of(file.parent_path())) {
    const std::string found = path.filename();
    const std::size_t dot = std::min(found.find('.'), found.size());
    const std::string ending = found.substr(dot);
    if (found.starts_with("test") && (ending == "." + from || ending == "." + from + ".gz"))
      names.insert(found.substr(0, dot));
  }
  return names;
}

// The next letter of these, in a circle; another letter stays.
char next_of(std::string_view letters, char letter) {
  const std::size_t at = letters.find(letter);
  return at == std::string_view::npos ? letter : letters[(at + 1) % letters.size()];
}

std::string renamed(std::string word) {
  for (char& letter : word) letter = next_of("aeiou", next_of("bcdfghjklmnpqrstvwxyz", letter));
  return word;
}

ParallelLines draw(Index count, Random& random, std::set<std::string>& drawn) {
  ParallelLines lines;
  while (lines.count() < count) {
    std::string sentence = grammar_text(1, random);
    sentence.pop_back();  // the end of the line
    if (!drawn.insert(sentence).second) continue;
    lines.source.push_back(in_drawn_language(sentence));
    lines.target.push_back(sentence);
  }
  return lines;
}

}  // namespace

std::string TranslationSets::digest() const {
  Digest digest;
  for (const ParallelLines* set : {&train, &validation})
    for (const auto* side : {&set->source, &set->target})
      for (const std::string& line : *side) digest.add(line + "\n");
  return fmt::format("{} pairs, {}", train.count() + validation.count(), digest.to_string());
}

TranslationSets read_translation_sets(const std::string& directory, const std::string& from,
                                      const std::string& to) {
  TranslationSets sets{fmt::format("{}, {} to {}", directory, from, to),
                       read_pair(directory, "train", from, to),
                       read_pair(directory, "val", from, to),
                       {}};
  const auto train = find_data_file(directory, multi30k, "train." + from);
  for (const std::string& name : tests_beside(train, from))
    sets.tests.push_back({name, read_pair(train.parent_path(), name, from, to)});
  expect<DataError>(!sets.tests.empty(), "{}: there is no test*.{}, gzipped or not",
                    train.parent_path().string(), from);
  return sets;
}

std::string in_drawn_language(const std::string& sentence) {
  std::vector<std::string> words =
      words_of(std::string_view(sentence).substr(0, sentence.find('.')));
  // The verbs of clauses stand before the main verb, and only nouns behind it.
  const auto is_verb = [](const std::string& word) { return !other_form_of_verb(word).empty(); };
  const auto verb = std::find_if(words.rbegin(), words.rend(), is_verb);
  if (verb != words.rend()) std::rotate(words.rbegin(), verb, verb + 1);
  for (std::string& word : words) word = renamed(word);
  return fmt::format("{}.", fmt::join(words, " "));
}

TranslationSets draw_translation_sets(std::uint64_t seed) {
  Random random = Random(seed).stream(7);
  std::set<std::string> drawn;
  TranslationSets sets{"a pair of languages drawn by this program", {}, {}, {}};
  sets.train = draw(24000, random, drawn);
  sets.validation = draw(300, random, drawn);
  sets.tests.push_back({"test", draw(500, random, drawn)});
  return sets;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
