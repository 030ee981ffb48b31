#include "data/tree_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/drawing.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

// An arc between two words, counted from 0.
struct DrawnArc {
  std::size_t head, word;
  std::size_t level = 0;  // from 1 on: above all arcs within it

  std::size_t first() const { return std::min(head, word); }
  std::size_t last() const { return std::max(head, word); }
};

std::vector<DrawnArc> drawn_arcs(const DependencyTree& tree) {
  expect<ArgumentError>(tree.size() <= most_drawn_words,
                        "draw: a tree has too many words: {}; {} are possible", tree.size(),
                        most_drawn_words);
  std::vector<DrawnArc> arcs;
  const auto words = std::ssize(tree);
  for (Index word = 0; word < words; ++word) {
    const Index head = tree[word].head;
    expect<ArgumentError>(0 <= head && head <= words && head != word + 1,
                          "draw: word {} has head {}; it needs another word, from 1 to {}, or 0",
                          word + 1, head, words);
    if (head > 0)
      arcs.push_back({static_cast<std::size_t>(head - 1), static_cast<std::size_t>(word)});
  }
  std::ranges::stable_sort(arcs, {}, [](const DrawnArc& arc) { return arc.last() - arc.first(); });
  std::vector<std::size_t> taken(tree.size(), 0);  // levels between a word and the next
  for (DrawnArc& arc : arcs) {
    const auto begin = taken.begin() + arc.first();
    const auto end = taken.begin() + arc.last();
    arc.level = 1 + *std::max_element(begin, end);
    std::fill(begin, end, arc.level);
  }
  return arcs;
}

std::size_t highest(const std::vector<DrawnArc>& arcs) {
  return arcs.empty() ? 0 : std::ranges::max(arcs, {}, &DrawnArc::level).level;
}

// Characters of a text in UTF-8.
std::size_t length(const std::string& text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// ---- As text ----

// Lines between the middles of cells, each with the directions in which it leaves the cell.
class LineGrid {
 public:
  LineGrid(std::size_t rows, std::size_t columns) : columns_(columns), cells_(rows * columns, 0) {}

  void down(std::size_t row, std::size_t column) {
    at(row, column) |= below;
    at(row + 1, column) |= above;
  }
  void right(std::size_t row, std::size_t column) {
    at(row, column) |= right_of;
    if (column + 1 < columns_) at(row, column + 1) |= left_of;
  }
  std::string row(std::size_t row) const {
    constexpr std::array<const char*, 16> characters{" ", "╵", "╷", "│", "╴", "┘", "┐", "┤",
                                                     "╶", "└", "┌", "├", "─", "┴", "┬", "┼"};
    std::string text;
    for (std::size_t column = 0; column < columns_; ++column)
      text += characters[cells_[row * columns_ + column]];
    return text;
  }

 private:
  static constexpr unsigned above = 1, below = 2, left_of = 4, right_of = 8;
  unsigned& at(std::size_t row, std::size_t column) { return cells_[row * columns_ + column]; }

  std::size_t columns_;
  std::vector<unsigned> cells_;
};

LineGrid lines_of(const std::vector<DrawnArc>& arcs, std::size_t words) {
  const std::size_t columns = 2 * highest(arcs);
  LineGrid grid(words, columns);
  for (const DrawnArc& arc : arcs) {
    const std::size_t column = columns - 2 * arc.level;
    for (std::size_t row = arc.first(); row < arc.last(); ++row) grid.down(row, column);
    for (const std::size_t row : {arc.head, arc.word})
      for (std::size_t i = column; i < columns; ++i) grid.right(row, i);
  }
  return grid;
}

// ---- As SVG ----

constexpr double margin = 16, character = 8, label_character = 7, level_height = 24;
constexpr double gap = 22, arc_top = 46, words_height = 52;

// Where a tree stands in the image.
struct Layout {
  const DependencyTree& tree;
  std::vector<DrawnArc> arcs;
  std::vector<double> middles;  // of the words
  double width, height;

  explicit Layout(const DependencyTree& drawn);
  double arcs_end() const { return arc_top + level_height * highest(arcs); }
};

Layout::Layout(const DependencyTree& drawn) : tree(drawn), arcs(drawn_arcs(drawn)) {
  const auto half_of = [&](std::size_t word) {
    const std::size_t letters = std::max(length(tree[word].form), length(tree[word].xpos));
    return character * letters / 2;
  };
  std::vector<double> least(tree.size(), 0);  // distances to the next word for its label's sake
  for (const DrawnArc& arc : arcs)
    if (arc.last() == arc.first() + 1)
      least[arc.first()] = gap + label_character * length(tree[arc.word].relation);
  double x = margin;
  for (std::size_t word = 0; word < tree.size(); ++word) {
    double middle = x + half_of(word);
    if (word > 0) middle = std::max(middle, middles[word - 1] + least[word - 1]);
    middles.push_back(middle);
    x = middle + half_of(word) + gap;
  }
  width = x - gap + margin;
  height = arcs_end() + words_height;
}

// From the head up, over to the word, and down again, with round corners.
void draw(Drawing& drawing, const Layout& layout, const DrawnArc& arc, double top) {
  constexpr double side = 7, radius = 8, quarter = 1.5707963267948966;
  constexpr int corner_spots = 6;
  const double towards = arc.word > arc.head ? 1 : -1;
  const double begin = layout.middles[arc.head] + towards * side, end = layout.middles[arc.word];
  const double bottom = top + layout.arcs_end();
  const double y = bottom - level_height * arc.level;
  std::vector<Spot> spots{{begin, bottom}};
  for (int i = 0; i <= corner_spots; ++i) {
    const double angle = quarter * i / corner_spots;
    spots.push_back(
        {begin + towards * radius * (1 - std::cos(angle)), y + radius * (1 - std::sin(angle))});
  }
  for (int i = corner_spots; i >= 0; --i) {
    const double angle = quarter * i / corner_spots;
    spots.push_back(
        {end - towards * radius * (1 - std::cos(angle)), y + radius * (1 - std::sin(angle))});
  }
  drawing.line(spots, "blue");
  drawing.arrow({end, y + radius}, {end, bottom}, "blue");
  drawing.words({(begin + end) / 2, y - 4}, layout.tree[arc.word].relation, "middle small");
}

void draw(Drawing& drawing, const Layout& layout, double top) {
  constexpr double first_line = 18, second_line = 36;
  const double bottom = top + layout.arcs_end();
  for (std::size_t word = 0; word < layout.tree.size(); ++word) {
    const double x = layout.middles[word];
    drawing.words({x, bottom + first_line}, layout.tree[word].form, "middle");
    drawing.words({x, bottom + second_line}, layout.tree[word].xpos, "middle small faint");
    if (layout.tree[word].head != 0) continue;
    drawing.arrow({x, top + margin}, {x, bottom}, "red");
    drawing.words({x + 6, top + margin + 8}, layout.tree[word].relation, "small");
  }
  for (const DrawnArc& arc : layout.arcs) draw(drawing, layout, arc, top);
}

}  // namespace

std::string drawn_as_text(const DependencyTree& tree) {
  const LineGrid grid = lines_of(drawn_arcs(tree), tree.size());
  std::array<std::size_t, 2> widths{};
  for (const DependencyWord& word : tree)
    widths = {std::max(widths[0], length(word.form)), std::max(widths[1], length(word.xpos))};
  const std::size_t digits = std::to_string(tree.size()).size();
  const auto padded = [](const std::string& text, std::size_t width) {
    return text + std::string(width - length(text), ' ');
  };
  std::string result;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const DependencyWord& word = tree[i];
    result += fmt::format("{}{} {:{}}  {}  {}  {:{}}  {}\n", grid.row(i),
                          word.head == 0 ? " " : ">", i + 1, digits, padded(word.form, widths[0]),
                          padded(word.xpos, widths[1]), word.head, digits, word.relation);
  }
  return result;
}

std::string drawn_as_svg(const std::vector<DependencyTree>& trees) {
  const std::vector<Layout> layouts(trees.begin(), trees.end());
  double width = 0, height = 0;
  for (const Layout& each : layouts) {
    width = std::max(width, each.width);
    height += each.height;
  }
  Drawing drawing(std::ceil(width), std::ceil(height));
  double top = 0;
  for (const Layout& each : layouts) {
    draw(drawing, each, top);
    top += each.height;
  }
  return drawing.svg();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
