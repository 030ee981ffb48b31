#include "data/treebank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "data/plain_text.h"
#include "support/data_files.h"
#include "support/grammar.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

namespace fs = std::filesystem;

// The file of a part of a treebank.
fs::path find(const std::string& directory, const std::string& part) {
  const std::string end = fmt::format("-ud-{}.conllu", part);
  const std::array<fs::path, 2> folders = data_folders(directory, "ud-english-ewt");
  std::vector<fs::path> found;
  for (const fs::path& folder : folders)
    for (const fs::path& path : entries_of(folder))
      if (const std::string name = path.filename().string();
          name.ends_with(end) || name.ends_with(end + ".gz"))
        found.push_back(path);
  expect<DataError>(found.size() == 1, "there are {} files NAME{} in {} and in {}, not one",
                    found.size(), end, folders.front().string(), folders.back().string());
  return found.front();
}

}  // namespace

std::string Treebank::digest() const {
  Digest digest;
  for (const auto* part : {&train, &validation, &test})
    for (const DependencyTree& tree : *part)
      for (const auto& [form, upos, xpos, head, relation, line] : tree)
        digest.add(fmt::format("{}\t{}\t{}\t{}\t{}\n", form, upos, xpos, head, relation));
  return fmt::format("{} sentences, {}", train.size() + validation.size() + test.size(),
                     digest.to_string());
}

std::vector<DependencyTree> read_tagged(const std::string& file, const ConlluOptions& options) {
  std::vector<DependencyTree> trees = read_conllu(file, options);
  for (DependencyTree& tree : trees)
    for (DependencyWord& word : tree) {
      for (std::string* field : {&word.form, &word.upos, &word.xpos, &word.relation})
        *field = readable(*field);
      expect<DataError>(word.xpos != "_",
                        "{}: line {}: the word \"{}\" has no XPOS, the tag that the parser reads",
                        file, word.line, beginning(word.form));
    }
  return trees;
}

Treebank read_treebank(const std::string& directory) {
  const auto read = [&](const std::string& part) { return read_tagged(find(directory, part)); };
  return {directory, read("train"), read("dev"), read("test")};
}

Treebank draw_treebank(std::uint64_t seed) {
  const auto draw = [&](Index sentences, std::uint64_t stream) {
    Random random = Random(seed).stream(stream);
    return grammar_trees(sentences, random);
  };
  return {"sentences drawn by this program", draw(2000, 14), draw(200, 15), draw(400, 16)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
