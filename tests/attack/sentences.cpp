// Labelled sentences: they survive writing and reading again, and each is in exactly one batch.

#include "tapegrad/io/sentences.h"

#include <fmt/format.h>

#include <algorithm>

#include "attack.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<Sentence>& sentences) {
  std::string text;
  for (const Sentence& sentence : sentences)
    text += fmt::format("{} {}\n", sentence.label, fmt::join(sentence.words, " "));
  return text;
}

}  // namespace

void attack(std::string_view input) {
  constexpr Index tokens = 20;
  const File file(input);
  const std::vector<Sentence> sentences = read_sentences(file.path());
  const File again(written(sentences));
  expect_property(written(read_sentences(again.path())) == written(sentences),
                  "sentences survive writing");

  const Vocabulary vocabulary(sentences);
  Random random(1);
  Index in_batches = 0;
  for (const SentenceBatch& batch : sentence_batches(sentences, vocabulary, tokens, &random)) {
    in_batches += batch.labels.size();
    expect_property(batch.words.size() <= tokens || batch.labels.size() == 1,
                    "a batch is as large as it may be");
    expect_property(std::ranges::all_of(batch.words.values(),
                                        [&](Index word) { return word < vocabulary.count(); }),
                    "words are of the vocabulary");
  }
  expect_property(in_batches == static_cast<Index>(sentences.size()),
                  "every sentence is in one batch");
}

}  // namespace tapegrad::attack
