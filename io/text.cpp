#include "tapegrad/io/text.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/options.h"
#include "tapegrad/io/examples.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr Index grain = Index{1} << 16;  // characters that a thread reads at a time

unsigned char byte_at(std::string_view text, Index i) {
  return static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
}

}  // namespace

Characters::Characters(std::string_view text) : numbers_(256, -1) {
  std::array<std::atomic<bool>, 256> seen{};
  constexpr auto relaxed = std::memory_order_relaxed;
  parallel_ranges(std::ssize(text), grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      if (auto& known = seen[byte_at(text, i)]; !known.load(relaxed)) known.store(true, relaxed);
  });
  for (std::size_t byte = 0; byte < seen.size(); ++byte) {
    if (!seen[byte]) continue;
    numbers_[byte] = count();
    bytes_ += static_cast<char>(byte);
  }
}

Indices Characters::encode(std::string_view text) const {
  Indices ids = Indices::uninitialized({std::ssize(text)});
  std::atomic<bool> unknown = false;
  parallel_ranges(ids.size(), grain, [&, id = ids.mutable_data()](Index begin, Index end) {
    Index any = 0;  // negative if one of them is
    for (Index i = begin; i < end; ++i) {
      id[i] = numbers_[byte_at(text, i)];
      any |= id[i];
    }
    if (any < 0) unknown = true;
  });
  if (unknown) {
    Index first = 0;
    while (ids.data()[first] >= 0) ++first;
    throw DataError(fmt::format(
        "characters: byte {:#04x} at position {} is not among the {} characters of the text",
        byte_at(text, first), first, count()));
  }
  return ids;
}

std::string Characters::decode(const Indices& ids) const {
  expect_defined("characters", ids);
  expect_below("characters", ids, count());
  std::string text;
  for (const Index id : ids.values()) text += bytes_[static_cast<std::size_t>(id)];
  return text;
}

TextSplit split_text(const Indices& ids, double share) {
  expect_defined("split_text", ids);
  expect_share("split_text", "share", share);
  const Index count = ids.size(), first = static_cast<Index>(share * static_cast<double>(count));
  return {part(ids, 0, first), part(ids, first, count)};
}

Indices transposed(const Indices& ids) {
  expect(ids.shape().rank() == 2, "transposed: ids must have two axes: {}", ids.shape());
  const Index rows = ids.shape()[0], columns = ids.shape()[1];
  Indices result = Indices::uninitialized({columns, rows});
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c)
      result.mutable_data()[c * rows + r] = ids.data()[r * columns + c];
  return result;
}

TextBatch text_rows(const Indices& ids, const std::vector<Index>& begins, Index length) {
  expect_defined("text", ids);
  expect_positive("text", "length", length);
  const Shape shape{static_cast<Index>(begins.size()), length};
  TextBatch batch{Indices::uninitialized(shape), Indices::uninitialized(shape)};
  Index *inputs = batch.inputs.mutable_data(), *targets = batch.targets.mutable_data();
  for (const Index begin : begins) {
    expect(0 <= begin && begin < ids.size() - length,
           "text: a row of {} ids and the id after it do not fit at {} of {}", length, begin,
           ids.size());
    inputs = std::copy_n(ids.data() + begin, length, inputs);
    targets = std::copy_n(ids.data() + begin + 1, length, targets);
  }
  return batch;
}

TextBatch random_rows(const Indices& ids, Index batch, Index length, Random& random) {
  expect_defined("text", ids);
  expect_positive("text", "batch", batch);
  expect_positive("text", "length", length);
  expect<DataError>(ids.size() > length, "text: {} characters are too few for rows of {}",
                    ids.size(), length);
  std::vector<Index> begins;
  for (Index i = 0; i < batch; ++i) begins.push_back(random.below(ids.size() - length));
  return text_rows(ids, begins, length);
}

TextStreams::TextStreams(const Indices& ids, Index batch, Index length)
    : ids_(ids), batch_(batch), length_(length) {
  expect_defined("text", ids);
  expect_positive("text", "batch", batch);
  expect_positive("text", "length", length);
  blocks_ = (ids.size() - 1) / batch / length;
  expect<DataError>(blocks_ >= 1, "text: {} characters are too few for {} streams of blocks of {}",
                    ids.size(), batch, length);
}

TextBatch TextStreams::block(Index i) const {
  std::vector<Index> begins;
  for (Index stream = 0; stream < batch_; ++stream)
    begins.push_back((stream * blocks_ + i) * length_);
  return text_rows(ids_, begins, length_);
}

std::vector<std::vector<TextBatch>> text_blocks(const Indices& ids, Index rows, Index length) {
  expect_defined("text", ids);
  expect_positive("text", "rows", rows);
  expect_positive("text", "length", length);
  const Index targets = std::max<Index>(0, ids.size() - 1), whole = targets / length;
  const Index used_rows = std::max<Index>(1, std::min(rows, whole)), per_row = whole / used_rows;
  std::vector<std::vector<TextBatch>> groups(2);
  for (Index i = 0; i < per_row; ++i) {
    std::vector<Index> begins;
    for (Index row = 0; row < used_rows; ++row) begins.push_back((row * per_row + i) * length);
    groups[0].push_back(text_rows(ids, begins, length));
  }
  for (Index begin = used_rows * per_row * length; begin < targets; begin += length)
    groups[1].push_back(text_rows(ids, {begin}, std::min(length, targets - begin)));
  return groups;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
