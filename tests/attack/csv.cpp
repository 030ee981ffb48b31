// Tables of numbers and words: what is read is written and read again as it was.

#include "tapegrad/io/csv.h"

#include <fmt/ranges.h>

#include <cmath>

#include "attack.h"
#include "tapegrad/core/error.h"

namespace tapegrad::attack {
namespace {

std::string written(const Tensor& x) {
  const auto columns = static_cast<std::size_t>(x.shape()[1]);
  std::string text;
  for (auto rest = x.values(); !rest.empty(); rest = rest.subspan(columns))
    text += fmt::format("{}\n", fmt::join(rest.first(columns), ","));
  return text;
}

}  // namespace

void attack(std::string_view input) {
  for (const bool header : {false, true})
    refuses([&] {
      const CsvTable table = read_csv(File(input).path(), {.header = header});
      const Tensor& x = table.values;
      expect_property(table.names.size() == (header ? static_cast<std::size_t>(x.shape()[1]) : 0),
                      "each column has a name");
      if (x.size() == 0) return;
      const Tensor again = read_csv(File(written(x), File::Kind::mapped).path()).values;
      expect_property(again.shape() == x.shape(), "a table keeps its shape");
      for (std::size_t i = 0; i < x.values().size(); ++i) {
        const real before = x.values()[i], after = again.values()[i];
        expect_property(before == after || (std::isnan(before) && std::isnan(after)),
                        "a table keeps its values");
      }
    });
  // Every column of text: what is read has the numbers of its words, also when they are given.
  refuses([&] {
    CsvOptions options{.header = true, .missing = true};
    for (const std::string& name : read_csv(File(input).path(), options).names)
      options.words[name] = {};
    const CsvTable table = read_csv(File(input).path(), options);
    options.words = table.words;
    const CsvTable again = read_csv(File(input).path(), options);
    expect_property(again.words == table.words, "a table keeps its words");
  });
}

}  // namespace tapegrad::attack
