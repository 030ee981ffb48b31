#include "support/options.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/io/idx.h"
#include "tapegrad/io/sentences.h"
#include "tapegrad/io/text.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

Indices ids(Index count) {
  return Indices({count}, std::vector<Index>(static_cast<std::size_t>(count)));
}

ImageSet images(Index count) {
  const auto size = static_cast<std::size_t>(count);
  return {1, 1, std::vector<std::uint8_t>(size), std::vector<std::uint8_t>(size)};
}

}  // namespace

TEST_CASE("batches refuse an empty set and sizes that make no sense", "[nn][options]") {
  const ImageSet one = images(1), none = images(0);
  check({
      {[&] { Batches(one, 1); }, ""},
      {[&] { Batches(none, 1); }, "batches: the set is empty: 0 examples"},
      {[&] { Batches(one, 0); }, "batches: size must be at least 1: 0"},
      {[&] { Batches(one, 1, draws(), -1); }, "batches: first must not be negative: -1"},
  });
}

TEST_CASE("texts and sentences refuse sizes that make no sense", "[nn][options]") {
  const std::vector<Sentence> sentences{{0, {"a", "b"}}};
  const Vocabulary words(sentences, 1);
  const std::string undefined =
      ": input 0 is undefined: it was made without a value, or is a parameter that its layer does "
      "not have";
  check({
      {[] { text_rows(ids(2), {0}, 1); }, ""},
      {[] { text_rows(ids(2), {0}, 0); }, "text: length must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, 1, draws()); }, ""},
      {[] { random_rows(ids(2), 0, 1, draws()); }, "text: batch must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, 0, draws()); }, "text: length must be at least 1: 0"},
      {[] { random_rows(ids(2), 1, -1, draws()); }, "text: length must be at least 1: -1"},
      {[] { random_rows({}, 1, 1, draws()); }, "text" + undefined},
      {[] { TextStreams(Indices(), 1, 1); }, "text" + undefined},
      {[] { TextStreams(ids(2), 0, 1); }, "text: batch must be at least 1: 0"},
      {[] { TextStreams(ids(2), 1, 0); }, "text: length must be at least 1: 0"},
      {[] { text_blocks({}, 1, 1); }, "text" + undefined},
      {[] { text_blocks(ids(2), 0, 1); }, "text: rows must be at least 1: 0"},
      {[] { text_blocks(ids(2), 1, 0); }, "text: length must be at least 1: 0"},
      {[] { Characters("a").decode({}); }, "characters" + undefined},
      {[&] { Vocabulary(sentences, 0); }, "vocabulary: least must be at least 1: 0"},
      {[&] { sentence_batches(sentences, words, 1); }, ""},
      {[&] { sentence_batches(sentences, words, 0); },
       "sentence_batches: tokens must be at least 1: 0"},
  });
}
