#include "tapegrad/nn/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tapegrad/core/error.h"

// Words are cut as by sacreBLEU's tokenizer 13a, rule by rule.

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The number of bytes of the blank that a text begins with; 0 if it begins with none. Blanks are
// what Python's str.split splits at.
std::size_t leading_blank(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f)) return 1;
  if (text.starts_with("\u0085") || text.starts_with("\u00a0")) return 2;
  if (text.size() < 3) return 0;
  const std::string_view first = text.substr(0, 3);
  if (first >= "\u2000" && first <= "\u200a") return 3;
  constexpr std::array<std::string_view, 6> others{"\u1680", "\u2028", "\u2029",
                                                   "\u202f", "\u205f", "\u3000"};
  return std::find(others.begin(), others.end(), first) != others.end() ? 3 : 0;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  bool within = false;  // a word
  while (!text.empty()) {
    const std::size_t blank = leading_blank(text);
    if (blank == 0) {
      if (!within) words.emplace_back();
      words.back() += text[0];
    }
    within = blank == 0;
    text.remove_prefix(std::max<std::size_t>(blank, 1));
  }
  return words;
}

std::string_view without_trailing_blanks(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = leading_blank(text.substr(at));
    at += std::max<std::size_t>(blank, 1);
    if (blank == 0) end = at;
  }
  return text.substr(0, end);
}

void replace(std::string& text, std::string_view old, std::string_view by) {
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at)) {
    text.replace(at, old.size(), by);
    at += by.size();
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }
bool is_dash(char c) { return c == '-'; }
bool is_symbol(char c) {
  return std::string_view("{|}~[\\]^_` !\"#$%&()*+:;<=>?@/").find(c) != std::string_view::npos;
}

std::string with_symbols_apart(std::string_view text) {
  std::string result;
  for (const char c : text) is_symbol(c) ? (((result += ' ') += c) += ' ') : (result += c);
  return result;
}

// Puts a blank between two neighbours of these kinds, `before` them and `after` them. As with a
// regular expression, a pair begins behind the one before.
template <class First, class Second>
std::string apart(std::string_view text, First is_first, Second is_second, std::string_view before,
                  std::string_view after) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !is_first(text[i]) || !is_second(text[i + 1])) {
      result += text[i];
      continue;
    }
    (((result += before) += text[i]) += ' ') += text[i + 1];
    result += after;
    ++i;
  }
  return result;
}

using Counts = std::map<std::string, Index>;

Counts ngrams(const std::vector<std::string>& words, std::size_t n) {
  Counts counts;
  for (std::size_t begin = 0; begin + n <= words.size(); ++begin) {
    std::string ngram;
    for (std::size_t i = begin; i < begin + n; ++i) (ngram += words[i]) += ' ';
    ++counts[ngram];
  }
  return counts;
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& more) {
  for (std::size_t n = 0; n < bleu_order; ++n) {
    matches[n] += more.matches[n];
    total[n] += more.total[n];
  }
  length += more.length;
  reference_length += more.reference_length;
  return *this;
}

std::vector<std::string> bleu_words(std::string_view line) {
  std::string text(without_trailing_blanks(line));
  replace(text, "<skipped>", "");
  replace(text, "-\n", "");
  replace(text, "\n", " ");
  replace(text, "&quot;", "\"");
  replace(text, "&amp;", "&");
  replace(text, "&lt;", "<");
  replace(text, "&gt;", ">");
  const auto is_no_digit = [](char c) { return !is_digit(c); };
  text = with_symbols_apart(" " + text + " ");
  text = apart(text, is_no_digit, is_point, "", " ");
  text = apart(text, is_point, is_no_digit, " ", "");
  text = apart(text, is_digit, is_dash, "", " ");
  return split(text);
}

BleuCounts bleu_counts(std::string_view translation, std::string_view reference) {
  const std::vector<std::string> words = bleu_words(translation), right = bleu_words(reference);
  BleuCounts counts{.length = static_cast<Index>(words.size()),
                    .reference_length = static_cast<Index>(right.size())};
  for (std::size_t n = 0; n < bleu_order; ++n) {
    const Counts there = ngrams(right, n + 1);
    for (const auto& [ngram, times] : ngrams(words, n + 1)) {
      const auto found = there.find(ngram);
      counts.matches[n] += found == there.end() ? 0 : std::min(times, found->second);
      counts.total[n] += times;
    }
  }
  return counts;
}

double bleu(const BleuCounts& counts) {
  if (counts.matches == BleuCounts().matches || counts.total.back() == 0) return 0;
  double log_precision = 0, unseen = 1;
  for (std::size_t n = 0; n < bleu_order; ++n) {
    const auto total = static_cast<double>(counts.total[n]);
    const double matches =
        counts.matches[n] > 0 ? static_cast<double>(counts.matches[n]) : 1 / (unseen *= 2);
    log_precision += std::log(100 * matches / total) / bleu_order;
  }
  const double ratio =
      static_cast<double>(counts.reference_length) / static_cast<double>(counts.length);
  return std::exp(std::min(0.0, 1 - ratio) + log_precision);
}

double bleu(const std::vector<std::string>& translations,
            const std::vector<std::string>& references) {
  expect<ArgumentError>(translations.size() == references.size(),
                        "bleu: {} translations have {} references", translations.size(),
                        references.size());
  BleuCounts counts;
  for (std::size_t i = 0; i < translations.size(); ++i)
    counts += bleu_counts(translations[i], references[i]);
  return bleu(counts);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
