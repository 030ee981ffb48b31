#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <bit>
#include <set>
#include <system_error>

#include "data/subwords.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/sentences.h"

// The pieces are the whole model: their ranks are the order of the merges. So they are what is
// kept, and this file writes SentencePiece's own form of a model, a message of Protocol Buffers,
// from them.

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

const std::vector<std::string> specials{"<pad>", "<unk>", "<s>", "</s>"};

void expect_ok(const sentencepiece::util::Status& status) {
  expect<DataError>(status.ok(), "subwords: SentencePiece: {}", status.message());
}

// The words with single blanks between them; SentencePiece leaves out tabs when it learns.
std::string with_single_blanks(const std::string& text) {
  return fmt::format("{}", fmt::join(words_of(text), " "));
}

// A message of Protocol Buffers; sentencepiece_model.proto numbers the fields.
class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void real32(unsigned field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift & 0xff);
  }
  void text(unsigned field, const std::string& value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// The types of pieces.
constexpr std::uint64_t normal = 1, of_unknown = 2, control = 3;

std::uint64_t type_of(Index number) {
  if (number >= std::ssize(specials)) return normal;
  return number == Subwords::unknown ? of_unknown : control;
}

std::string model_of(const std::vector<std::string>& pieces) {
  Message model, trainer;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Message piece;
    piece.text(1, pieces[i]);
    piece.real32(2, i < specials.size() ? 0 : -static_cast<float>(i - specials.size()));
    piece.number(3, type_of(i));
    model.text(1, piece.bytes());
  }
  trainer.number(3, 2);  // by byte-pair encoding
  trainer.number(4, pieces.size());
  trainer.number(40, Subwords::unknown);
  trainer.number(41, Subwords::begin);
  trainer.number(42, Subwords::end);
  trainer.number(43, Subwords::pad);
  model.text(2, trainer.bytes());
  Message normalizer;
  normalizer.text(1, "identity");
  model.text(3, normalizer.bytes());
  return model.bytes();
}

void expect_pieces(const std::vector<std::string>& pieces) {
  expect<DataError>(pieces.size() > specials.size() &&
                        std::equal(specials.begin(), specials.end(), pieces.begin()),
                    "subwords: the first are not {}", fmt::format("{}", fmt::join(specials, ", ")));
  std::set<std::string> seen;
  for (const std::string& piece : pieces)
    expect<DataError>(!piece.empty() && seen.insert(piece).second,
                      "subwords: a piece is empty, or there twice: {}", beginning(piece));
}

// Gives SentencePiece the lines as it asks for them.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) lines_.push_back(with_single_blanks(line));
  }
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

}  // namespace

Subwords Subwords::learn(const std::vector<std::string>& lines, Index vocabulary) {
  expect<DataError>(!std::ranges::all_of(lines, [](auto& line) { return words_of(line).empty(); }),
                    "subwords: there are no words to learn from");
  LineIterator iterator(lines);
  std::string model;
  try {
    expect_ok(
        sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                    {"vocab_size", std::to_string(vocabulary)},
                                                    {"hard_vocab_limit", "false"},
                                                    {"character_coverage", "1"},
                                                    {"normalization_rule_name", "identity"},
                                                    {"max_sentence_length", "1000000000"},
                                                    {"pad_id", std::to_string(pad)},
                                                    {"unk_id", std::to_string(unknown)},
                                                    {"bos_id", std::to_string(begin)},
                                                    {"eos_id", std::to_string(end)},
                                                    {"num_threads", "1"},
                                                    {"minloglevel", "2"}},
                                                   &iterator, &model));
  } catch (const std::system_error& error) {
    throw Error(
        fmt::format("subwords: SentencePiece needs a thread: {}; allow more processes, or "
                    "use fewer --threads",
                    error.code().message()));
  }
  sentencepiece::SentencePieceProcessor learnt;
  expect_ok(learnt.LoadFromSerializedProto(model));
  std::vector<std::string> pieces;
  for (int i = 0; i < learnt.GetPieceSize(); ++i) pieces.push_back(learnt.IdToPiece(i));
  return Subwords(pieces);
}

Subwords::Subwords(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
  expect_pieces(pieces_);
  auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
  expect_ok(processor->LoadFromSerializedProto(model_of(pieces_)));
  processor_ = std::move(processor);
}

std::vector<Index> Subwords::encode(const std::string& text) const {
  std::vector<int> numbers;
  expect_ok(processor_->Encode(with_single_blanks(text), &numbers));
  return {numbers.begin(), numbers.end()};
}

std::string Subwords::decode(const std::vector<Index>& numbers) const {
  std::vector<int> ids;
  for (const Index number : numbers) {
    expect(0 <= number && number < count(), "subwords: piece {} is not in [0, {})", number,
           count());
    ids.push_back(static_cast<int>(number));
  }
  std::string text;
  expect_ok(processor_->Decode(ids, &text));
  return text;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
