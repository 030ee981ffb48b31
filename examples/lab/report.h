#pragma once

#include <string>
#include <vector>

#include "lab/verdict.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A table of text and numbers, which are already words.
struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// What an experiment claims, measures and finds: printed as it goes, and with --report DIR also
/// written as one self-contained page, DIR/NAME.html, with its tables as CSV and its curves as CSV
/// and SVG beside it.
class Report {
 public:
  /// --report. Before the command line is read.
  void add_to(Flags& flags);
  /// command: what the user typed, to be found on the page.
  void begin(const std::string& name, const std::string& title, const std::string& command);

  void paragraph(const std::string& text);
  void table(const Table& table);
  /// name: of the files with the curves.
  void figure(const std::string& name, const Diagram& diagram);
  /// One more file beside the page.
  void file(const std::string& name, const std::string& contents);
  /// A statement, what was measured, and whether the measurement bears it out.
  void claim(const std::string& statement, const std::string& measured, bool holds);
  /// The same of what was published about larger trainings: a small one need not bear it out, so
  /// that its verdict does not make the program fail.
  void published(const std::string& statement, const std::string& measured,
                 const Judgement& judgement);

  /// Writes the page. Returns the exit code of the program: 1 if a claim failed. Throws DataError
  /// when a file cannot be written.
  int finish() const;

 private:
  std::string directory_, name_, title_, command_, body_;
  std::vector<std::pair<std::string, std::string>> files_;  // name and contents
  int claims_ = 0, failed_ = 0, tables_ = 0;
  int published_ = 0, borne_out_ = 0, contradicted_ = 0;
};

/// The words of a command line.
std::string command_line(int argc, char** argv);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
