#include "experiments/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "experiments/provenance.h"
#include "experiments/registry.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/csv.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// What every page contains.
constexpr const char* page_mark = R"(<p class="headline">)";

constexpr const char* page_form = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --text: #24292f; --back: #ffffff; --line: #d0d7de; --soft: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e6edf3; --back: #0d1117; --line: #30363d;
  --soft: #161b22; --good: #3fb950; --bad: #f85149 }} }}
body {{ font: 16px/1.5 sans-serif; color: var(--text); background: var(--back); max-width: 54rem;
  margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.6rem }} .headline {{ font-weight: bold }} h2 {{ font-size: 1.1rem; margin-top: 2rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums }}
th, td {{ border-bottom: 1px solid var(--line); padding: .25rem .7rem; text-align: right; white-space: nowrap }}
th:first-child, td:first-child {{ text-align: left }} td small {{ opacity: .65 }}
.claim {{ border-left: .3rem solid; background: var(--soft); padding: .5rem 1rem; margin: 1rem 0 }}
.open, .unlearned {{ border-color: var(--line) }} .holds {{ border-color: var(--good) }} .fails {{ border-color: var(--bad) }}
.holds b {{ color: var(--good) }} .fails b {{ color: var(--bad) }}
footer {{ border-top: 1px solid var(--line); margin-top: 3rem; font-size: .85rem }}
code {{ background: var(--soft); padding: .1rem .3rem; overflow-wrap: anywhere }}
.texts {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: 1rem }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere }}
figure {{ margin: 1.5rem 0 }} figcaption {{ font-size: .9rem }}
svg {{ max-width: 100%; height: auto }}
.phone {{ display: none }}
@media screen and (max-width: 40rem) {{ .phone {{ display: block }} .page {{ display: none }} }}
@media print {{ body {{ margin: 0; max-width: none }} .claim, figure, tr {{ break-inside: avoid }} }}
</style>
</head>
<body>
<h1>{title}</h1>
{mark}{headline}</p>
{body}
<footer>
{footer}</footer>
</body>
</html>
)";

// The pages of the experiment `tape_tour`.
constexpr std::pair<const char*, const char*> tapes[] = {
    {"tape_layer_norm", "The tape of a layer normalization, attached and detached, step by step"},
    {"tape_second_derivative", "The tape of a second derivative, step by step"}};

// One column of x, and one of each series and of its deviations, for all x that there are.
std::string csv(const Diagram& diagram) {
  std::vector<std::string> header{diagram.x_label};
  std::map<double, std::map<std::string, double>> rows;
  for (const Series& series : diagram.series) {
    const std::string& name = header.emplace_back(series.name);
    for (const auto& [x, y] : series.points) rows[x][name] = y;
    if (series.deviations.empty()) continue;
    const std::string& deviation = header.emplace_back(series.name + " deviation");
    for (std::size_t i = 0; i < series.deviations.size(); ++i)
      rows[series.points[i].first][deviation] = series.deviations[i];
  }
  std::string text = csv_line(header);
  for (const auto& [x, values] : rows) {
    std::vector<std::string> cells{fmt::format("{}", x)};
    for (const std::string& name : std::span(header).subspan(1)) {
      const auto found = values.find(name);
      cells.push_back(found == values.end() ? "" : fmt::format("{}", found->second));
    }
    text += csv_line(cells);
  }
  return text;
}

// A row of the names of the columns, and one of each row's name and values.
std::string csv(const HeatMap& map) {
  std::vector<std::string> header{map.unit};
  header.insert(header.end(), map.columns.begin(), map.columns.end());
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    std::vector<std::string> cells{map.rows[i]};
    for (const double value : map.values[i]) cells.push_back(fmt::format("{}", value));
    text += csv_line(cells);
  }
  return text;
}

// `text` with each line break replaced.
std::string with_breaks(std::string text, const std::string& replacement) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;
       at += replacement.size())
    text.replace(at, 1, replacement);
  return text;
}

std::string html(const std::string& cell) {
  const std::size_t end = cell.find('\n');
  if (end == std::string::npos) return escaped(cell);
  return fmt::format("{}<br><small>{}</small>", escaped(cell.substr(0, end)),
                     with_breaks(escaped(cell.substr(end + 1)), "<br>"));
}

std::string html(const Table& table) {
  std::string rows;
  const auto row = [&](const std::vector<std::string>& cells, const char* tag) {
    rows += "<tr>";
    for (const std::string& cell : cells) rows += fmt::format("<{0}>{1}</{0}>", tag, html(cell));
    rows += "</tr>\n";
  };
  row(table.columns, "th");
  for (const auto& cells : table.rows) row(cells, "td");
  return fmt::format("<h2>{}</h2>\n<div class=\"wide\"><table>\n{}</table></div>\n",
                     escaped(table.title), rows);
}

// The table with all cells on one line.
Table on_lines(Table table) {
  for (auto& cells : table.rows)
    for (std::string& cell : cells) cell = with_breaks(cell, " / ");
  return table;
}

// table: its cells on one line each
void print(const Table& table) {
  std::vector<std::size_t> widths(table.columns.size());
  const auto widen = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  };
  widen(table.columns);
  for (const auto& cells : table.rows) widen(cells);
  std::string text = fmt::format("\n{}\n", table.title);
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += i == 0 ? fmt::format("{:<{}}", cells[i], widths[i])
                     : fmt::format("  {:>{}}", cells[i], widths[i]);
    text += "\n";
  };
  line(table.columns);
  for (const auto& cells : table.rows) line(cells);
  write_result(text);
}

// The words of a verdict, and its class on the page.
std::pair<const char*, const char*> shown(Verdict verdict) {
  static constexpr std::pair<const char*, const char*> all[] = {
      {"supported", "holds"},
      {"contradicted", "fails"},
      {"inconclusive at this scale", "open"},
      {"not learned at this size", "unlearned"},
      {"at an edge of the rates", "unlearned"}};
  return all[static_cast<int>(verdict)];
}

std::string page_in(const std::string& directory, const std::string& name) {
  return fmt::format("{}/{}.html", directory, name);
}

std::string page_of(const std::string& title, const std::string& headline, const std::string& body,
                    const std::string& footer) {
  return fmt::format(fmt::runtime(page_form), fmt::arg("title", escaped(title)),
                     fmt::arg("mark", page_mark), fmt::arg("headline", headline),
                     fmt::arg("body", body), fmt::arg("footer", footer));
}

// What stands behind a mark of a page, up to the next tag.
std::string behind(std::string_view mark, const std::string& page) {
  const std::size_t begin = page.find(mark) + mark.size();
  return page.substr(begin, page.find('<', begin) - begin);
}

// The files in a directory that have the names of what a report writes beside its page.
std::vector<std::string> files_beside(const std::string& directory, const std::string& name) {
  std::vector<std::string> files;
  std::error_code failure;  // ignored: a directory that cannot be read cannot be written either
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    const std::filesystem::path file = entry.path().filename();
    const bool is_kind = file.extension() == ".csv" || file.extension() == ".svg";
    if (is_kind && (file.stem() == name || file.string().starts_with(name + "_")))
      files.push_back(entry.path().string());
  }
  return files;
}

// The files of all experiments.
std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& [name, experiment] : registry::experiments()) {
    files.push_back(page_in(directory, name));
    for (const std::string& file : files_beside(directory, name)) files.push_back(file);
  }
  return files;
}

// Throws DataError for what a report would replace that is not of an earlier one. The page marks
// what is beside it as its own.
void expect_own_report(const std::string& directory, const std::string& name) {
  const std::string page = page_in(directory, name);
  expect_own(page, page_mark);
  for (const std::string& file : files_beside(directory, name)) {
    expect_no_link(file);
    expect<DataError>(holds_something(page) || !holds_something(file),
                      "{}: without {}, it is of no report, and this one would replace it; move it, "
                      "or choose another --report",
                      file, page);
  }
}

}  // namespace

void Report::add_to(Flags& flags) {
  flags.output("--report", directory_, "Directory for a page with tables, figures and verdicts",
               {.files = files_in});
  flags.footer(on_verdicts);
  flags_ = &flags;
}

void Report::begin(const std::string& name, const std::string& title, const std::string& command,
                   bool writes) {
  if (!writes) {
    directory_.clear();
    silence_results();
  }
  name_ = name;
  title_ = title;
  command_ = command;
  if (directory_.empty()) return;
  make_directory(directory_);
  expect_own_report(directory_, name_);
  expect_writable(page_in(directory_, name_));
}

void Report::paragraph(const std::string& text) {
  write_result(fmt::format("\n{}\n", text));
  body_ += fmt::format("<p>{}</p>\n", escaped(text));
}

void Report::table(const Table& table) {
  const Table lines = on_lines(table);
  print(lines);
  body_ += html(table);
  std::string text = csv_line(lines.columns);
  for (const auto& cells : lines.rows) text += csv_line(cells);
  files_.emplace_back(fmt::format("{}_table{}.csv", name_, ++tables_), text);
}

void Report::add_figure(const std::string& name, const std::function<std::string(Medium)>& draw,
                        const std::string& caption, const std::string& values, Talk talk) {
  const std::string drawing = draw(Medium::page);
  body_ +=
      fmt::format("<figure>\n<div class=\"page\">\n{}</div>\n<div class=\"phone\">\n{}</div>\n",
                  drawing, draw(Medium::phone));
  if (!caption.empty()) body_ += fmt::format("<figcaption>{}</figcaption>\n", escaped(caption));
  body_ += "</figure>\n";
  files_.emplace_back(fmt::format("{}_{}.svg", name_, name), drawing);
  files_.emplace_back(fmt::format("{}_{}.csv", name_, name), values);
  if (talk == Talk::yes)
    files_.emplace_back(fmt::format("{}_{}.talk.svg", name_, name), draw(Medium::slide));
}

void Report::figure(const std::string& name, const Diagram& diagram, Talk talk) {
  const auto draw = [&](Medium medium) { return svg({diagram}, medium); };
  add_figure(name, draw, diagram.caption, csv(diagram), talk);
}

void Report::heat_map(const std::string& name, const HeatMap& map, Talk talk) {
  const auto draw = [&](Medium medium) { return svg(map, medium); };
  add_figure(name, draw, map.caption, csv(map), talk);
}

void Report::drawing(const std::string& name, const std::string& image, const std::string& caption,
                     const std::string& values) {
  add_figure(
      name, [&](Medium) { return image; }, caption, values, Talk::no);
}

void Report::texts(const std::string& title,
                   const std::vector<std::pair<std::string, std::string>>& named_texts) {
  write_result(fmt::format("\n{}\n", title));
  body_ += fmt::format("<h2>{}</h2>\n<div class=\"texts\">\n", escaped(title));
  for (const auto& [name, text] : named_texts) {
    write_result(fmt::format("\n{}:\n{}\n", name, text));
    body_ +=
        fmt::format("<section><h3>{}</h3><pre>{}</pre></section>\n", escaped(name), escaped(text));
  }
  body_ += "</div>\n";
}

void Report::file(const std::string& name, const std::string& contents) {
  files_.emplace_back(name, contents);
}

void Report::claim(const std::string& statement, const std::string& measured, bool holds,
                   const std::string& tolerance) {
  tolerances_.push_back(tolerance);
  failed_ += holds ? 0U : 1U;
  const char* verdict = holds ? "holds" : "FAILS";
  write_result(fmt::format("\n{}: {}\n  measured: {}\n", verdict, statement, measured));
  body_ += fmt::format("<div class=\"claim {}\"><b>Claim {} {}</b>: {}<br>Measured: {}</div>\n",
                       holds ? "holds" : "fails", tolerances_.size(), verdict, escaped(statement),
                       escaped(measured));
}

void Report::claim(const Claim& claim) {
  this->claim(claim.statement, claim.measured, claim.holds, claim.tolerance);
}

void Report::judged(const JudgedClaim& claim) {
  const auto& [source, statement, measured, judgement] = claim;
  const std::string whose =
      source.empty() ? "asked here" : fmt::format("published in {}", escaped(source));
  const auto [words, look] = shown(judgement.verdict);
  ++(source.empty() ? asked_here_ : published_)[judgement.verdict];
  std::string reason = judgement.reason;
  if (judgement.p) {
    levels_.push_back(*judgement.p);
    reason += fmt::format(", p {:.2g}", *judgement.p);
  }
  if (judgement.power) reason += fmt::format(", power {:.2f}", *judgement.power);
  write_result(
      fmt::format("\n{}, {}: {}\n  measured: {}; {}\n", whose, words, statement, measured, reason));
  body_ +=
      fmt::format("<div class=\"claim published {}\"><b>{}, {}</b>: {}<br>Measured: {}; {}</div>\n",
                  look, whose, words, escaped(statement), escaped(measured), escaped(reason));
}

std::string Report::headline() const {
  std::string judged;
  for (const auto& [whose, verdicts] :
       {std::pair{"published", published_}, {"asked here", asked_here_}}) {
    if (verdicts.empty()) continue;
    judged += fmt::format("; {}:", whose);
    const char* before = " ";
    for (const auto& [verdict, count] : verdicts) {
      judged += fmt::format("{}{} {}", before, count, shown(verdict).first);
      before = ", ";
    }
  }
  if (tolerances_.empty() && judged.empty()) return "Measurements without claims";
  return fmt::format("{} of {} claims hold{}", tolerances_.size() - failed_, tolerances_.size(),
                     judged);
}

std::string Report::footer() const {
  std::string text = fmt::format("<p>Made by <code>{}</code></p>\n", escaped(command_));
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("<p>{}: {}</p>\n", name, escaped(value));
  };
  if (!levels_.empty()) text += fmt::format("<p>{}.</p>\n", discoveries("claims", levels_));
  line("Seeds", seeds_of(*flags_));
  line("Version", built_version());
  line("Machine", machine());
  text += "<p>Tolerances of the claims:</p>\n<ol>\n";
  for (const std::string& tolerance : tolerances_)
    text += fmt::format("<li>{}</li>\n", tolerance.empty() ? "none" : escaped(tolerance));
  return text + fmt::format("</ol>\n<p>{}</p>\n", on_verdicts);
}

std::string Report::page() const { return page_of(title_, headline(), body_, footer()); }

int Report::finish() const {
  if (!levels_.empty()) write_result(fmt::format("\n{}\n", discoveries("claims", levels_)));
  write_result(fmt::format("\n{}\n", headline()));
  if (!directory_.empty()) {
    expect_own_report(directory_, name_);
    write_own(page_in(directory_, name_), page_mark, page());
    for (const auto& [file, text] : files_) write_own(directory_ + "/" + file, "", text);
  }
  return failed_ == 0 ? 0 : 1;
}

void write_index(const std::string& directory) {
  std::string links;
  const auto link = [&](const std::string& page, const std::string& title,
                        const std::string& more) {
    links += fmt::format("<li><a href=\"{}.html\">{}</a>{}</li>\n", page, title, more);
  };
  for (const auto& [name, experiment] : registry::experiments()) {
    const std::string file = page_in(directory, name);
    const std::string page = holds_something(file) ? read_text(file) : "";
    if (page.find(page_mark) != std::string::npos)
      link(name, behind("<h1>", page), ": " + behind(page_mark, page));
  }
  for (const auto& [name, title] : tapes)
    if (holds_something(page_in(directory, name))) link(name, title, "");
  write_own(page_in(directory, "index"), page_mark,
            page_of("The gradient laboratory", "Its reports, and tapes to step through",
                    fmt::format("<ul>\n{}</ul>\n", links),
                    fmt::format("<p>Version: {}</p>\n", escaped(built_version()))));
}

std::string command_line(int argc, char** argv) {
  std::string words = std::filesystem::path(argv[0]).filename().string();
  for (int i = 1; i < argc; ++i) (words += ' ') += argv[i];
  return words;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
