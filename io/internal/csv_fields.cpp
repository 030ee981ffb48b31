#include "tapegrad/io/internal/csv_fields.h"

#include <algorithm>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

CsvFields::CsvFields(std::string_view text, char separator, const std::string& file)
    : text_(text), separator_(separator), file_(file) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
}

std::vector<CsvFields> CsvFields::pieces(std::size_t bytes) const {
  if (text_.find('"', at_) != std::string_view::npos) return {*this};
  std::vector<CsvFields> pieces;
  for (std::size_t begin = at_; begin < text_.size(); begin = pieces.back().text_.size()) {
    const std::size_t line_end = text_.find('\n', begin + bytes);
    CsvFields& piece = pieces.emplace_back(*this);
    piece.at_ = begin;
    if (line_end != std::string_view::npos) piece.text_ = text_.substr(0, line_end + 1);
  }
  return pieces;
}

std::string_view CsvFields::next() {
  line_ = next_line_;
  const std::string_view field = text_.substr(at_).starts_with('"') ? quoted() : plain();
  end_field();
  return field;
}

std::string_view CsvFields::plain() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
  if (text_.substr(at_).starts_with('\n') && at_ > begin && text_[at_ - 1] == '\r') --at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view CsvFields::quoted() {
  unquoted_.clear();
  for (;;) {
    const std::size_t begin = at_ + 1, end = text_.find('"', begin);
    expect<DataError>(end != std::string_view::npos,
                      "csv: {}: line {} has a quoted field without an end", file_, line_);
    unquoted_ += text_.substr(begin, end - begin);
    at_ = end + 1;
    if (!text_.substr(at_).starts_with('"')) break;
    unquoted_ += '"';  // written twice
  }
  next_line_ += std::count(unquoted_.begin(), unquoted_.end(), '\n');
  return unquoted_;
}

void CsvFields::end_field() {
  const std::string_view rest = text_.substr(at_);
  line_has_ended_ = !rest.starts_with(separator_);
  if (rest.empty()) return;
  // Faster than to compare with "\r\n".
  const std::size_t size = rest.starts_with('\r') && rest.substr(1).starts_with('\n') ? 2 : 1;
  expect<DataError>(!line_has_ended_ || rest[size - 1] == '\n',
                    "csv: {}: line {} has characters after a quoted field", file_, line_);
  at_ += size;
  next_line_ += line_has_ended_;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
