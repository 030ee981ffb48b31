#pragma once

#include <array>
#include <vector>

#include "tapegrad/nn/metrics.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The label of the arc to the root of a sentence.
constexpr Index root_label = 0;

enum class Action { shift, left, right };

/// A step of an arc-standard parser (Nivre 2004). With s0 on top of the stack and s1 below it:
/// `shift` moves the next word to the stack; `left` makes s0 the head of s1 and removes s1; `right`
/// makes s1 the head of s0 and removes s0.
struct Transition {
  Action action;
  Index label = root_label;  ///< of the arc; `shift` draws none

  bool operator==(const Transition&) const = default;
};

/// Numbers all transitions, for a classifier: `shift`, `left` with each label but the root's,
/// whose head is not a word, and `right` with each.
struct TransitionClasses {
  Index labels;  ///< their number; they count from 0

  Index count() const { return 2 * labels; }
  Index number(const Transition& transition) const;
  Transition at(Index number) const;
};

/// What features describe, in this order: s0, s1, s2 of the stack, the next three words, and for s0
/// and s1 the first and second children from the left and from the right and outermost
/// grandchildren: lc1 rc1 lc2 rc2 lc1(lc1) rc1(rc1).
constexpr std::size_t feature_tokens = 18;
/// Tokens from this index on may have a label.
constexpr std::size_t first_labelled_token = 6;

/// Between two transitions: a stack, on which the root (token 0) always lies, the words that are
/// not read yet, and the arcs so far.
class Configuration {
 public:
  static constexpr Index none = -1;

  /// Before the first transition of a sentence of this many words.
  explicit Configuration(Index words);

  /// Whether every word has a head.
  bool is_final() const { return next_ == words() && stack_.size() == 1; }
  /// `right` from the root comes last, and it alone has the label of the root, so that each
  /// sequence of legal transitions, two for each word, ends in a tree with a single root.
  bool is_legal(const Transition& transition) const;
  /// Throws ArgumentError for an illegal transition.
  void apply(const Transition& transition);

  /// The arc to each word, from its head; `none` for both where there is none yet.
  const std::vector<Arc>& arcs() const { return arcs_; }
  /// A token of the stack, from the top, or of the words not read yet; `none` beyond the last.
  Index stack(std::size_t position) const;
  Index unread(Index position) const;
  std::array<Index, feature_tokens> tokens() const;

 private:
  // The outermost children on a side, the outermost first. Transitions attach them from the inside
  // outwards, so each new one is the outermost.
  using Children = std::array<Index, 2>;

  Index words() const { return std::ssize(arcs_); }
  void attach(Index child, Index head, Index label);
  static Index outermost(const std::vector<Children>& children, Index token);

  std::vector<Index> stack_{0};
  Index next_ = 0;  // words that have been read
  std::vector<Arc> arcs_;
  std::vector<Children> left_, right_;  // by token
};

/// The transitions that build a tree, two for each word: an arc as early as its dependent has all
/// its own (the static oracle). Throws ArgumentError if there are none, since arcs cross.
///   tree: the arc to each word
std::vector<Transition> oracle(const std::vector<Arc>& tree);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
