#include "problems/sentences.h"

#include <algorithm>

#include "data/naive_bayes.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using namespace support;
using lab::Outcome;

// Enters the share of right answers in percent, with the answers as items.
void enter_answers(Outcome& outcome, const std::vector<double>& items) {
  outcome.items = items;
  outcome.values["test"] = mean_of_items(outcome);
}

// 100 for each sentence that is classified rightly, in the order of the batches.
std::vector<double> answers(const TransformerClassifier& net,
                            const std::vector<SentenceBatch>& batches) {
  std::vector<double> right;
  for (const auto& [words, lengths, labels] : batches) {
    const Indices guesses = argmax(net(words, lengths));
    for (Index i = 0; i < labels.size(); ++i)
      right.push_back(guesses.data()[i] == labels.data()[i] ? 100 : 0);
  }
  return right;
}

Validation validation_of(const TransformerClassifier& net,
                         const std::vector<SentenceBatch>& batches) {
  RunningMean loss, share;
  for (const auto& [words, lengths, labels] : batches) {
    const Tensor logits = net(words, lengths);
    loss.add(cross_entropy(logits, labels).item(), labels.size());
    share.add(accuracy(logits, labels), labels.size());
  }
  return {100 * share.value(), loss.value()};
}

// The answers of a rule without a net.
template <class Rule>
Outcome answers_of(const SentenceSets& sets, const Rule& rule) {
  std::vector<double> right;
  for (const Sentence& sentence : sets.test)
    right.push_back(rule(sentence) == sentence.label ? 100 : 0);
  Outcome outcome;
  enter_answers(outcome, right);
  return outcome;
}

// The first sentences of each part.
SentenceSets shortened(SentenceSets sets) {
  sets.train.resize(200);
  sets.validation.resize(60);
  sets.test.resize(60);
  return sets;
}

SentenceSizes sizes_of(Size size) {
  if (size == Size::report) return {};
  return {.net = {.layers = 1, .heads = 2, .channels = 16, .hidden = 16},
          .batch_tokens = 512,
          .epochs = 2,
          .seconds = 0.1};
}

Outcome naive_bayes_of_ten_splits(const std::string& directory, Index batch_tokens) {
  RunningMean accuracy;
  for (std::uint64_t split = 1; split <= 10; ++split) {
    const SentenceSets each = read_rt(directory, batch_tokens, split);
    const NaiveBayes bayes(each.train, each.classes);
    for (const Sentence& sentence : each.test)
      accuracy.add(bayes.classify(sentence) == sentence.label ? 100 : 0);
  }
  return {.values = {{"test", accuracy.value()}}};
}

}  // namespace

TransformerModelOptions SentenceNet::model() const {
  return {.stack = {.layers = layers,
                    .heads = heads,
                    .channels = channels,
                    .feed_forward = hidden,
                    .activation = Activation::relu,
                    .norm = NormSpec(norm),
                    .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
                    .dropout = dropout},
          .positions = Positions::sinusoidal};
}

SentenceTrainee::SentenceTrainee(std::shared_ptr<const SentenceSets> sets, const SentenceNet& net,
                                 Index batch_tokens, std::uint64_t seed, Random& random)
    : sets_(std::move(sets)),
      batch_tokens_(batch_tokens),
      vocabulary_(sets_->train),
      net_(vocabulary_.count(), sets_->classes, random, net.model()),
      batches_(seed, [this](Random& order) {
        return sentence_batches(sets_->train, vocabulary_, batch_tokens_, &order);
      }) {}

Tensor SentenceTrainee::loss(Index step, const Shard& shard, Random& random) {
  const auto of_shard = [&](const Indices& all, const char* name) {
    return named(part(all, shard.begin, shard.end), name);
  };
  const auto& [words, lengths, labels] = batches_.at(step);
  return cross_entropy(
      net_(of_shard(words, "words"), of_shard(lengths, "lengths"), training(random)),
      of_shard(labels, "labels"));
}

Validation SentenceTrainee::validate() { return validation_of(net_, batches(sets_->validation)); }

void SentenceTrainee::test(Outcome& outcome) {
  enter_answers(outcome, answers(net_, batches(sets_->test)));
}

Problem sentence_problem(const SentenceSets& all, const SentenceSizes& o) {
  const auto sets = std::make_shared<SentenceSets>(all);
  // The order of batches, so that items of nets and of rules pair.
  std::stable_sort(sets->test.begin(), sets->test.end(), [](const Sentence& a, const Sentence& b) {
    return a.words.size() < b.words.size();
  });
  const Index per_epoch =
      std::ssize(sentence_batches(all.train, Vocabulary(all.train), o.batch_tokens));
  return {.source = all.source,
          .data = fmt::format("{}, test {}", all.digest(), all.test_digest()),
          .initial_values = "U(+-1/sqrt(inputs))\nwords N(0, 1/sqrt(channels))",
          .sizes = {{"layers", o.net.layers},
                    {"heads", o.net.heads},
                    {"channels", o.net.channels},
                    {"hidden", o.net.hidden},
                    {"dropout", o.net.dropout},
                    {"batch_tokens", o.batch_tokens},
                    {"epochs", o.epochs}},
          .optimizer = {.beta2 = 0.998},
          .steps = o.epochs * per_epoch,
          .eval_interval = per_epoch,
          .rate = o.rate,
          .seconds = o.seconds,
          .trainee =
              [sets, o](const lab::TaskTrial& trial, Random& random) {
                SentenceNet net = o.net;
                net.norm = trial.setting.norm;
                return std::make_unique<SentenceTrainee>(sets, net, o.batch_tokens,
                                                         trial.trial.seed, random);
              },
          .baselines = {{"majority",
                         [sets] {
                           const Index label = majority(sets->train);
                           return answers_of(*sets, [=](const Sentence&) { return label; });
                         }},
                        {"naive_bayes", [sets] {
                           const NaiveBayes bayes(sets->train, sets->classes);
                           return answers_of(
                               *sets, [&](const Sentence& each) { return bayes.classify(each); });
                         }}}};
}

Problem sentence_problem(const std::string& task, const Origin& origin, Size size) {
  const SentenceSizes sizes = sizes_of(size);
  SentenceSets sets = origin.is_drawn()
                          ? draw_sentence_sets(origin.seed + (task == "rt" ? 0 : 1))
                          : read_sentence_sets(task, origin.directory, sizes.batch_tokens);
  if (size == Size::smoke) sets = shortened(std::move(sets));
  Problem problem = sentence_problem(sets, sizes);
  if (task == "rt" && !origin.is_drawn())
    problem.baselines["naive_bayes_of_ten_splits"] = [=] {
      return naive_bayes_of_ten_splits(origin.directory, sizes.batch_tokens);
    };
  return problem;
}

Problem split_problem(const std::function<SentenceSets(std::uint64_t split)>& sets,
                      const SentenceSizes& sizes) {
  constexpr std::uint64_t splits = 5;
  Problem problem = sentence_problem(sets(1), sizes);
  problem.of_seed = [=](std::uint64_t seed) { return sentence_problem(sets(1 + seed), sizes); };
  for (auto& baseline : problem.baselines)
    baseline.second = [of_seed = problem.of_seed, rule = baseline.first] {
      RunningMean mean;
      for (std::uint64_t seed = 1; seed <= splits; ++seed)
        mean.add(of_seed(seed).baselines.at(rule)().values.at("test"));
      return Outcome{.values = {{"test", mean.value()}}};
    };
  return problem;
}

Problem split_problem(const Origin& origin, Size size) {
  const SentenceSizes sizes = sizes_of(size);
  return split_problem(
      [=](std::uint64_t split) {
        SentenceSets sets = origin.is_drawn()
                                ? draw_sentence_sets(origin.seed + split)
                                : read_rt(origin.directory, sizes.batch_tokens, split);
        return size == Size::smoke ? shortened(std::move(sets)) : sets;
      },
      sizes);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
