#pragma once

#include <functional>
#include <vector>

#include "tapegrad/io/conllu.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Guesses the head of a word without looking at words: what a parser must beat. Words count from
/// 1; 0 is the root.
using HeadRule = std::function<Index(const DependencyTree& tree, Index word)>;

/// The next word is the head; the last word is the root.
HeadRule next_word();
/// The previous word is the head; the first word is the root.
HeadRule previous_word();
/// The head is as far away as it is most often for words with the same XPOS in these trees, or the
/// word is the root, if that is so most often. A tag that they lack has the next word.
HeadRule commonest_distance(const std::vector<DependencyTree>& train);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
