// Theorem 1 of Xu et al. 2019 observed live: what every normalization of a net does to gradients in
// every step of a run, with statistics attached and detached, in a multilayer perceptron, a
// layer-normalized LSTM and a Transformer of twelve layers.

#include <algorithm>
#include <cmath>

#include "experiments/gradient_statistics.h"
#include "experiments/run_curves.h"
#include "experiments/study.h"
#include "support/grammar.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

const std::vector<std::string> norms{"layer_simple", "detach_mean", "detach_variance", "detach"};
constexpr Index scale_seeds = 5;  // runs that show what becomes of s
constexpr double exact = 1e-9;    // tolerance of equality in double precision

Course probed(const std::string& norm, const Learner& learner) {
  Training training = probed_training(learner.net, learner.steps.total);
  Course course;
  course.norm = norm;
  train(learner, training, {.step = [&](Index, double loss) { course.last_loss = loss; }});
  course.norms = training.probe()->norms();
  course.weights = training.probe()->weights();
  return course;
}

/// A curve of each course.
Diagram diagram(const std::string& title, const std::string& x, const std::string& y,
                const std::vector<Course>& courses, Series (*curve)(const Course&),
                const std::string& caption) {
  Diagram diagram{title, x, y, {}, false, caption};
  for (const Course& course : courses) diagram.series.push_back(curve(course));
  return diagram;
}

using MakeLearner = std::function<Learner(const std::string& norm, Random& random)>;

/// tolerance: of what must be equal, for the precision in which the nets were trained
void judge(Report& report, const std::string& file, const std::string& net,
           const std::vector<Course>& courses, double tolerance, Talk talk = Talk::no) {
  Table table{net,
              {"norm", "|mean| after", "s |mean| before", "s^2 variance before / after", "largest",
               "drift of inputs", "s at the end", "last loss"},
              {}};
  for (const Course& course : courses) {
    const Summary summary(course);
    table.rows.push_back(
        {course.norm, fmt::format("{:.2e}", summary.mean_after),
         fmt::format("{:.2e}", summary.mean_before), fmt::format("{:.4f}", summary.ratio),
         fmt::format("{:.6f}", summary.greatest_ratio), fmt::format("{:.3f}", drift(course)),
         fmt::format("{:.3g}", std::pow(10, scale_curve(course).points.back().second)),
         fmt::format("{:.3f}", course.last_loss)});
  }
  report.table(table);
  report.figure(file + "_variance",
                diagram(net + ": variance of the gradient", "step", "before s^2 / after", courses,
                        ratio_curve,
                        "A detached deviation divides the gradient, and the curve stays at 1. An "
                        "attached one also removes a part of it."));
  report.figure(file + "_scale",
                diagram(net + ": what the norms divide by", "step", "log10 of s, mean over norms",
                        courses, scale_curve,
                        "With a detached deviation the gradient has a part along the weights, and "
                        "s moves with it."),
                talk);
  report.claim(recentering(net, courses, tolerance));
  report.claim(rescaling(net, courses, tolerance));
}

void show_gradients(Report& report, const std::string& file, const std::string& net,
                    const std::vector<Course>& courses) {
  report.figure(file + "_first", diagram(net + ": the gradient at the first norm", "step",
                                         "log10 of its variance, before", courses, first_gradient,
                                         "What reaches the first norm has passed all the others."));
  report.figure(file + "_depth",
                diagram(net + ": the gradient at each norm, second half of the run",
                        "norm, from the input on", "log10 of its variance, before", courses,
                        gradient_by_depth,
                        "Gradients run from the last norm, on the right, to the first one."));
}

std::vector<Course> train_all(const MakeLearner& make, std::uint64_t seed) {
  std::vector<Course> courses;
  for (const std::string& norm : norms) {
    Random random(seed);
    courses.push_back(probed(norm, make(norm, random)));
  }
  return courses;
}

std::vector<Course> compare(Report& report, const std::string& file, const std::string& net,
                            const MakeLearner& make, std::uint64_t seed, Talk talk = Talk::no) {
  std::vector<Course> courses = train_all(make, seed);
  judge(report, file, net, courses, exact, talk);
  return courses;
}

/// Compares runs with several seeds: the first in detail, all of them by what becomes of s and
/// of the size of gradients.
void compare_scales(Report& report, const std::string& file, const std::string& net,
                    const MakeLearner& make, std::uint64_t seed) {
  const std::vector<Course> first = compare(report, file, net, make, seed, Talk::yes);
  show_gradients(report, file, net, first);
  std::vector<std::vector<Course>> by_norm;  // for each norm, the courses of all seeds
  for (const Course& course : first) by_norm.push_back({course});
  for (Index i = 1; i < scale_seeds; ++i) {
    const std::vector<Course> more = train_all(make, seed + i);
    for (std::size_t norm = 0; norm < more.size(); ++norm) by_norm[norm].push_back(more[norm]);
  }
  for (const std::size_t detached : {2u, 3u}) {
    report.claim(scale_grows(by_norm[0], by_norm[detached]));
    report.paragraph(gradient_sizes(by_norm[0], by_norm[detached]));
  }
}

/// Compares the records that trainers left with --probe, in single precision.
void compare_probes(Report& report, const std::vector<std::string>& directories) {
  std::vector<Course> courses;
  for (const std::string& directory : directories) {
    Course course;
    const auto read = [&](const char* file, const char* name, Json::value_t type) -> Json {
      const std::string path = directory + "/" + file;
      const std::optional<Json> object = parse_json(read_text(path), 2);
      expect<DataError>(
          object && object->is_object() && object->contains(name) && (*object)[name].type() == type,
          "{}: it is not a file of a trainer: it has no {}", path, name);
      return (*object)[name];
    };
    course.norm = read("config.json", "norm", Json::value_t::string);
    expect<DataError>(NormSpec(course.norm).method->name == "layer",
                      "{}: theorem 1 is about layer normalization, not about {}", directory,
                      course.norm);
    course.last_loss = read("summary.json", "train_loss", Json::value_t::number_float);
    course.norms = read_norm_records(directory);
    courses.push_back(course);
  }
  for (const auto& attached : {mean_attached, scale_attached})
    for (const bool wanted : {false, true})
      expect<Error>(
          std::any_of(courses.begin(), courses.end(),
                      [&](const Course& each) { return attached(each.norm) == wanted; }),
          "--probed: a comparison needs means and deviations both attached and detached, as "
          "in a run with layer_simple and one with detach");
  judge(report, "runs", "Runs", courses, 1e-3, Talk::yes);
  show_gradients(report, "runs", "Runs", courses);
}

Learner mlp(const ImageSet& images, const std::string& norm, Index steps, Random& random) {
  const Mlp net({images.height * images.width, 64, 64, 64, 10}, random, {.norm = norm});
  auto order = std::make_shared<Random>(random.stream(1));
  return {.net = fields(net),
          .steps = RunSteps::epochs(1, steps),
          .loss = [net, order, &images](Index) {
            const Batch batch = *Batches(images, 32, *order).begin();
            return cross_entropy(net(batch.images), batch.labels);
          }};
}

Learner lstm(const Characters& characters, const Indices& ids, const std::string& norm, Index steps,
             Random& random) {
  const CharRnn net(characters.count(), random,
                    {.embedding = 16, .hidden = 24, .recurrent = {.norm = norm}});
  auto order = std::make_shared<Random>(random.stream(1));
  return {
      .net = fields(net), .steps = RunSteps::epochs(1, steps), .loss = [net, order, ids](Index) {
        const TextBatch batch = random_rows(ids, 8, 20, *order);
        return cross_entropy(net(transposed(batch.inputs)).logits, transposed(batch.targets));
      }};
}

Learner transformer(const Characters& characters, const Indices& ids, const std::string& norm,
                    Index steps, Random& random) {
  const TransformerLm net(
      characters.count(), random,
      {.stack = {.layers = 12, .heads = 4, .channels = 32, .norm = norm}, .length = 32});
  auto order = std::make_shared<Random>(random.stream(1));
  return {
      .net = fields(net), .steps = RunSteps::epochs(1, steps), .loss = [net, order, ids](Index) {
        const TextBatch batch = random_rows(ids, 4, 32, *order);
        return cross_entropy(net(batch.inputs), batch.targets);
      }};
}

void compare_nets(Report& report, Index steps, std::uint64_t seed) {
  report.paragraph(
      "Each net is trained on data that this program draws, and a probe measures it at every step. "
      "\"After\" a norm is the gradient with respect to its output, \"before\" with respect to its "
      "input, over the features of a row; s is the deviation that the norm divides by. Means are "
      "root mean squares over rows, in deviations of the gradient after. Rows, norms and steps "
      "with larger gradients count more, since each ratio is a ratio of sums.");
  const ImageSets images = draw_image_sets(seed);
  Random drawn = Random(seed).stream(2);
  const std::string text = grammar_text(1000, drawn);
  const Characters characters(text);
  const Indices ids = characters.encode(text);

  const auto perceptrons = compare(
      report, "mlp", "Multilayer perceptron on digits",
      [&](const std::string& norm, Random& random) {
        return mlp(images.train, norm, steps, random);
      },
      seed);
  report.claim(orthogonality(perceptrons[0], perceptrons[3], "layers.0.weight"));

  compare(
      report, "lstm", "Layer-normalized LSTM on characters",
      [&](const std::string& norm, Random& random) {
        return lstm(characters, ids, norm, steps, random);
      },
      seed);

  compare_scales(
      report, "transformer", "Transformer of 12 layers on characters",
      [&](const std::string& norm, Random& random) {
        return transformer(characters, ids, norm, steps, random);
      },
      seed);
}

struct GradientFlags {
  Index steps = 30;
  std::vector<std::string> probed, runs;

  void add_to(Flags& flags, StudyRun& run) {
    flags.input("--probed", probed,
                "Only compare the --probe records of trainers in these directories");
    flags
        .input("--runs", runs,
               "Only compare the curves and samples of trainers in these --log-dir directories")
        .excludes({"--probed"});
    flags.setting("--steps", steps, "Steps of each run").check(between(2, 100000));
    flags.checks([this, &run] {
      if (runs.empty()) return;
      run.name = "runs";
      run.title = "Runs compared";
    });
  }
};

void report_gradients(StudyRun& run, const GradientFlags& flags) {
  if (!flags.runs.empty())
    compare_runs(run.report, flags.runs);
  else if (!flags.probed.empty())
    compare_probes(run.report, flags.probed);
  else
    compare_nets(run.report, flags.steps, run.comparison.seed);
}

const registry::Entry entry([] {
  return with_flags<GradientFlags>(
      {.name = "gradients",
       .summary = "Shows what normalizations do to the gradients of nets in training.",
       .title = "Re-centering and re-scaling in training",
       .seed = "Seed of data, weights and order"},
      report_gradients);
});

}  // namespace
