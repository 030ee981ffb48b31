// What Xu et al. 2019 measured: seven systems of normalization on eight tasks, with tables 1 to 4
// and figures 1 to 3 made from the ledger alone.

#include <algorithm>
#include <filesystem>

#include "lab/digit_task.h"
#include "lab/float32/subjects.h"
#include "lab/matrix_report.h"
#include "lab/matrix_training.h"
#include "lab/registry.h"
#include "lab/sentence_task.h"
#include "lab/text_task.h"
#include "lab/translation_task.h"
#include "lab/tree_task.h"
#include "support/data_files.h"
#include "support/grammar.h"
#include "support/naive_bayes.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct MatrixFlags {
  std::string size = "smoke";
  std::vector<std::string> tasks{"enwik8", "rt", "sst5", "mnist", "ud_ewt"};
  std::string only;
  std::string data;
  bool from_ledger = false;
  MatrixTraining::Options training{.comparison = {.seeds = least_seeds}};

  void add_to(Flags& flags) {
    flags
        .setting(
            "--size", size,
            "smoke: small nets, in seconds; report: nets and trainings for the tables, in hours")
        ->check(CLI::IsMember({"smoke", "report"}));
    flags.setting("--tasks", tasks, "Columns to train; en_de and de_en need SentencePiece")
        ->check(CLI::IsMember({"enwik8", "rt", "sst5", "mnist", "ud_ewt", "en_de", "de_en"}));
    flags.setting("--only", only, "Train and show the systems of one table only")
        ->check(CLI::IsMember({"table1", "table2", "table3", "table4"}));
    flags
        .setting("--data", data,
                 "Directory with the data sets in folders; without it, the program draws its own")
        ->check(file_name());
    flags.setting("--from-ledger", from_ledger, "Show what --runs has, and train nothing");
    training.comparison.add_to(flags, 1);
    flags.setting("--quiet", training.quiet, "No progress on standard error");
  }

  /// Throws CLI::ValidationError for flags that conflict.
  void check(const Flags& given) const {
    const auto& [seeds, seed, threads] = training.comparison;
    if (seed <= choosing_seed && choosing_seed < seed + static_cast<std::uint64_t>(seeds))
      throw CLI::ValidationError(
          "--seed", fmt::format("{} is the seed by which settings are chosen", choosing_seed));
    if (from_ledger && !given.given("--runs"))
      throw CLI::ValidationError("--from-ledger", "needs --runs");
  }

  bool is_small() const { return size == "smoke"; }
  /// The number of the table to show; 0: all.
  int table() const { return only.empty() ? 0 : only.back() - '0'; }
  /// Reduces the systems to those of the table.
  void choose_systems() {
    for (const PaperTable& of_paper : paper_tables)
      if (of_paper.number == table()) training.systems = of_paper.systems;
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
MatrixTask make_sentence_task(const std::string& name, const MatrixFlags& flags) {
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

MatrixTask make_text_task(const MatrixFlags& flags) {
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
  const CharText text(drawn ? grammar_text(flags.is_small() ? 300 : 20000, random)
                            : read_text(source));
  return text_task(source, text, flags.is_small() ? small : TextTaskOptions());
}

MatrixTask make_digit_task(const MatrixFlags& flags) {
  const DigitTaskOptions small{.limit = 128, .epochs = 2, .tested = 100, .seconds = 0.2};
  const bool drawn = flags.data.empty();
  return digit_task(drawn ? draw_image_sets(flags.training.comparison.seed)
                          : read_image_sets(std::filesystem::path(flags.data) / "mnist"),
                    flags.is_small() ? small : DigitTaskOptions());
}

/// Multi30k, or a pair of languages that are drawn, in either direction.
MatrixTask make_translation_task(const std::string& name, const MatrixFlags& flags) {
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

MatrixTask make_tree_task(const MatrixFlags& flags) {
  const TreeTaskOptions small{
      .embedding = 8, .hidden = 16, .batch_size = 128, .epochs = 2, .seconds = 0.2};
  Treebank bank = flags.data.empty() ? draw_treebank(flags.training.comparison.seed)
                                     : read_treebank(flags.data);
  if (flags.is_small())
    for (std::vector<DependencyTree>* part : {&bank.train, &bank.validation, &bank.test})
      part->resize(50);
  return tree_task(bank, flags.is_small() ? small : TreeTaskOptions());
}

std::vector<MatrixTask> make_tasks(const MatrixFlags& flags) {
  std::vector<MatrixTask> tasks;
  for (const std::string& name : flags.tasks)
    tasks.push_back(name == "enwik8"                     ? make_text_task(flags)
                    : name == "mnist"                    ? make_digit_task(flags)
                    : name == "ud_ewt"                   ? make_tree_task(flags)
                    : name == "en_de" || name == "de_en" ? make_translation_task(name, flags)
                                                         : make_sentence_task(name, flags));
  return tasks;
}

/// What the ledger has of all tasks.
Matrix read_matrix(const std::string& experiment, Ledger& ledger, const ComparisonFlags& flags) {
  Matrix matrix;
  for (const PaperTask& task : paper_tasks()) {
    ledger.begin(fmt::format("{}/{}", experiment, task.name), "");
    matrix.push_back(make_column(task, ledger.records(), flags.seed, flags.seeds));
  }
  return matrix;
}

void introduce(Report& report, const MatrixFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Seven systems are trained on each task; those of one seed start from the same weights and "
      "see the same batches. Each system tries two learning rates, and AdaNorm three values of C, "
      "with seed {}; the setting with the best validation is trained with {} seeds. The state with "
      "the best validation is tested, once. A cell has the mean over seeds and their standard "
      "deviation, with the published figure beside it. A difference has half the width of its 95 % "
      "interval, over paired seeds and over test items, and the verdict on the published sign; + "
      "is "
      "better.",
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
  MatrixFlags matrix;
  Report report;
  Ledger ledger;
  matrix.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    matrix.check(flags);
    matrix.choose_systems();
    set_threads(matrix.training.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "The tables of Xu et al. 2019", command_line(argc, argv),
                 cluster.is_first());
    const std::vector<MatrixTask> tasks =
        matrix.from_ledger ? std::vector<MatrixTask>() : make_tasks(matrix);
    const Matrix found =
        matrix.from_ledger
            ? read_matrix(self.name, ledger, matrix.training.comparison)
            : MatrixTraining(cluster, ledger, matrix.training).train(self.name, tasks);
    introduce(report, matrix, tasks);
    report_matrix(report, found, matrix.table());
    claim_mechanics(report, found);
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
  claim_mechanics(report, MatrixTraining(cluster, ledger, options).train("xu2019", {task}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
