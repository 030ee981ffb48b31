// Trains skip-thought vectors (Kiros et al. 2015), as in Ba et al. 2016, section 6.3: a sentence's
// vector predicts what stands before and after it. Finds similar sentences, and judges the vectors.

#include <fmt/ranges.h>

#include "data/plain_text.h"
#include "data/probes.h"
#include "problems/skip_thoughts.h"
#include "support/data_files.h"
#include "support/saved_net.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/norm_flag.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

struct SkipFlags : TrainingFlags {
  std::string data, query, evaluate, norm = "none", condition = "start";
  Index vocabulary = 4000, embedding = 100, hidden = 256;

  SkipFlags()
      : TrainingFlags(
            "skip_thoughts",
            "Learns vectors of sentences by predicting the sentences before and after them.",
            {.epochs = 4,
             .batch_size = 64,
             .optimizer = {.schedule = "constant", .clip_norm = 5},
             .keep_best = true}) {
    input("--data", data,
          data_help("the Children's Book Test", "cbt-books/") + "; without it, draws stories");
    add_query_flag(*this, query,
                   "Show the sentences of the books that the net of --resume finds nearest to this "
                   "one, without training");
    in_place_of_training(
        input("--evaluate", evaluate,
              data_help("the sets to judge by", "sick/ and sentence-classification/") +
                  "; judges the vectors of the net of --resume, without training"))
        .excludes({"--data", "--query"});
    add_norm_flag(*this, norm, "Normalization of all three GRUs");
    training("--condition", condition,
             "Where decoders see the vector: as the state at the start, or at every-step, too")
        .check(one_of({"start", "every-step"}));
    training("--vocabulary", vocabulary, "Most frequent words to know").check(between(1, 1 << 20));
    training("--embedding", embedding, "Channels of the words").check(between(1, 1 << 16));
    training("--hidden", hidden, "Channels of a sentence's vector").check(between(1, 1 << 16));
  }

  SkipThoughtsOptions model() const {
    return {.words = embedding,
            .hidden = hidden,
            .norm = norm,
            .every_step = condition == "every-step"};
  }
  TripletSets sets() const { return book_triplets({data, seed}); }
};

Vocabulary saved_vocabulary(const Trainer& trainer) {
  return Vocabulary::of(trainer.resumed_note("words", saved_words));
}

int run_training(const SkipFlags& flags, Trainer& trainer) {
  const TripletSets sets = flags.sets();
  trainer.uses_data(sets.source, sets.digest());
  const Vocabulary vocabulary = trainer.resumes()
                                    ? saved_vocabulary(trainer)
                                    : Vocabulary::most_frequent(sets.counts, flags.vocabulary);
  write_result(fmt::format(
      "data: {}; {} sentences with neighbours to train on, {} for validation\n"
      "validation loss by the frequencies of words: {:.4f} nats per word\n",
      sets.source, sets.train.size(), sets.validation.size(), frequency_nll(sets, vocabulary)));
  Random random(flags.seed);
  SkipThoughtsTrainee learner(sets, vocabulary, flags.model(), flags.batch_size, flags.seed,
                              random);
  const SkipThoughts& net = learner.encoder();
  Cluster& cluster = trainer.cluster();
  const auto validation_loss = [&] { return word_nll(net, learner.validation_batches(), cluster); };
  const auto steps = RunSteps::epochs(flags.epochs, learner.per_epoch());
  return trainer.train(
      {.net = learner.net(),
       .steps = steps,
       .loss = learner.batch_loss(),
       .seed = flags.seed,
       .description = fmt::format(
           "model: {} words, {} parameters; {} steps of up to {} sentences\n",
           vocabulary.words().size(), parameter_count(net), steps.total, flags.batch_size),
       .validate =
           [&] {
             return Metrics{{"validation_loss", validation_loss()}};
           },
       .test =
           [&] {
             const double loss = validation_loss(),
                          strange = strange_nll(net, learner.validation_batches(), cluster);
             write_result(
                 fmt::format("validation loss {:.4f} nats per word; {:.4f} with the vectors of "
                             "other sentences\n",
                             loss, strange));
             return Metrics{{"validation_loss", loss},
                            {"validation_loss_of_other_vectors", strange}};
           },
       .notes =
           [&] {
             return std::map<std::string, std::string>{{"words", Json(vocabulary.words()).dump()}};
           }});
}

SkipThoughts new_net(const SkipFlags& flags, const Vocabulary& vocabulary) {
  Random random(flags.seed);
  return SkipThoughts(vocabulary.count(), random, flags.model());
}

SkipThoughts load_net(const SkipFlags& flags, const Vocabulary& vocabulary) {
  SkipThoughts net = new_net(flags, vocabulary);
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  return net;
}

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

int answer(const SkipFlags& flags, const Trainer& trainer) {
  const Vocabulary vocabulary = saved_vocabulary(trainer);
  const SkipThoughts net = load_net(flags, vocabulary);
  const TripletSets sets = flags.sets();
  std::vector<Words> sentences;
  for (const Triplet& triplet : sets.train) sentences.push_back(triplet.current);
  const Tensor vectors = sentence_vectors(net, vocabulary, sentences),
               query = sentence_vectors(net, vocabulary, {words_of_sentence(flags.query)});
  for (const auto& [sentence, cosine] : nearest(vectors, select(query, 0), 5)) {
    const Triplet& found = sets.train[sentence];
    write_result(fmt::format("{:.4f}  {}\n          before: {}\n          after: {}\n", cosine,
                             joined(found.current), joined(found.previous), joined(found.next)));
  }
  return 0;
}

int evaluate(const SkipFlags& flags, const Trainer& trainer) {
  const ProbeSets sets = read_probe_sets(flags.evaluate);
  const Vocabulary vocabulary = saved_vocabulary(trainer);
  const SkipThoughts untrained = new_net(flags, vocabulary), net = load_net(flags, vocabulary);
  const auto vectors_of = [&](const SkipThoughts& encoder) {
    return [&](const std::vector<Words>& sentences) {
      return sentence_vectors(encoder, vocabulary, sentences);
    };
  };
  const auto show = [](const ProbeResults& results) { write_result(probe_line(results)); };
  write_result(probe_heading(sets));
  show(majority_baseline(sets));
  show(overlap_baseline(sets));
  show(naive_bayes_baseline(sets));
  show(naive_bayes_baseline(sets, &vocabulary));
  show(probe("mean of the net's words", sets, mean_of_words(net, vocabulary)));
  show(probe("the net, untrained", sets, vectors_of(untrained)));
  show(probe("the net", sets, vectors_of(net)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  SkipFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    if (!flags.query.empty()) return answer(flags, trainer);
    if (!flags.evaluate.empty()) return evaluate(flags, trainer);
    return run_training(flags, trainer);
  });
}
