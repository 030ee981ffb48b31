#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiments/verdict.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/heat_map.h"
#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The explanation of verdicts at the end of --help.
inline constexpr const char* on_verdicts =
    "The program ends with exit code 1 if a claim does not hold. A result that was published\n"
    "about larger runs never makes it fail, nor does a question that only this project asks.\n"
    "Paired seeds decide whether such a claim is supported or contradicted (by a 95 % interval,\n"
    "unless the claim names another rule); otherwise it is inconclusive at this scale. It is not\n"
    "judged if a system has not learned its task, or if no worse learning rate was tried on one\n"
    "side of its best.";

/// A table of text and formatted numbers. What follows a line break in a cell is beside the rest:
/// the page shows it below in grey; elsewhere line breaks become " / ".
struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Whether a figure is the one that shows in a talk what its page is about. It is then also written
/// to NAME_FIGURE.talk.svg, for a slide (see Medium).
enum class Talk { no, yes };

/// The report of an experiment: its claims, measurements and results. It is printed as the
/// experiment runs. With --report DIR it is also written as one self-contained page, DIR/NAME.html,
/// with its tables as CSV and its figures as CSV and SVG beside it.
class Report {
 public:
  /// Adds --report, and to --help what the verdicts mean. Call before the command line is parsed.
  void add_to(Flags& flags);
  /// command: the user's command line, shown on the page   writes: if not, prints and writes
  /// nothing, since another process does
  void begin(const std::string& name, const std::string& title, const std::string& command,
             bool writes = true);

  void paragraph(const std::string& text);
  void table(const Table& table);
  /// Shows the diagram with its caption, on a phone in a form of its own.
  ///   name: names the files with the curves
  void figure(const std::string& name, const Diagram& diagram, Talk talk = Talk::no);
  void heat_map(const std::string& name, const HeatMap& map, Talk talk = Talk::no);
  /// Shows an SVG image.   values: of what it shows, as CSV
  void drawing(const std::string& name, const std::string& image, const std::string& caption,
               const std::string& values);
  /// Texts beside each other, each with its name; their lines and spaces stay.
  void texts(const std::string& title,
             const std::vector<std::pair<std::string, std::string>>& named_texts);
  /// Adds a file beside the page.
  void file(const std::string& name, const std::string& contents);
  /// A statement, the measurement, and whether it supports the statement.
  ///   tolerance: how far the measurement may be from the statement, in words such as "below 1e-9"
  void claim(const std::string& statement, const std::string& measured, bool holds,
             const std::string& tolerance = "");
  void claim(const Claim& claim);
  /// Adds a claim about larger runs. A small run need not confirm it, so its verdict does not
  /// make the program fail.
  void judged(const JudgedClaim& claim);

  /// Writes the page. Returns the exit code of the program: 1 if a claim failed. Throws DataError
  /// if a file cannot be written.
  int finish() const;

 private:
  void add_figure(const std::string& name, const std::function<std::string(Medium)>& draw,
                  const std::string& caption, const std::string& values, Talk talk);
  /// How many claims hold, and the verdicts on those that are judged.
  std::string headline() const;
  /// How the page was made, and the tolerances of the claims.
  std::string footer() const;
  std::string page() const;

  std::string directory_, name_, title_, command_, body_;
  const Flags* flags_ = nullptr;
  std::vector<std::pair<std::string, std::string>> files_;  // name and contents
  std::vector<std::string> tolerances_;                     // of each claim
  std::size_t failed_ = 0;
  int tables_ = 0;
  std::map<Verdict, int> published_, asked_here_;  // how many claims have which verdict
  std::vector<double> levels_;                     // the p of those that have one
};

/// Writes DIRECTORY/index.html, which links to the pages that experiments have written there, each
/// report with its title and headline. Throws DataError where another file would be replaced.
void write_index(const std::string& directory);

/// The words of a command line.
std::string command_line(int argc, char** argv);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
