#include "tapegrad/train/internal/lettering.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace tapegrad::TAPEGRAD_SCALAR::detail {
namespace {

// A letter drawn with a pen: relative commands of an SVG path that begins at the left end of the
// top of the capitals. The baseline is 14 lower, the top of x is 4 lower.
struct Glyph {
  double width;  // without the space to the next one
  const char* strokes;
};

constexpr double baseline = 14, spacing = 3.6;

// From space to ~, in the order of ASCII.
constexpr std::array<Glyph, 95> glyphs{{
    {2, ""},
    {0, "m0 0v9.5m0 4.3v.1"},
    {3, "m0 0v4m3-4v4"},
    {10, "m3 0l-1.5 14m6.5-14l-1.5 14m-6.5-9.5h10m-.6 5h-9.4"},
    {9, "m8.7 2.2q-1.6-2.2-4.3-2.2c-5.5 0-5.5 6.3 0 6.8c6 .5 6 7.2 0 7.2q-3 0-4.4-2.4m4.4-12.6v16"},
    {12,
     "m0 3a2.3 3 0 1 1 4.6 0a2.3 3 0 1 1-4.6 0m7.4 8a2.3 3 0 1 1 4.6 0a2.3 3 0 1 1-4.6 0"
     "m2.6-11l-8 14"},
    {9.5,
     "m9.5 14l-7.5-9q-1.8-2.4 0-4.2q1.5-1 3 0q2 2-1 4.2q-4 2.5-4 5.2q0 3.8 3.8 3.8"
     "q3.7 0 5.2-5.5"},
    {0, "m0 0v4"},
    {3, "m3-1q-3 3.5-3 8.5t3 8.5"},
    {3, "m0-1q3 3.5 3 8.5t-3 8.5"},
    {6, "m3 0v6m-2.6-4.5l5.2 3m0-3l-5.2 3"},
    {9, "m0 8h9m-4.5-4.5v9"},
    {1, "m1 13.5l-1 3"},
    {5, "m0 9h5"},
    {0, "m0 13.9v.1"},
    {5.5, "m0 15l5.5-16"},
    {8.5, "m0 7a4.2 7 0 1 1 8.4 0a4.2 7 0 1 1-8.4 0"},
    {8.5, "m1.5 3l3.5-3v14"},
    {8.5, "m.3 3.8q.3-3.8 4-3.8q3.8 0 3.8 3.6q0 2-2 4l-6 6.4h8.2"},
    {8.5, "m.5 2.5q1-2.5 3.7-2.5q3.5 0 3.5 3.2t-3.7 3.3q4.3 0 4.3 3.8t-4.3 3.7q-3 0-4-2.8"},
    {8.5, "m6.5 14v-14l-6.5 9.8h8.5"},
    {8.5, "m7.6 0h-6.4l-.7 6.3q1.6-1.3 3.6-1.3q4.4 0 4.4 4.5t-4.4 4.5q-3 0-4.1-2.4"},
    {8.5, "m7.2 .8q-7.2-2.2-7.2 8.7a4.2 4.5 0 1 0 8.4 0a4.2 4.5 0 1 0-8.4 0"},
    {8.5, "m0 0h8.4l-5.6 14"},
    {8.5,
     "m.6 3.2a3.6 3.2 0 1 1 7.2 0a3.6 3.2 0 1 1-7.2 0m-.6 7a4.2 3.8 0 1 1 8.4 0"
     "a4.2 3.8 0 1 1-8.4 0"},
    {8.5, "m1.2 13.2q7.2 2.2 7.2-8.7a4.2 4.5 0 1 0-8.4 0a4.2 4.5 0 1 0 8.4 0"},
    {0, "m0 6v.1m0 7.8v.1"},
    {1, "m1 6v.1m0 7.4l-1 3"},
    {8, "m8 3.5l-8 4.5l8 4.5"},
    {9, "m0 6h9m0 4h-9"},
    {8, "m0 3.5l8 4.5l-8 4.5"},
    {7.4, "m0 3.5q.2-3.5 3.7-3.5t3.7 3.4q0 2-2 3.4t-1.7 3m0 4v.1"},
    {13,
     "m8.6 4.5v5.5q0 1.5 1.7 1.5q2.7-.5 2.7-4.5a6.5 7 0 1 0-3 6m-1.4-5.5"
     "a2.8 3.3 0 1 1-5.6 0a2.8 3.3 0 1 1 5.6 0"},
    {10, "m0 14l5-14l5 14m-8.2-5h6.4"},
    {9.5, "m0 0v14h5q4.5 0 4.5-3.8t-4.5-3.7h-5m5 0q3.8 0 3.8-3.3t-3.8-3.2h-5"},
    {11, "m10.5 2.9a5.8 7 0 1 0 0 8.2"},
    {10.5, "m0 0v14h4a6.5 7 0 0 0 0-14z"},
    {8, "m8 0h-8v14h8m-8-7.3h7"},
    {8, "m8 0h-8v14m0-7.3h7"},
    {11.5, "m10.5 2.9a5.8 7 0 1 0 1 5.4h-4.7"},
    {10, "m0 0v14m10-14v14m-10-7.2h10"},
    {0, "m0 0v14"},
    {6, "m6 0v10q0 4-3 4q-3 0-3-4"},
    {9.5, "m0 0v14m9-14l-9 8.5m3.3-3l6.2 8.5"},
    {7.5, "m0 0v14h7.5"},
    {12, "m0 14v-14l6 10l6-10v14"},
    {10, "m0 14v-14l10 14v-14"},
    {12, "m0 7a6 7 0 1 1 12 0a6 7 0 1 1-12 0"},
    {9, "m0 14v-14h5a4 4 0 0 1 0 8h-5"},
    {12, "m0 7a6 7 0 1 1 12 0a6 7 0 1 1-12 0m7.5 3.5l4.5 4.5"},
    {9.5, "m0 14v-14h5a4 4 0 0 1 0 8h-5m5 0l4.5 6"},
    {9, "m8.7 2.2q-1.6-2.2-4.3-2.2c-5.5 0-5.5 6.3 0 6.8c6 .5 6 7.2 0 7.2q-3 0-4.4-2.4"},
    {10, "m0 0h10m-5 0v14"},
    {10, "m0 0v9q0 5 5 5t5-5v-9"},
    {10, "m0 0l5 14l5-14"},
    {14.8, "m0 0l3.7 14l3.7-14l3.7 14l3.7-14"},
    {9.5, "m0 0l9.5 14m0-14l-9.5 14"},
    {10, "m0 0l5 7l5-7m-5 7v7"},
    {9, "m0 0h9l-9 14h9"},
    {3, "m3-1h-3v17h3"},
    {5.5, "m0-1l5.5 16"},
    {3, "m0-1h3v17h-3"},
    {6, "m0 5l3-5l3 5"},
    {8, "m0 16h8"},
    {2, "m0 0l2 3"},
    {9, "m9 9a4.5 5 0 1 1-9 0a4.5 5 0 1 1 9 0m0-5v10"},
    {9, "m0 0v14m0-5a4.5 5 0 1 1 9 0a4.5 5 0 1 1-9 0"},
    {8, "m8 5.8a4.5 5 0 1 0 0 6.4"},
    {9, "m9 9a4.5 5 0 1 1-9 0a4.5 5 0 1 1 9 0m0-9v14"},
    {9, "m0 9h9a4.5 5 0 1 0-1 3.2"},
    {5.5, "m5.5 .3q-3.5-.8-3.5 3v10.7m-2-10h5"},
    {9, "m9 9a4.5 5 0 1 1-9 0a4.5 5 0 1 1 9 0m0-5v10q0 4-4.5 4q-2 0-3.5-1"},
    {8, "m0 0v14m0-6q.5-4 4-4t4 4v6"},
    {0, "m0 4v10m0-14v.1"},
    {3, "m3 4v11q0 3-3 3m3-18v.1"},
    {7.5, "m0 0v14m0-5l7-5m-5 3.6l5.5 6.4"},
    {0, "m0 0v14"},
    {14, "m0 4v10m0-6q.4-4 3.5-4t3.5 4v6m0-6q.4-4 3.5-4t3.5 4v6"},
    {8, "m0 4v10m0-6q.5-4 4-4t4 4v6"},
    {9, "m0 9a4.5 5 0 1 1 9 0a4.5 5 0 1 1-9 0"},
    {9, "m0 4v14m0-9a4.5 5 0 1 1 9 0a4.5 5 0 1 1-9 0"},
    {9, "m9 4v14m0-9a4.5 5 0 1 1-9 0a4.5 5 0 1 1 9 0"},
    {5, "m0 4v10m0-6q.5-4 4-4h1"},
    {7.5, "m7.3 5.5q-1.3-1.5-3.6-1.5c-4.5 0-4.5 4.5 0 5c5 .5 5 5 0 5q-2.5 0-3.7-1.7"},
    {5.3, "m2 .5v10q0 3.5 3.3 3.4m-5.3-9.9h5"},
    {8, "m0 4v6q0 4 4 4q3.5 0 4-4m0-6v10"},
    {8, "m0 4l4 10l4-10"},
    {12, "m0 4l3 10l3-10l3 10l3-10"},
    {7.5, "m0 4l7.5 10m0-10l-7.5 10"},
    {8, "m0 4l4 10m4-10l-4.6 11.5q-1 2.5-3.4 2.5"},
    {7, "m0 4h7l-7 10h7"},
    {4, "m4-1q-2.5 0-2.5 3v3q0 2.5-1.5 2.5q1.5 0 1.5 2.5v3q0 3 2.5 3"},
    {0, "m0-1v17"},
    {4, "m0-1q2.5 0 2.5 3v3q0 2.5 1.5 2.5q-1.5 0-1.5 2.5v3q0 3-2.5 3"},
    {9, "m0 9q2-3 4.5-1t4.5-1"},
}};
constexpr Glyph box{9, "m0 0h9v14h-9z"};

// A character beyond ASCII is a box, drawn for its first byte.
std::vector<Glyph> glyphs_of(const std::string& text) {
  std::vector<Glyph> found;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte <= '~')
      found.push_back(glyphs[byte - std::size_t{' '}]);
    else if ((byte & 0xC0) != 0x80)
      found.push_back(box);
  }
  return found;
}

}  // namespace

std::string pen_strokes(const std::string& text) {
  std::string path;
  double pen = spacing / 2;
  for (const Glyph& glyph : glyphs_of(text)) {
    path += fmt::format("M{:.1f} {}{}", pen, -baseline, glyph.strokes);
    pen += glyph.width + spacing;
  }
  return path;
}

double text_width(const std::string& text, double size) {
  double width = 0;
  for (const Glyph& glyph : glyphs_of(text)) width += glyph.width + spacing;
  return width * pen_unit * size;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
