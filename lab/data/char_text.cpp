#include "data/char_text.h"

#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

CharText::CharText(const std::string& text) : characters(text) {
  const TextSplit split = split_text(characters.encode(text));
  training = split.training;
  rest = split.validation;
}

std::string CharText::digest() const {
  Digest digest;
  for (const Indices& ids : {training, rest}) digest.add(ids.data(), ids.size() * sizeof(Index));
  return digest.to_string();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
