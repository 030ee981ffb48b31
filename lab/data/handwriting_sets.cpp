#include "data/handwriting_sets.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "support/data_files.h"
#include "tapegrad/core/error.h"
#include "tapegrad/train/resume.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

std::vector<WrittenLine> without_text(std::vector<Strokes> lines) {
  std::vector<WrittenLine> written;
  for (Strokes& line : lines) written.push_back({std::move(line), {}});
  return written;
}

void add_moves(Digest& digest, const Strokes& drawing) {
  for (const auto& [dx, dy, lifts] : drawing)
    digest.add(fmt::format("{:.5g},{:.5g},{:d} ", dx, dy, lifts));
}

std::string digest_of(const std::vector<Strokes>& train, const std::vector<Strokes>& validation) {
  Digest digest;
  for (const auto* drawings : {&train, &validation})
    for (const Strokes& drawing : *drawings) add_moves(digest, drawing);
  return fmt::format("{} drawings, {}", train.size() + validation.size(), digest.to_string());
}

// A normal distribution in two dimensions, and a Bernoulli distribution of the pen with one more
// of each outcome than there were, so that none is impossible.
class MoveDensity {
 public:
  void add(const PenMove& move) {
    const std::array<double, 6> terms{move.dx,
                                      move.dy,
                                      double{move.dx} * move.dx,
                                      double{move.dy} * move.dy,
                                      double{move.dx} * move.dy,
                                      move.lifts ? 1.0 : 0.0};
    for (std::size_t i = 0; i < terms.size(); ++i) sums_[i] += terms[i];
    ++count_;
  }

  // In nats.
  double cost(const PenMove& move) const {
    const auto mean = [&](std::size_t i) { return sums_[i] / count_; };
    const double x = move.dx - mean(0), y = move.dy - mean(1);
    const double xx = mean(2) - mean(0) * mean(0), yy = mean(3) - mean(1) * mean(1),
                 xy = mean(4) - mean(0) * mean(1), determinant = xx * yy - xy * xy;
    const double square = (yy * x * x - 2 * xy * x * y + xx * y * y) / determinant;
    return std::log(2 * std::numbers::pi) + (std::log(determinant) + square) / 2 -
           std::log(((move.lifts ? sums_[5] : count_ - sums_[5]) + 1) / (count_ + 2));
  }

 private:
  std::array<double, 6> sums_{};  // of x, y, x^2, y^2, x y and of lifted pens
  double count_ = 0;
};

// Visits moves, and whether the pen was lifted before; at first it is down.
template <class F>
void for_each_move(const std::vector<WrittenLine>& lines, const F& f) {
  for (const WrittenLine& line : lines) {
    bool lifted = false;
    for (const PenMove& move : line.moves) {
      f(move, lifted);
      lifted = move.lifts;
    }
  }
}

}  // namespace

std::vector<WrittenLine> HandwritingSets::train(Random& random) const {
  constexpr Index written_lines = 800;
  return drawings.empty() ? write_lines(written_lines, random)
                          : without_text(stroke_lines(drawings, lines, random));
}

std::string HandwritingSets::test_digest() const {
  Digest all;
  for (const WrittenLine& line : test) {
    add_moves(all, line.moves);
    all.add("\n");
  }
  return all.to_string();
}

HandwritingSets read_handwriting_sets(const std::string& task, const std::string& directory,
                                      Index moves) {
  constexpr std::size_t most_for_validation = 64;
  constexpr std::uint64_t noise_stream = 79;
  const bool kanji = task == "kanji";
  const auto read = [&](const char* part) {
    const std::string file = fmt::format("{}.{}.txt", kanji ? "short_kanji" : "omniglot", part);
    return read_strokes(find_data_file(directory, "stroke3", file));
  };
  const std::vector<Strokes> validation = read("valid");
  HandwritingSets sets{.source = directory, .drawings = read("train")};
  sets.digest = digest_of(sets.drawings, validation);
  sets.lines = {.moves = moves,
                .grid = kanji ? 1.0 : 6.0,
                .scale = offset_deviation(sets.drawings),
                .shuffled = true};
  StrokeLineOptions in_order = sets.lines;
  in_order.shuffled = false;
  Random noise = Random(1).stream(noise_stream);
  sets.validation = without_text(stroke_lines(validation, in_order, noise));
  sets.test = without_text(stroke_lines(read("test"), in_order, noise));
  if (sets.validation.size() > most_for_validation) sets.validation.resize(most_for_validation);
  return sets;
}

HandwritingSets write_handwriting_sets(std::uint64_t seed) {
  Random validation = Random(seed).stream(2), test = Random(seed).stream(3);
  HandwritingSets sets{.source = "lines of drawn digits"};
  sets.validation = write_lines(64, validation);
  sets.test = write_lines(100, test);
  std::vector<Strokes> lines;
  for (const WrittenLine& line : sets.validation) lines.push_back(line.moves);
  sets.digest = digest_of({}, lines);
  return sets;
}

HandwritingBaselines handwriting_baselines(const std::vector<WrittenLine>& train,
                                           const std::vector<WrittenLine>& test) {
  MoveDensity all;
  std::array<MoveDensity, 2> by_pen;
  for_each_move(train, [&](const PenMove& move, bool lifted) {
    all.add(move);
    by_pen[lifted ? 1 : 0].add(move);
  });
  double moves = 0;
  HandwritingBaselines sums{0, 0};
  for_each_move(test, [&](const PenMove& move, bool lifted) {
    ++moves;
    sums.one += all.cost(move);
    sums.by_pen += by_pen[lifted ? 1 : 0].cost(move);
  });
  return {sums.one / moves, sums.by_pen / moves};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
