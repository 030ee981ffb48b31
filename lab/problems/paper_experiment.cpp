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
  std::vector<std::string> parts;
  for (int i = 1; i <= experiment.parts; ++i)
    parts.push_back(fmt::format("{}{}", experiment.part, i));
  if (!parts.empty())
    flags
        .setting("--only", given.only,
                 fmt::format("Train and show the systems of one {} only", experiment.part))
        .check(one_of(parts));
  given.tasks = experiment.usual_tasks();
  flags.setting("--tasks", given.tasks, "Tasks to train; en_de and de_en need SentencePiece")
      .check(one_of(names_of(experiment.paper)));
}

void introduce(lab::StudyRun& run, const PaperExperiment& experiment,
               const std::vector<MatrixTask>& tasks) {
  run.report.paragraph(fmt::format(
      "{}Systems with one seed start from the same weights and see the same batches. Each tries "
      "learning rates a factor 3 apart with seed {}{}{}; the setting with the best validation is "
      "trained with {} seeds. {}",
      experiment.introduction, lab::choosing_seed,
      experiment.paper.tasks.front().choosing_seeds == 2 ? " and the next" : "",
      run.from_ledger ? ""
                      : fmt::format(", until the best has a worse one on both sides or {} have "
                                    "been tried",
                                    most_rates(experiment.paper, run.size)),
      run.comparison.seeds, experiment.tested));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) run.report.paragraph(fmt::format("Data of {}.", data));
  if (!run.data.empty() && !experiment.of_data.empty()) run.report.paragraph(experiment.of_data);
}

void train_and_report(lab::StudyRun& run, const PaperExperiment& experiment, PaperFlags given) {
  const lab::Paper& paper = experiment.paper;
  if (experiment.choose) experiment.choose(given);
  std::vector<MatrixTask> tasks;
  lab::Matrix matrix;
  if (run.from_ledger) {
    matrix = read_matrix(paper, run.ledger, run.comparison.seed, run.comparison.seeds);
  } else {
    tasks = experiment.make_tasks(given.tasks, run);
    const lab::MatrixTraining::Options options{given.systems, run.comparison,
                                               most_rates(paper, run.size), run.quiet};
    matrix = lab::MatrixTraining(*run.cluster, run.ledger, options).train(paper, tasks);
  }
  introduce(run, experiment, tasks);
  experiment.report(run, matrix, given.number());
}

}  // namespace

std::vector<MatrixTask> make_tasks(const lab::Paper& paper, const std::vector<std::string>& names,
                                   const Origin& origin, Size size) {
  std::vector<MatrixTask> tasks;
  for (const std::string& name : names)
    tasks.push_back(task_of(paper.task(name), make_problem(name, origin, size)));
  return tasks;
}

void choose_seeds(const lab::Paper& paper, lab::StudyRun& run) {
  lab::ComparisonFlags& comparison = run.comparison;
  if (run.is_report()) {
    if (!run.flags->given("--seed")) comparison.seed = paper.first_seed;
    if (!run.flags->given("--seeds")) comparison.seeds = paper.seeds;
  }
  for (const lab::PaperTask& task : paper.tasks)
    lab::ComparisonFlags{task.seeds(comparison.seeds), comparison.seed}.leave_out_choosing_seeds(
        task.choosing_seeds);
}

lab::DataFlag data_sets_flag(const std::string& more) {
  return {support::data_help("the data sets", "a folder for each") + more};
}

std::vector<std::string> PaperExperiment::usual_tasks() const {
  std::vector<std::string> tasks = names_of(paper);
  std::erase_if(tasks, needs_sentencepiece);
  return tasks;
}

std::vector<MatrixTask> PaperExperiment::make_tasks(const std::vector<std::string>& names,
                                                    const lab::StudyRun& run) const {
  const Origin origin{run.data, run.comparison.seed};
  return make ? make(names, origin, problem_size(run.size))
              : problems::make_tasks(paper, names, origin, problem_size(run.size));
}

lab::Study PaperExperiment::study() const {
  const auto given = std::make_shared<PaperFlags>();
  return {.name = paper.name,
          .summary = summary,
          .title = title,
          .sizes = "smoke: small nets, in seconds; report: nets and runs for the page, in hours",
          .seeds = lab::least_seeds,
          .data = data_sets_flag(", named in docs/programs.md; without it, the program draws its "
                                 "own"),
          .add_to =
              [given, *this](Flags& flags, lab::StudyRun& run) {
                add(flags, *given, *this);
                flags.checks([&run, &paper = paper] { choose_seeds(paper, run); });
              },
          .run = [given, *this](lab::StudyRun& run) { train_and_report(run, *this, *given); }};
}

std::vector<PaperExperiment (*)()>& paper_experiments() {
  static std::vector<PaperExperiment (*)()> all;
  return all;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
