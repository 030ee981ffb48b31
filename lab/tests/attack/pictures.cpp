// Pictures of any numbers and names: well-formed XML, in which every place is a number.

#include <cfloat>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "attack.h"
#include "data/glimpse_picture.h"
#include "data/handwriting_picture.h"
#include "data/tree_drawing.h"
#include "tapegrad/train/heat_map.h"
#include "tapegrad/train/json.h"

namespace tapegrad::attack {
namespace {

// Makes things of bytes; after the last byte they are zeros, and empty.
class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}

  std::size_t below(std::size_t bound) { return static_cast<unsigned char>(take(1)[0]) % bound; }
  double number() {
    constexpr double special[] = {0.0,     -0.0,     1,        -1,        2.5,   100,  1e15,
                                  DBL_MAX, -DBL_MAX, DBL_MIN,  5e-324,    1e100, 9e99, -9e99,
                                  FLT_MAX, 1e-100,   INFINITY, -INFINITY, NAN};
    if (const std::size_t chosen = below(256); chosen < std::size(special)) return special[chosen];
    double value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::string text() { return take(below(64)); }
  /// Calls `make` up to `most` times.
  template <class Make>
  auto list(std::size_t most, const Make& make) {
    std::vector<decltype(make())> made(below(most + 1));
    for (auto& each : made) each = make();
    return made;
  }
  std::vector<double> numbers(std::size_t count) {
    std::vector<double> made(count);
    for (double& each : made) each = number();
    return made;
  }
  Tensor tensor(const Shape& shape) {
    return Tensor(shape, numbers(static_cast<std::size_t>(shape.size())));
  }

 private:
  std::string take(std::size_t count) {
    std::string taken(bytes_.substr(0, count));
    bytes_.remove_prefix(taken.size());
    taken.resize(count);
    return taken;
  }

  std::string_view bytes_;
};

Diagram diagram(Source& source) {
  const auto text = [&] { return source.text(); };
  const auto series = [&] {
    Series made{.name = text(), .points = source.list(6, [&] {
                  return std::pair{source.number(), source.number()};
                })};
    if (source.below(2) == 1) made.deviations = source.numbers(made.points.size());
    return made;
  };
  return {.title = text(),
          .x_label = text(),
          .y_label = text(),
          .series = source.list(4, series),
          .logarithmic = source.below(2) == 1,
          .caption = text(),
          .x_mark = source.below(2) == 1 ? std::optional(source.number()) : std::nullopt};
}

HeatMap heat_map(Source& source) {
  const auto text = [&] { return source.text(); };
  HeatMap map{.title = text(),
              .rows = source.list(4, text),
              .columns = source.list(200, text),
              .values = {},
              .unit = text(),
              .caption = text()};
  for (std::size_t i = 0; i < map.rows.size(); ++i)
    map.values.push_back(source.numbers(map.columns.size()));
  return map;
}

support::PenLine pen_line(Source& source) {
  const auto moves = static_cast<Index>(source.below(8));
  support::PenLine line{source.text(), source.tensor({moves, 3}), source.text()};
  const auto characters = std::ssize(line.text);
  if (characters > 0 && source.below(2) == 1) line.weights = source.tensor({moves, characters});
  return line;
}

support::DrawnImages drawn_images(Source& source) {
  const Shape images{1, 2, 3};
  const auto window = [&] {
    return GlimpseWindow{.x = source.tensor({1}),
                         .y = source.tensor({1}),
                         .stride = source.tensor({1}),
                         .deviation = source.tensor({1}),
                         .intensity = source.tensor({1})};
  };
  return {.title = source.text(),
          .glimpses = {{window(), window(), source.tensor(images)}},
          .originals = source.tensor(images)};
}

DependencyTree tree(Source& source) {
  return source.list(6, [&] {
    return DependencyWord{.form = source.text(),
                          .xpos = source.text(),
                          .head = static_cast<Index>(source.below(8)),
                          .relation = source.text()};
  });
}

std::string picture(Source& source) {
  const auto medium = static_cast<Medium>(source.below(3));
  switch (source.below(5)) {
    case 0:
      return svg(source.list(3, [&] { return diagram(source); }), medium);
    case 1:
      return svg(source.list(3, [&] { return heat_map(source); }), medium);
    case 2:
      return support::handwriting_picture(source.list(3, [&] { return pen_line(source); }));
    case 3:
      return support::glimpse_picture({drawn_images(source)}, {});
    default:
      return support::drawn_as_svg(source.list(3, [&] { return tree(source); }));
  }
}

// ---- What every picture is ----

bool starts_entity(std::string_view text) {
  return text.starts_with("&amp;") || text.starts_with("&lt;") || text.starts_with("&gt;");
}

void expect_characters(const std::string& image) {
  static_cast<void>(Json(image).dump());  // throws unless it is UTF-8
  for (const unsigned char c : image)
    expect_property(c >= ' ' || c == '\n' || c == '\t' || c == '\r', "XML has these characters");
  for (const char* unknown : {"\uFFFE", "\uFFFF"})
    expect_property(image.find(unknown) == std::string::npos, "XML has these characters");
}

void expect_text(std::string_view text) {
  for (std::size_t at = 0; (at = text.find_first_of("&>", at)) != text.npos; ++at)
    expect_property(starts_entity(text.substr(at)), "text is escaped");
}

// ` name="value"` again and again; numbers are finite, and have one sign at most.
void expect_attributes(std::string_view attributes) {
  while (!attributes.empty()) {
    const std::size_t begin = attributes.find("=\""), end = attributes.find('"', begin + 2);
    expect_property(attributes[0] == ' ' && begin != attributes.npos && end != attributes.npos,
                    "an attribute has a value");
    const std::string_view value = attributes.substr(begin + 2, end - begin - 2);
    expect_text(value);
    for (const char* wrong : {"nan", "inf", "--"})
      expect_property(value.find(wrong) == value.npos, "what is drawn has a place");
    attributes.remove_prefix(end + 1);
  }
}

void expect_picture(std::string_view image) {
  std::vector<std::string_view> open;
  while (!image.empty()) {
    const std::size_t begin = std::min(image.find('<'), image.size());
    expect_text(image.substr(0, begin));
    if (begin == image.size()) break;
    const std::size_t end = image.find('>', begin);
    expect_property(end != image.npos, "a tag ends");
    std::string_view tag = image.substr(begin + 1, end - begin - 1);
    image.remove_prefix(end + 1);
    if (tag.starts_with('/')) {
      expect_property(!open.empty() && open.back() == tag.substr(1), "elements are nested");
      open.pop_back();
      continue;
    }
    const bool is_empty = tag.ends_with('/');
    if (is_empty) tag.remove_suffix(1);
    const std::string_view name = tag.substr(0, tag.find(' '));
    expect_attributes(tag.substr(name.size()));
    if (!is_empty) open.push_back(name);
  }
  expect_property(open.empty(), "elements end");
}

}  // namespace

void attack(std::string_view input) {
  Source source(input);
  const std::string image = picture(source);
  expect_characters(image);
  expect_picture(image);
}

}  // namespace tapegrad::attack
