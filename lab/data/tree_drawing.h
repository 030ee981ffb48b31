#pragma once

#include <string>
#include <vector>

#include "tapegrad/io/conllu.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The most words of a tree that can be drawn.
constexpr std::size_t most_drawn_words = 1000;

/// A tree as text, one word per line: the arcs to it and from it, its number, the word itself, its
/// tag, its head and their relation.
///
///       ┌─> 1  the   DT   2  det
///     ┌─┴─> 2  dogs  NNS  3  nsubj
///     └───  3  run   VBP  0  root
///
/// Both throw ArgumentError for longer trees, and for heads that are not another word.
std::string drawn_as_text(const DependencyTree& tree);

/// Trees as one SVG image, one below the other. The words, in UTF-8, stand side by side below their
/// arcs.
std::string drawn_as_svg(const std::vector<DependencyTree>& trees);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
