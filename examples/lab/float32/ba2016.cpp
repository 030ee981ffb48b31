// What Ba et al. 2016 measured: layer normalization in retrieval, reading, vectors of
// sentences, drawing, handwriting and reading digits, with tables 2 and 3 and figures 1 to 6 made
// from the ledger alone.

#include <filesystem>

#include "lab/ba2016_claims.h"
#include "lab/ba2016_report.h"
#include "lab/digit_claims.h"
#include "lab/draw_task.h"
#include "lab/float32/subjects.h"
#include "lab/handwriting_task.h"
#include "lab/matrix_tables.h"
#include "lab/paper_ba2016.h"
#include "lab/paper_flags.h"
#include "lab/perceptron_task.h"
#include "lab/reader_task.h"
#include "lab/registry.h"
#include "lab/retrieval_task.h"
#include "lab/skip_thoughts_task.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct BaFlags : PaperFlags {
  void add_to(Flags& flags) {
    PaperFlags::add_to(flags, "figure",
                       {"figure1", "figure2", "figure3", "figure4", "figure5", "figure6"});
  }

  std::uint64_t seed() const { return training.comparison.seed; }
};

MatrixTask make_retrieval_task(const BaFlags& flags) {
  CaptionSets sets =
      flags.data.empty() ? draw_caption_sets(flags.seed()) : read_caption_sets(flags.data);
  if (!flags.is_small()) return retrieval_task(sets);
  sets.train.resize(60);
  for (std::vector<DescribedImage>* images : {&sets.validation, &sets.test}) images->resize(20);
  return retrieval_task(
      sets,
      {.words = 8, .hidden = 16, .batch_size = 20, .steps = 12, .stretch = 3, .seconds = 0.1});
}

MatrixTask make_reader_task(const BaFlags& flags) {
  ReaderTaskOptions options;
  if (flags.is_small())
    options = {.hidden = 8, .batch_size = 16, .steps = 12, .stretch = 3, .seconds = 0.1};
  constexpr Index task_of_babi = 5;
  StorySets sets = flags.data.empty()
                       ? draw_story_sets(flags.seed())
                       : read_story_sets(flags.data, task_of_babi, {.entities = options.entities});
  if (flags.is_small()) {
    sets.train.resize(100);
    for (std::vector<Story>* stories : {&sets.validation, &sets.test}) stories->resize(40);
  }
  return reader_task(sets, options);
}

/// The small size has probes of drawn sentences, whatever the books are.
MatrixTask make_skip_thoughts_task(const BaFlags& flags) {
  const bool drawn = flags.data.empty();
  TripletSets sets = drawn ? draw_triplet_sets(flags.seed()) : read_triplet_sets(flags.data);
  const ProbeSets probes =
      drawn || flags.is_small() ? draw_probe_sets(flags.seed()) : read_probe_sets(flags.data);
  if (!flags.is_small()) return skip_thoughts_task(sets, probes);
  sets.source += ", judged by drawn sentences";
  sets.train.resize(200);
  sets.validation.resize(40);
  return skip_thoughts_task(sets, probes,
                            {.vocabulary = 60,
                             .words = 8,
                             .hidden = 16,
                             .batch_size = 16,
                             .steps = 12,
                             .stretch = 3,
                             .look = 6,
                             .seconds = 1});
}

MatrixTask make_draw_task(const BaFlags& flags) {
  ImageSets sets = flags.data.empty() ? draw_binary_image_sets(flags.seed())
                                      : read_binary_image_sets(flags.data);
  if (!flags.is_small()) return draw_task(sets);
  sets.test = first_images(sets.test, 40);
  return draw_task(sets, {.model = {.glimpses = 2, .hidden = 8, .latent = 4, .read = 2, .write = 3},
                          .batch_size = 16,
                          .steps = 12,
                          .stretch = 3,
                          .watched = 20,
                          .seconds = 0.1});
}

/// Drawings of --data, or lines that are drawn, with their texts or without.
MatrixTask make_handwriting_task(const std::string& name, const BaFlags& flags) {
  constexpr Index moves = 300;
  const bool drawn = flags.data.empty() || name == "written_digits";
  const std::uint64_t seed = flags.seed() + (name == "omniglot" ? 1 : name == "kanji" ? 2 : 0);
  HandwritingSets sets =
      drawn ? write_handwriting_sets(seed) : read_handwriting_sets(name, flags.data, moves);
  if (!flags.is_small()) return handwriting_task(name, sets);
  for (std::vector<WrittenLine>* lines : {&sets.validation, &sets.test}) lines->resize(4);
  return handwriting_task(
      name, sets,
      {.model = {.net = {.layers = 2, .hidden = 8, .components = 2}, .bumps = 2, .advance = 0.057},
       .batch_size = 4,
       .steps = 4,
       .stretch = 1,
       .seconds = 0.1});
}

MatrixTask make_perceptron_task(Index batch_size, const BaFlags& flags) {
  const ImageSets sets =
      flags.data.empty() ? draw_image_sets(flags.seed()) : read_image_sets(flags.data);
  const bool tiny = batch_size == 4;
  if (flags.is_small())
    return perceptron_task(sets, {.batch_size = batch_size,
                                  .limit = 512,
                                  .images = 512,
                                  .points = 4,
                                  .tested = 40,
                                  .seconds = 0.1});
  return perceptron_task(sets, {.batch_size = batch_size, .seconds = tiny ? 120.0 : 41.0});
}

MatrixTask make_task(const std::string& name, const BaFlags& flags) {
  if (name == "retrieval") return make_retrieval_task(flags);
  if (name == "reader") return make_reader_task(flags);
  if (name == "skip_thoughts") return make_skip_thoughts_task(flags);
  if (name == "draw") return make_draw_task(flags);
  if (name == "mnist_128") return make_perceptron_task(128, flags);
  if (name == "mnist_4") return make_perceptron_task(4, flags);
  return make_handwriting_task(name, flags);
}

/// Those of the figure that was chosen, or of all figures.
std::vector<MatrixTask> make_tasks(const BaFlags& flags) {
  std::vector<MatrixTask> tasks;
  for (const FigureOfPaper& figure : ba2016_figures)
    if (flags.number() == 0 || flags.number() == figure.number)
      for (const std::string& name : figure.tasks) tasks.push_back(make_task(name, flags));
  return tasks;
}

void introduce(Report& report, const BaFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Systems of one seed start from the same weights and see the same batches. Each system tries "
      "two learning rates with seed {}; the one with the best validation is trained with {} seeds. "
      "The state with the best validation is tested, once.",
      choosing_seed, flags.training.comparison.seeds));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) report.paragraph(fmt::format("Data of {}.", data));
}

/// What must hold for every size.
void claim_mechanics(Report& report, const Matrix& matrix, const TrainingsOfBa& subject = {}) {
  claim_items(report, matrix);
  for (const Claim& claim : ba2016_mechanics(matrix)) report.claim(claim);
  constexpr Index repeats = 12;
  Indices labels = Indices::uninitialized({10 * repeats});
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = i % 10;
  report.claim(floor_claim(subject.floor(labels), repeats));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  BaFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags, ba2016());
    set_threads(given.training.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "The experiments of Ba et al. 2016", command_line(argc, argv),
                 cluster.is_first());
    const std::vector<MatrixTask> tasks =
        given.from_ledger ? std::vector<MatrixTask>() : make_tasks(given);
    const Matrix matrix = given.matrix(ba2016(), cluster, ledger, tasks);
    introduce(report, given, tasks);
    report_ba2016(report, matrix, given.number(), given.from_ledger);
    claim_mechanics(report, matrix);
    return report.finish();
  });
}

const registry::Entry entry({"ba2016", "Repeats the experiments of Ba et al. 2016 in a small size.",
                             run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_ba2016(Report& report, const TrainingsOfBa& subject) {
  std::vector<MatrixTask> tasks{make_retrieval_task({}), make_draw_task({})};
  for (MatrixTask& task : tasks)
    task.train = [name = task.name, train = task.train, &subject](const TaskTrial& trial) {
      Outcome outcome = train(trial);
      if (trial.tested) subject.change(name, outcome);
      return outcome;
    };
  Cluster cluster;
  Ledger ledger;
  const MatrixTraining::Options options{.comparison = {.seeds = 1}, .quiet = true};
  claim_mechanics(report, MatrixTraining(cluster, ledger, options).train(ba2016(), tasks), subject);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
