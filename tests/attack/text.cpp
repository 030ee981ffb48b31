// Texts as numbers, and in blocks. The first two bytes are the sizes of a batch.

#include "tapegrad/io/text.h"

#include "attack.h"
#include "tapegrad/io/file.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  if (input.size() < 2) return;
  const Index rows = input[0], length = input[1];
  const File file(input.substr(2));
  const std::string text = read_text(file.path());
  const Characters characters(text);
  const Indices ids = characters.encode(text);
  expect_property(characters.decode(ids) == text, "decoding gives back the text");
  expect_property(Characters(characters.bytes()).bytes() == characters.bytes(),
                  "characters of the characters are the same");

  Index targets = 0;
  for (const auto& group : text_blocks(ids, rows, length))
    for (const TextBatch& block : group) targets += block.targets.size();
  expect_property(targets == std::max<Index>(0, ids.size() - 1),
                  "every character but the first is predicted once");

  const TextStreams streams(ids, rows, length);
  std::string first_stream;
  for (Index i = 0; i < streams.blocks(); ++i)
    first_stream +=
        characters.decode(part(streams.block(i).inputs.reshape({rows * length}), 0, length));
  expect_property(text.starts_with(first_stream), "the first stream is the beginning of the text");
}

}  // namespace tapegrad::attack
