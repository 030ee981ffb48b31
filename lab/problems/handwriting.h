#pragma once

#include <span>
#include <variant>

#include "data/handwriting_sets.h"
#include "data/shuffled_epochs.h"
#include "problems/problem.h"
#include "tapegrad/zoo/handwriting.h"

/// Handwriting: a net predicts the moves of a pen, or writes a given text, as in Ba et al. 2016,
/// section 6.5 (Graves 2013, sections 4 and 5).
namespace tapegrad::TAPEGRAD_SCALAR::problems {

using Lines = std::vector<support::WrittenLine>;

/// The number of characters of texts: digits.
constexpr Index digit_count = 10;

/// Lines side by side, as nets read them.
struct HandwritingBatch {
  StrokeBatch strokes;
  Tensor text;  ///< (B, U, 10), one-hot; undefined if lines have no text

  Index rows() const { return strokes.lengths.size(); }
  /// The moves of all lines, without padding.
  double moves() const;
  /// 1 for moves and 0 for padding, (T, B).
  Tensor counted() const;
};
/// Throws ArgumentError without lines.
HandwritingBatch handwriting_batch(std::span<const support::WrittenLine> lines);

/// Lines in batches of `size`, in their order; those that fill none are left out.
std::vector<Lines> line_batches(const Lines& lines, Index size);
/// The moves of all lines, and their mean.
double moves_of(std::span<const support::WrittenLine> lines);
double moves_a_line(std::span<const support::WrittenLine> lines);

/// Digits as a net reads them, (1, U, 10).
Tensor text_of(const std::vector<Index>& digits);

/// A net that predicts lines, or one that writes their texts.
struct HandwritingNet {
  std::variant<HandwritingPredictor, HandwritingSynthesis> net;

  /// with_text: whether it writes texts
  HandwritingNet(bool with_text, Random& random, const HandwritingSynthesisOptions& options);
  /// The mean of -log p of the moves in nats, without padding.
  Tensor nll(const HandwritingBatch& batch, Mode mode = {}) const;
  /// -log p of all moves of these lines, in nats.
  double cost(std::span<const support::WrittenLine> lines) const;
  void visit(Fields& field) const {
    std::visit([&](const auto& one) { one.visit(field); }, net);
  }
};

/// In nats per move. The processes of a cluster share the lines.
double mean_cost(const HandwritingNet& net, const Lines& lines, Cluster& cluster);

class HandwritingTrainee : public Trainee {
 public:
  HandwritingTrainee(const support::HandwritingSets& sets, bool with_text,
                     const HandwritingSynthesisOptions& options, Index batch_size,
                     std::uint64_t seed, Random& random);

  const HandwritingNet& writer() const { return net_; }
  /// With their texts, if the net writes texts.
  const Lines& validation_lines() const { return validation_; }
  const Lines& test_lines() const { return test_; }
  /// 0 if there are fewer lines to train on than in a batch.
  Index per_epoch() const { return batches_.per_epoch(); }

  Fields net() const override { return fields(net_); }
  Index rows(Index step) override { return std::ssize(batches_.at(step)); }
  Tensor loss(Index step, const Shard& shard, Random& random) override;
  Validation validate() override;
  void test(lab::Outcome& outcome) override;
  void watch(const std::vector<Tensor>& gradients) override;

 private:
  bool with_text_;
  HandwritingNet net_;
  Lines validation_, test_;
  support::ShuffledEpochs<Lines> batches_;
  double recent_gradient_ = 0, largest_gradient_ = 0;  // norms: since the last validation, of all
};

/// The sizes of the paper's tasks: fewer units and updates than there.
struct HandwritingSizes {
  HandwritingSynthesisOptions model{
      .net = {.layers = 3, .hidden = 96, .components = 8}, .bumps = 5, .advance = 0.057};
  Index batch_size = 8;
  Index steps = 600;
  Index eval_interval = 25;
  double rate = 1e-3;
  double seconds = 27;
};

/// Three LSTMs with a mixture density, without normalization and with the paper's. Values: "test",
/// in nats per move; "largest_gradient", the largest norm of a gradient before clipping; the trace
/// "gradient_norm" has the largest since the validation before. Items are the costs of lines,
/// divided by the mean number of their moves.
///   with_text: whether the net reads the texts of lines
Problem handwriting_problem(const support::HandwritingSets& sets, bool with_text,
                            const HandwritingSizes& sizes = {});
/// Drawings of `omniglot` or `kanji`, which a net predicts, or lines of `written_digits`, whose
/// texts it reads.
Problem handwriting_problem(const std::string& task, const Origin& origin, Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
