#include "tapegrad/nn/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapegrad/core/options.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Index count_equal(const Indices& guesses, const Indices& labels) {
  expect_defined("count_equal", guesses, labels);
  expect(guesses.shape() == labels.shape(), "count_equal: the shapes differ: {} and {}",
         guesses.shape(), labels.shape());
  return std::inner_product(guesses.values().begin(), guesses.values().end(),
                            labels.values().begin(), Index{0}, std::plus<>(), std::equal_to<>());
}

double accuracy(const Tensor& logits, const Indices& labels) {
  expect_defined("accuracy", logits, labels);
  expect(labels.size() > 0, "accuracy: there are no examples: {}", labels.shape());
  const Indices guesses = argmax(logits);
  expect(guesses.shape() == labels.shape(), "accuracy: logits {} do not fit labels {}",
         logits.shape(), labels.shape());
  Index right = 0;
  for (Index i = 0; i < labels.size(); ++i) {
    const Index guess = guesses.data()[i];  // a NaN, if there is one
    const bool is_nan = std::isnan(logits.data()[i * logits.shape()[-1] + guess]);
    right += guess == labels.data()[i] && !is_nan ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

double perplexity(double loss) { return std::exp(loss); }

void AttachmentScore::add(const Arc& right, const Arc& guess) {
  ++words;
  if (guess.head == right.head) ++heads;
  if (guess == right) ++arcs;
}

double AttachmentScore::uas() const {
  return static_cast<double>(heads) / static_cast<double>(words);
}

double AttachmentScore::las() const {
  return static_cast<double>(arcs) / static_cast<double>(words);
}

Confusion::Confusion(Index classes)
    : classes_(expect_positive("confusion", "classes", classes)),
      counts_(static_cast<std::size_t>(classes * classes)) {}

void Confusion::add(const Indices& labels, const Indices& guesses) {
  expect_defined("confusion", labels, guesses);
  expect(labels.shape() == guesses.shape(), "confusion: the shapes differ: {} and {}",
         labels.shape(), guesses.shape());
  expect_below("confusion", labels, classes_);
  expect_below("confusion", guesses, classes_);
  for (Index i = 0; i < labels.size(); ++i)
    ++counts_[static_cast<std::size_t>(labels.data()[i] * classes_ + guesses.data()[i])];
}

Index Confusion::count() const { return std::accumulate(counts_.begin(), counts_.end(), Index{0}); }

Index Confusion::at(Index label, Index guess) const {
  for (const Index each : {label, guess})
    expect(0 <= each && each < classes_, "confusion: class {} is not in [0, {})", each, classes_);
  return counts_[static_cast<std::size_t>(label * classes_ + guess)];
}

double Confusion::accuracy() const {
  Index right = 0;
  for (Index i = 0; i < classes_; ++i) right += at(i, i);
  return static_cast<double>(right) / static_cast<double>(count());
}

double Confusion::precision(Index label) const {
  Index guesses = 0;
  for (Index i = 0; i < classes_; ++i) guesses += at(i, label);
  return static_cast<double>(at(label, label)) / static_cast<double>(guesses);
}

double Confusion::recall(Index label) const {
  Index examples = 0;
  for (Index i = 0; i < classes_; ++i) examples += at(label, i);
  return static_cast<double>(at(label, label)) / static_cast<double>(examples);
}

double Confusion::f1(Index label) const {
  Index both = 0;  // guesses plus examples of the class
  for (Index i = 0; i < classes_; ++i) both += at(i, label) + at(label, i);
  return 2 * static_cast<double>(at(label, label)) / static_cast<double>(both);
}

std::string to_string(const Confusion& confusion) {
  Index greatest = confusion.classes() - 1;
  for (Index label = 0; label < confusion.classes(); ++label)
    for (Index guess = 0; guess < confusion.classes(); ++guess)
      greatest = std::max(greatest, confusion.at(label, guess));
  const std::size_t width = std::to_string(greatest).size();
  std::string result = fmt::format("{:{}} |", "", width);
  for (Index guess = 0; guess < confusion.classes(); ++guess)
    result += fmt::format(" {:{}}", guess, width);
  for (Index label = 0; label < confusion.classes(); ++label) {
    result += fmt::format("\n{:{}} |", label, width);
    for (Index guess = 0; guess < confusion.classes(); ++guess)
      result += fmt::format(" {:{}}", confusion.at(label, guess), width);
  }
  return result + "\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
