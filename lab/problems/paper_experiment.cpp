#include "problems/paper_experiment.h"

#include "problems/captions.h"
#include "problems/digits.h"
#include "problems/draw.h"
#include "problems/handwriting.h"
#include "problems/parsing.h"
#include "problems/sentences.h"
#include "problems/skip_thoughts.h"
#include "problems/stories.h"
#include "problems/text.h"
#include "problems/translation.h"
#include "support/data_files.h"
#include "tapegrad/train.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {
namespace {

using lab::MatrixTask;

Problem make_problem(const std::string& task, const Origin& origin, Size size) {
  if (task.starts_with("enwik8")) return text_problem(origin, size, task == "enwik8_short");
  if (task == "mnist") return conv_problem(origin, size);
  if (task == "mnist_128") return perceptron_problem(128, origin, size);
  if (task == "mnist_4") return perceptron_problem(4, origin, size);
  if (task == "ud_ewt") return parser_problem(origin, size);
  if (task == "rt_splits") return split_problem(origin, size);
  if (task == "rt" || task == "sst5") return sentence_problem(task, origin, size);
  if (task == "en_de" || task == "de_en") return translation_problem(task, origin, size);
  if (task == "retrieval") return retrieval_problem(origin, size);
  if (task == "reader") return reader_problem(origin, size);
  if (task == "skip_thoughts") return skip_thoughts_problem(origin, size);
  if (task == "draw") return draw_problem(origin, size);
  return handwriting_problem(task, origin, size);
}

// Translation needs SentencePiece, so it is trained where it is asked for.
bool needs_sentencepiece(const std::string& task) { return task == "en_de" || task == "de_en"; }

void add(Flags& flags, PaperFlags& given, const PaperExperiment& experiment) {
  given.tasks = names_of(experiment.paper);
  std::erase_if(given.tasks, needs_sentencepiece);
  std::vector<std::string> parts;
  for (int i = 1; i <= experiment.parts; ++i)
    parts.push_back(fmt::format("{}{}", experiment.part, i));
  flags
      .setting("--size", given.size,
               "smoke: small nets, in seconds; report: nets and runs for the page, in hours")
      .check(one_of({"smoke", "report"}));
  if (!parts.empty())
    flags
        .setting("--only", given.only,
                 fmt::format("Train and show the systems of one {} only", experiment.part))
        .check(one_of(parts));
  flags.setting("--tasks", given.tasks, "Tasks to train; en_de and de_en need SentencePiece")
      .check(one_of(names_of(experiment.paper)));
  flags.input("--data", given.data,
              support::data_help("the data sets", "a folder for each") +
                  ", named in docs/programs.md; without it, the program draws its own");
  flags.setting("--from-ledger", given.from_ledger, "Show what --runs has, and train nothing");
  given.training.comparison.add_to(flags, 1);
  flags.setting("--quiet", given.training.quiet, "No progress on standard error");
}

void introduce(lab::Report& report, const PaperExperiment& experiment, const PaperFlags& flags,
               const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "{}Systems with one seed start from the same weights and see the same batches. Each tries "
      "learning rates a factor 3 apart with seed {}{}{}; the setting with the best validation is "
      "trained with {} seeds. {}",
      experiment.introduction, lab::choosing_seed,
      experiment.paper.tasks.front().choosing_seeds == 2 ? " and the next" : "",
      flags.from_ledger ? ""
                        : fmt::format(", until the best has a worse one on both sides or {} have "
                                      "been tried",
                                      most_rates(experiment.paper, flags.size)),
      flags.training.comparison.seeds, experiment.tested));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) report.paragraph(fmt::format("Data of {}.", data));
  if (!flags.data.empty() && !experiment.of_data.empty()) report.paragraph(experiment.of_data);
}

}  // namespace

std::vector<MatrixTask> make_tasks(const lab::Paper& paper, const std::vector<std::string>& names,
                                   const Origin& origin, Size size) {
  std::vector<MatrixTask> tasks;
  for (const std::string& name : names)
    tasks.push_back(task_of(paper.task(name), make_problem(name, origin, size)));
  return tasks;
}

void check_seeds(const lab::Paper& paper, const lab::ComparisonFlags& comparison) {
  const auto& [seeds, seed, threads] = comparison;
  for (const lab::PaperTask& task : paper.tasks)
    if (seed < lab::choosing_seed + static_cast<std::uint64_t>(task.choosing_seeds) &&
        lab::choosing_seed < seed + static_cast<std::uint64_t>(task.seeds(seeds)))
      throw FlagError(
          "--seed", fmt::format("{} is the seed by which settings are chosen", lab::choosing_seed));
}

void use_seeds_of(const lab::Paper& paper, const Flags& given, lab::ComparisonFlags& comparison) {
  if (!given.given("--seed")) comparison.seed = paper.first_seed;
  if (!given.given("--seeds")) comparison.seeds = paper.seeds;
}

int PaperExperiment::run(const registry::Experiment& self, int argc, char** argv) const {
  Flags flags(argv[0], self.summary);
  PaperFlags given;
  lab::Report page;
  lab::Ledger ledger;
  add(flags, given, *this);
  page.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    lab::ComparisonFlags& comparison = given.training.comparison;
    if (problem_size(given.size) == Size::report || given.from_ledger)
      use_seeds_of(paper, flags, comparison);
    check_seeds(paper, comparison);
    if (given.from_ledger && !flags.given("--runs"))
      throw FlagError("--from-ledger", "needs --runs");
    choose(given);
    set_threads(comparison.threads);
    given.training.most_rates = most_rates(paper, given.size);
    Cluster cluster;
    page.begin(self.name, title, lab::command_line(argc, argv), cluster.is_first());
    std::vector<MatrixTask> tasks;
    if (!given.from_ledger)
      tasks = make ? make(given.tasks, {given.data, comparison.seed}, problem_size(given.size))
                   : make_tasks(paper, given.tasks, {given.data, comparison.seed},
                                problem_size(given.size));
    const lab::Matrix matrix =
        given.from_ledger
            ? read_matrix(paper, ledger, comparison.seed, comparison.seeds)
            : lab::MatrixTraining(cluster, ledger, given.training).train(paper, tasks);
    introduce(page, *this, given, tasks);
    report(page, matrix, given);
    return page.finish();
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
