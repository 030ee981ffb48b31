// What Xu et al. 2019 measured: seven systems of normalization on eight tasks, with tables 1 to 4
// and figures 1 to 3 made from the ledger alone.

#include <algorithm>
#include <filesystem>

#include "lab/float32/subjects.h"
#include "lab/matrix_report.h"
#include "lab/paper_flags.h"
#include "lab/paper_xu2019.h"
#include "lab/registry.h"
#include "lab/sentence_task.h"
#include "lab/text_task.h"
#include "lab/translation_task.h"
#include "lab/tree_task.h"
#include "problems/digits.h"
#include "support/data_files.h"
#include "support/grammar.h"
#include "support/naive_bayes.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct XuFlags : PaperFlags {
  std::vector<std::string> tasks{"enwik8", "rt",        "sst5",        "mnist",
                                 "ud_ewt", "rt_splits", "enwik8_short"};

  void add_to(Flags& flags) {
    PaperFlags::add_to(flags, "table", {"table1", "table2", "table3", "table4"});
    flags.setting("--tasks", tasks, "Tasks to train; en_de and de_en need SentencePiece")
        ->check(CLI::IsMember({"enwik8", "rt", "sst5", "mnist", "ud_ewt", "rt_splits",
                               "enwik8_short", "en_de", "de_en"}));
  }

  /// Reduces the systems to those of the table.
  void choose_systems() {
    for (const PaperTable& of_paper : paper_tables)
      if (of_paper.number == number()) training.systems = of_paper.systems;
  }
};

// The first sentences of each part.
SentenceSets shortened(SentenceSets sets) {
  sets.train.resize(200);
  sets.validation.resize(60);
  sets.test.resize(60);
  return sets;
}

SentenceTaskOptions small_sentences() {
  return {.net = {.layers = 1, .heads = 2, .channels = 16, .hidden = 16},
          .batch_tokens = 512,
          .epochs = 2,
          .seconds = 0.1};
}

/// RT or SST-5, or other sentences for each that are drawn.
MatrixTask make_sentence_task(const std::string& name, const XuFlags& flags) {
  const SentenceTaskOptions options = flags.is_small() ? small_sentences() : SentenceTaskOptions();
  const std::uint64_t seed = flags.training.comparison.seed + (name == "rt" ? 0 : 1);
  SentenceSets sets = flags.data.empty()
                          ? draw_sentence_sets(seed)
                          : read_sentence_sets(name, flags.data, options.batch_tokens);
  if (flags.is_small()) sets = shortened(std::move(sets));
  MatrixTask task = sentence_task(name, sets, options);
  if (name == "rt" && !flags.data.empty())
    task.baselines["naive_bayes_of_ten_splits"] = [directory = flags.data, options] {
      RunningMean accuracy;
      for (std::uint64_t split = 1; split <= 10; ++split) {
        const SentenceSets each = read_rt(directory, options.batch_tokens, split);
        const NaiveBayes bayes(each.train, each.classes);
        for (const Sentence& sentence : each.test)
          accuracy.add(bayes.classify(sentence) == sentence.label ? 100 : 0);
      }
      return Outcome{.values = {{"test", accuracy.value()}}};
    };
  return task;
}

/// RT on other splits than its own, or other sentences for each that are drawn.
MatrixTask make_split_task(const XuFlags& flags) {
  const SentenceTaskOptions options = flags.is_small() ? small_sentences() : SentenceTaskOptions();
  return split_task(
      "rt_splits",
      [=](std::uint64_t split) {
        SentenceSets sets = flags.data.empty()
                                ? draw_sentence_sets(flags.training.comparison.seed + split)
                                : read_rt(flags.data, options.batch_tokens, split);
        return flags.is_small() ? shortened(std::move(sets)) : sets;
      },
      options);
}

/// The text of enwik8, or one that is drawn. The short task trains on its first bytes alone; it has
/// the same bytes for validation and test.
MatrixTask make_text_task(const std::string& name, const XuFlags& flags) {
  const TextTaskOptions small{.layers = 2,
                              .heads = 2,
                              .channels = 16,
                              .feed_forward = 32,
                              .length = 8,
                              .rows = 4,
                              .steps = 8,
                              .stretch = 4,
                              .watched = 200,
                              .long_memory = 16,
                              .warmup = 2,
                              .seconds = 0.2};
  Random random = Random(flags.training.comparison.seed).stream(7);
  const bool drawn = flags.data.empty();
  const std::string source =
      drawn ? "sentences of a small grammar"
            : find_data_file(flags.data, "enwik8", "enwik8.first4000000").string();
  CharText text(drawn ? grammar_text(flags.is_small() ? 300 : 20000, random) : read_text(source));
  if (name == "enwik8_short")
    text.training = part(text.training, 0, flags.is_small() ? 1000 : 300000);
  return text_task(name, source, text, flags.is_small() ? small : TextTaskOptions());
}

/// Multi30k, or a pair of languages that are drawn, in either direction.
MatrixTask make_translation_task(const std::string& name, const XuFlags& flags) {
  TranslationTaskOptions options;
  if (flags.is_small())
    options = {.stack = {.layers = 1,
                         .heads = 2,
                         .channels = 8,
                         .feed_forward = 16,
                         .activation = Activation::relu},
               .vocabulary = 60,
               .batch_tokens = 256,
               .epochs = 1,
               .validations = 1,
               .warmup = 2,
               .beam = 1,
               .seconds = 0.3};
  const std::string from = name.substr(0, 2), to = name.substr(3);
  TranslationSets sets = flags.data.empty() ? draw_translation_sets(flags.training.comparison.seed)
                                            : read_translation_sets(flags.data, from, to);
  if (flags.is_small())
    for (ParallelLines* lines : {&sets.train, &sets.validation, &sets.tests.front().lines}) {
      lines->source.resize(40);
      lines->target.resize(40);
    }
  return translation_task(name, sets, options);
}

MatrixTask make_tree_task(const XuFlags& flags) {
  const TreeTaskOptions small{
      .embedding = 8, .hidden = 16, .batch_size = 128, .epochs = 2, .seconds = 0.2};
  Treebank bank = flags.data.empty() ? draw_treebank(flags.training.comparison.seed)
                                     : read_treebank(flags.data);
  if (flags.is_small())
    for (std::vector<DependencyTree>* part : {&bank.train, &bank.validation, &bank.test})
      part->resize(50);
  return tree_task(bank, flags.is_small() ? small : TreeTaskOptions());
}

std::vector<MatrixTask> make_tasks(const XuFlags& flags) {
  std::vector<MatrixTask> tasks;
  for (const std::string& name : flags.tasks)
    tasks.push_back(name.starts_with("enwik8") ? make_text_task(name, flags)
                    : name == "mnist"
                        ? task_of(xu2019().task(name),
                                  problems::conv_problem(flags.origin(), flags.problem_size()))
                    : name == "ud_ewt"                   ? make_tree_task(flags)
                    : name == "rt_splits"                ? make_split_task(flags)
                    : name == "en_de" || name == "de_en" ? make_translation_task(name, flags)
                                                         : make_sentence_task(name, flags));
  return tasks;
}

void introduce(Report& report, const XuFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Seven systems are trained on each task; those of one seed start from the same weights and "
      "see the same batches. Each system tries two learning rates, and AdaNorm three values of C, "
      "with seed {}; the setting with the best validation is trained with {} seeds. The state with "
      "the best validation is tested, once. A cell has the mean over seeds and their standard "
      "deviation, with the published figure beside it. A difference has half the width of its 95 % "
      "interval, over paired seeds and over test items, and the verdict on the published sign; + "
      "is better. Two tasks stand beside the tables: five splits of RT, a split for each seed, and "
      "a text that is short enough to be read several times.",
      choosing_seed, flags.training.comparison.seeds));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) report.paragraph(fmt::format("Data of {}.", data));
  if (!flags.data.empty())
    report.paragraph(
        "For comparison with enwik8, xz -9e packs the first 3,800,000 bytes into 1,077,992 and all "
        "4,000,000 into 1,129,688: 2.07 bits for each byte of the test part (head -c 3800000 | xz "
        "-9e | wc -c).");
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  XuFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags, xu2019());
    given.choose_systems();
    set_threads(given.training.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "The tables of Xu et al. 2019", command_line(argc, argv),
                 cluster.is_first());
    const std::vector<MatrixTask> tasks =
        given.from_ledger ? std::vector<MatrixTask>() : make_tasks(given);
    const Matrix matrix = given.matrix(xu2019(), cluster, ledger, tasks);
    introduce(report, given, tasks);
    report_matrix(report, matrix, given.number());
    claim_mechanics(report, matrix);
    return report.finish();
  });
}

const registry::Entry entry({"xu2019", "Fills the tables of Xu et al. 2019 with smaller trainings.",
                             run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_matrix(Report& report, const TrainingsOfPaper& subject) {
  MatrixTask task = sentence_task("rt", shortened(draw_sentence_sets(1)), small_sentences());
  task.train = [train = task.train, &subject](const TaskTrial& trial) {
    Outcome outcome = train(trial);
    if (trial.tested) subject.change(trial.setting.norm, outcome);
    return outcome;
  };
  Cluster cluster;
  Ledger ledger;
  const MatrixTraining::Options options{.comparison = {.seeds = 1}, .quiet = true};
  claim_mechanics(report, MatrixTraining(cluster, ledger, options).train(xu2019(), {task}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
