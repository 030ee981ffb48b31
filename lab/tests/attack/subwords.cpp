// Subwords: those learnt from any text give it back, and any pieces of a checkpoint make a model or
// are refused.

#include "data/subwords.h"

#include <algorithm>

#include "attack.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/io/sentences.h"

namespace tapegrad::attack {
namespace {

using support::Subwords;

bool is_plain(const std::string& line) {
  return std::ranges::all_of(line, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

std::string with_single_blanks(const std::string& line) {
  std::string text;
  for (const std::string& word : words_of(line)) (text += text.empty() ? "" : " ") += word;
  return text;
}

void expect_the_same(const Subwords& subwords, const std::string& line) {
  const std::vector<Index> ids = subwords.encode(line);
  expect_property(
      std::ranges::all_of(ids, [&](Index id) { return 0 <= id && id < subwords.count(); }),
      "pieces are of the vocabulary");
  const std::string text = subwords.decode(ids);
  const bool is_known = std::ranges::find(ids, Subwords::unknown) == ids.end();
  if (is_plain(line) && is_known)
    expect_property(text == with_single_blanks(line), "plain text comes back");
}

}  // namespace

void attack(std::string_view input) {
  const File file(input);
  const std::vector<std::string> lines = read_lines(file.path());
  refuses([&] {
    const Subwords subwords = Subwords::learn(lines, 150);
    for (const std::string& line : lines) expect_the_same(subwords, line);
    expect_property(Subwords(subwords.pieces()).pieces() == subwords.pieces(),
                    "the pieces are the model");
  });
  std::vector<std::string> pieces{"<pad>", "<unk>", "<s>", "</s>"};
  pieces.insert(pieces.end(), lines.begin(), lines.end());
  refuses([&] {
    const Subwords subwords(pieces);
    for (const std::string& line : lines) subwords.decode(subwords.encode(line));
  });
}

}  // namespace tapegrad::attack
