#include "trainers/translate_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"
#include "tapegrad/nn/data/sentences.h"
#include "tapegrad/train/output.h"
#include "trainers/saved_net.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using namespace problems;

constexpr Index longest_line = 1000;  // in subwords: time grows with its square

std::optional<Subwords> parse_subwords(const Json& note) {
  std::vector<std::string> pieces;
  if (!note.is_array()) return {};
  for (const Json& piece : note) {
    if (!piece.is_string()) return {};
    pieces.push_back(piece.get<std::string>());
  }
  try {
    return Subwords(pieces);
  } catch (const DataError&) {
    return {};
  }
}

// The subwords and the best net of a checkpoint.
struct SavedTranslator {
  Subwords subwords;
  Translator net;

  SavedTranslator(const TranslateFlags& flags, const Trainer& trainer)
      : subwords(saved_subwords(trainer)), net(make_translator(flags, subwords)) {
    load_saved_net(flags.run, flags.optimizer, fields(net));
  }
};

// Translates lines one by one or many at a time, and remembers the first for the picture.
class LineTranslator {
 public:
  LineTranslator(const TranslateFlags& flags, const Trainer& trainer)
      : flags_(flags), saved_(flags, trainer) {}

  void write(std::span<const std::string> lines, const std::string& file) {
    for (const std::string& line : lines) {
      ++number_;
      const auto length = static_cast<Index>(saved_.subwords.encode(line).size());
      expect<DataError>(length <= longest_line,
                        "{}: line {} has {} subwords; at most {} can be translated", file, number_,
                        length, longest_line);
    }
    const auto translations = translate(saved_.net, saved_.subwords, lines, flags_.beam);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      write_result(translations[i] + "\n");
      picture_.add(lines[i], translations[i]);
    }
  }
  void draw() const {
    if (!flags_.attention.empty()) picture_.write(flags_.attention, saved_.net, saved_.subwords);
  }

 private:
  const TranslateFlags& flags_;
  SavedTranslator saved_;
  AttentionPicture picture_;
  Index number_ = 0;  // of the last line
};

}  // namespace

Subwords saved_subwords(const Trainer& trainer) {
  return trainer.resumed_note("subwords", parse_subwords);
}

Translator make_translator(const TranslateFlags& flags, const Subwords& subwords) {
  Random random(flags.seed);
  return Translator(subwords.count(), random, flags.model());
}

void AttentionPicture::add(const std::string& line, const std::string& translation) {
  if (sentences_.size() < most && !words_of(line).empty())
    sentences_.emplace_back(line, translation);
}

void AttentionPicture::write(const std::string& file, const Translator& net,
                             const Subwords& subwords) const {
  std::vector<HeatMap> maps;
  for (const auto& [line, translation] : sentences_)
    maps.push_back(attention_map(net, subwords, line, translation));
  const std::string picture = svg(maps);
  write_file(file, std::as_bytes(std::span(picture)));
}

int translate_lines(const TranslateFlags& flags, const Trainer& trainer) {
  LineTranslator translator(flags, trainer);
  if (flags.translate != "-") {
    translator.write(read_lines(flags.translate), flags.translate);
  } else {
    if (isatty(STDIN_FILENO) != 0)
      write_diagnostic("type a sentence and press Enter; Ctrl-D ends\n");
    for (std::string line; results_are_written() && std::getline(std::cin, line);)
      translator.write({&line, 1}, "standard input");
  }
  translator.draw();
  return 0;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
