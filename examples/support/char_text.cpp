#include "support/char_text.h"

#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

CharText::CharText(const std::string& text) : characters(text) {
  const Indices ids = characters.encode(text);
  training = part(ids, 0, ids.size() * 9 / 10);
  rest = part(ids, training.size(), ids.size());
}

std::string CharText::digest() const {
  Digest digest;
  for (const Indices& ids : {training, rest})
    digest.add(ids.data(), static_cast<std::size_t>(ids.size()) * sizeof(Index));
  return digest.to_string();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
