#include "tapegrad/io/conllu.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/honest_size.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::size_t field_count = 10;
enum Field : std::size_t { id, form, lemma, upos, xpos, features, head, relation };

std::optional<Index> whole_number(std::string_view text) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.starts_with('-') || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Whether an id stands for a range of words or an empty node: two numbers.
bool is_no_word(std::string_view id) {
  const std::size_t middle = std::min(id.find_first_of("-."), id.size());
  return middle < id.size() && whole_number(id.substr(0, middle)) &&
         whole_number(id.substr(middle + 1));
}

// The words of a tree, counted from 0, each before its head. Words of cycles are missing.
std::vector<std::size_t> upwards(const DependencyTree& tree) {
  const auto head_of = [&](std::size_t word) { return static_cast<std::size_t>(tree[word].head); };
  std::vector<Index> open(tree.size() + 1, 0);  // dependents that are not in the result yet
  for (const DependencyWord& word : tree) ++open[static_cast<std::size_t>(word.head)];
  std::vector<std::size_t> order;
  order.reserve(tree.size());
  for (std::size_t word = 0; word < tree.size(); ++word)
    if (open[word + 1] == 0) order.push_back(word);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const std::size_t above = head_of(order[i]); --open[above] == 0 && above > 0)
      order.push_back(above - 1);
  return order;
}

class ConlluReader {
 public:
  ConlluReader(const FileBytes& content, std::string file, const ConlluOptions& options)
      : text_(content.text()), file_(std::move(file)), options_(options), left_(content, file_) {}

  std::vector<DependencyTree> read() {
    for (line_ = 1; !text_.empty(); ++line_) {
      const std::string_view line = next_line();
      if (line.empty())
        end_sentence();
      else if (!line.starts_with('#'))
        add_word(line);
    }
    check(tree_.empty(), line_ - 1,
          "ends in a sentence, which should have a blank line behind it; is the file cut?");
    expect<DataError>(!trees_.empty(), "conllu: {}: it has no sentences", file_);
    return std::move(trees_);
  }

 private:
  template <class... Args>
  void check(bool condition, Index line, fmt::format_string<const Args&...> format,
             const Args&... args) const {
    if (!condition)
      fail<DataError>("conllu: {}: line {} {}", file_, line, fmt::format(format, args...));
  }

  std::string_view next_line() {
    const std::size_t end = text_.find('\n');
    check(end != std::string_view::npos, line_, "has no end; is the file cut?");
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  std::array<std::string_view, field_count> split(std::string_view line) const {
    const auto count = static_cast<std::size_t>(std::ranges::count(line, '\t')) + 1;
    check(count == field_count, line_, "has {} fields, not the {} of CoNLL-U; is it cut?", count,
          field_count);
    std::array<std::string_view, field_count> parts;
    for (std::string_view& part : parts) {
      part = line.substr(0, line.find('\t'));
      check(!part.empty(), line_, "has an empty field");
      line.remove_prefix(std::min(part.size() + 1, line.size()));
    }
    return parts;
  }

  void add_word(std::string_view line) {
    const auto parts = split(line);
    if (is_no_word(parts[id])) return;
    check(whole_number(parts[id]) == static_cast<Index>(tree_.size()) + 1, line_,
          "should be of word {}: \"{}\"", tree_.size() + 1, beginning(parts[id]));
    DependencyWord word{.form = std::string(parts[form]),
                        .upos = std::string(parts[upos]),
                        .xpos = std::string(parts[xpos]),
                        .line = line_};
    if (options_.trees) {
      const std::optional<Index> number = whole_number(parts[head]);
      check(number.has_value(), line_, "has a head that is not a number: \"{}\"",
            beginning(parts[head]));
      word.head = *number;
      word.relation = parts[relation];
    }
    left_.take(in_growing_vector<DependencyWord>);
    for (const std::string* text : {&word.form, &word.upos, &word.xpos, &word.relation})
      left_.take(memory_of(*text) - sizeof(std::string));
    tree_.push_back(std::move(word));
  }

  void end_sentence() {
    if (tree_.empty()) return;
    if (options_.trees) check_tree();
    left_.take(in_growing_vector<DependencyTree>);
    trees_.push_back(std::move(tree_));
    tree_.clear();
  }

  void check_tree() const {
    const auto count = static_cast<Index>(tree_.size());
    for (const DependencyWord& word : tree_)
      check(word.head <= count, word.line, "has head {}, but the sentence has {} words", word.head,
            count);
    std::vector<bool> leads_to_the_root(tree_.size());
    for (const std::size_t word : upwards(tree_)) leads_to_the_root[word] = true;
    Index root = 0;
    for (std::size_t i = 0; i < tree_.size(); ++i) {
      const DependencyWord& word = tree_[i];
      check(leads_to_the_root[i], word.line, "is of a word whose heads lead back to it: \"{}\"",
            beginning(word.form));
      check((word.head == 0) == (universal_relation(word.relation) == "root"), word.line,
            "has head {} and relation \"{}\"; head 0 and \"root\" belong together", word.head,
            beginning(word.relation));
      if (word.head != 0) continue;
      check(root == 0, word.line, "has a second root, beside word {}", root);
      root = static_cast<Index>(i) + 1;
    }
  }

  std::string_view text_;  // what follows the current line
  std::string file_;
  ConlluOptions options_;
  Allowance left_;
  Index line_ = 1;
  DependencyTree tree_;  // of the current sentence
  std::vector<DependencyTree> trees_;
};

}  // namespace

std::vector<DependencyTree> read_conllu(const std::filesystem::path& path,
                                        const ConlluOptions& options) {
  const FileBytes content = read_file(path, std::size_t{1} << 30);
  return ConlluReader(content, path.string(), options).read();
}

std::string universal_relation(const std::string& relation) {
  return relation.substr(0, relation.find(':'));
}

bool is_projective(const DependencyTree& tree) {
  const auto count = static_cast<Index>(tree.size());
  for (const DependencyWord& word : tree)
    expect<ArgumentError>(0 <= word.head && word.head <= count,
                          "is_projective: head {} is out of range: {} words", word.head, count);
  const std::vector<std::size_t> order = upwards(tree);
  expect<ArgumentError>(order.size() == tree.size(),
                        "is_projective: heads lead back to their words: {} of {}",
                        tree.size() - order.size(), tree.size());
  struct Subtree {
    std::size_t first, last, words = 1;
  };
  std::vector<Subtree> subtrees;
  for (std::size_t word = 0; word < tree.size(); ++word) subtrees.push_back({word, word});
  for (const std::size_t word : order) {
    const auto [first, last, words] = subtrees[word];
    if (last - first + 1 != words) return false;
    if (tree[word].head == 0) continue;
    Subtree& above = subtrees[static_cast<std::size_t>(tree[word].head) - 1];
    above.first = std::min(above.first, first);
    above.last = std::max(above.last, last);
    above.words += words;
  }
  return true;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
