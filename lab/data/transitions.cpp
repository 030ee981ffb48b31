#include "data/transitions.h"

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

Index TransitionClasses::number(const Transition& transition) const {
  switch (transition.action) {
    case Action::shift:
      return 0;
    case Action::left:
      return transition.label;
    case Action::right:
      break;
  }
  return labels + transition.label;
}

Transition TransitionClasses::at(Index number) const {
  if (number == 0) return {Action::shift};
  if (number < labels) return {Action::left, number};
  return {Action::right, number - labels};
}

Configuration::Configuration(Index words)
    : arcs_(words, {none, none}), left_(arcs_.size() + 1, {none, none}), right_(left_) {}

bool Configuration::is_legal(const Transition& transition) const {
  if (transition.action == Action::shift) return next_ < words();
  const Index below = stack(1);
  if (below == none) return false;
  const bool is_root = transition.label == root_label;
  if (below != 0) return !is_root;
  return transition.action == Action::right && is_root && next_ == words();
}

void Configuration::apply(const Transition& transition) {
  expect<ArgumentError>(is_legal(transition),
                        "configuration: an illegal transition: action {} with label {}",
                        static_cast<int>(transition.action), transition.label);
  if (transition.action == Action::shift) {
    stack_.push_back(++next_);
    return;
  }
  const Index top = stack(0), below = stack(1);
  stack_.pop_back();
  if (transition.action == Action::left) {
    stack_.back() = top;
    attach(below, top, transition.label);
  } else {
    attach(top, below, transition.label);
  }
}

void Configuration::attach(Index child, Index head, Index label) {
  arcs_[child - 1] = {head, label};
  Children& side = (child < head ? left_ : right_)[head];
  side = {child, side[0]};
}

Index Configuration::stack(std::size_t position) const {
  return position < stack_.size() ? stack_[stack_.size() - 1 - position] : none;
}

Index Configuration::unread(Index position) const {
  return next_ + position < words() ? next_ + position + 1 : none;
}

Index Configuration::outermost(const std::vector<Children>& children, Index token) {
  return token == none ? none : children[token][0];
}

std::array<Index, feature_tokens> Configuration::tokens() const {
  std::array<Index, feature_tokens> result{stack(0),  stack(1),  stack(2),
                                           unread(0), unread(1), unread(2)};
  auto next = result.begin() + first_labelled_token;
  for (const Index token : {stack(0), stack(1)}) {
    const Children nobody{none, none};
    const Children left = token == none ? nobody : left_[token];
    const Children right = token == none ? nobody : right_[token];
    for (const Index each : {left[0], right[0], left[1], right[1], outermost(left_, left[0]),
                             outermost(right_, right[0])})
      *next++ = each;
  }
  return result;
}

std::vector<Transition> oracle(const std::vector<Arc>& tree) {
  const auto arc_of = [&](Index word) { return tree[word - 1]; };
  std::vector<Index> waiting(tree.size() + 1, 0);  // dependents without their arc, by token
  for (const Arc& arc : tree) ++waiting[arc.head];
  const auto is_ready = [&](Index word) { return waiting[word] == 0; };
  Configuration configuration(std::ssize(tree));
  std::vector<Transition> transitions;
  while (!configuration.is_final()) {
    const Index top = configuration.stack(0), below = configuration.stack(1);
    Transition next{Action::shift};
    if (below > 0 && arc_of(below).head == top)
      next = {Action::left, arc_of(below).label};
    else if (below >= 0 && arc_of(top).head == below && is_ready(top))
      next = {Action::right, arc_of(top).label};
    if (next.action != Action::shift) --waiting[next.action == Action::left ? top : below];
    expect<ArgumentError>(configuration.is_legal(next),
                          "oracle: arcs of the tree cross: words {} and {} do not come together",
                          below, top);
    configuration.apply(next);
    transitions.push_back(next);
  }
  return transitions;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
