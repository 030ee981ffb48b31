// Theorem 1 of Xu et al. 2019 observed live: what every normalization of a net does to gradients in
// every step of a training, with statistics attached and detached, in a multilayer perceptron, a
// layer-normalized LSTM and a Transformer of twelve layers.

#include <algorithm>
#include <cmath>

#include "lab/registry.h"
#include "lab/report.h"
#include "lab/run_curves.h"
#include "support/grammar.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

const std::vector<std::string> norms{"layer_simple", "detach_mean", "detach_variance", "detach"};

bool mean_attached(const std::string& norm) { return !NormSpec(norm).statistics.detach_mean; }
bool scale_attached(const std::string& norm) { return !NormSpec(norm).statistics.detach_scale; }

/// Any net that can be trained.
struct Task {
  Fields net;
  std::function<Tensor()> loss;  ///< of the next batch
};

/// The probe's records of one training.
struct Course {
  std::string norm;
  std::vector<NormRecord> norms;
  std::vector<WeightRecord> weights;
  double last_loss = 0;
};

Course train(const std::string& norm, const Task& task, Index steps) {
  Training training = probed_training(task.net, steps);
  Course course;
  course.norm = norm;
  for (Index step = 0; step < steps; ++step) course.last_loss = training.step(task.loss);
  course.norms = training.probe()->norms();
  course.weights = training.probe()->weights();
  return course;
}

/// A summary of all records of a training.
struct Digest {
  double mean_after = 0, mean_before = 0;  ///< over the deviation of the gradient after the norm
  double greatest_error = 0;  ///< of s times the mean before: from 0, or from the mean after
  double ratio = 0, greatest_ratio = 0, least_ratio = INFINITY;

  explicit Digest(const Course& course) {
    const auto count = static_cast<double>(course.norms.size());
    for (const NormRecord& r : course.norms) {
      const double deviation = std::sqrt(r.variance_after);
      mean_after += r.mean_after / deviation / count;
      mean_before += r.mean_scaled / deviation / count;
      const double expected = mean_attached(course.norm) ? 0 : r.mean_after;
      greatest_error = std::max(greatest_error, std::abs(r.mean_scaled - expected) / deviation);
      ratio += r.variance_ratio / count;
      greatest_ratio = std::max(greatest_ratio, r.greatest_ratio);
      least_ratio = std::min(least_ratio, r.variance_ratio);
    }
  }
};

/// How far the mean of a norm's inputs moves during a training, in standard deviations of these
/// inputs.
double drift(const Course& course) {
  std::map<std::string, std::vector<const NormRecord*>> by_norm;
  for (const NormRecord& r : course.norms) by_norm[r.norm].push_back(&r);
  double total = 0;
  for (const auto& [norm, records] : by_norm) {
    double least = INFINITY, greatest = -INFINITY, deviation = 0;
    for (const NormRecord* r : records) {
      least = std::min(least, r->input_mean);
      greatest = std::max(greatest, r->input_mean);
      deviation += std::sqrt(r->input_variance) / static_cast<double>(records.size());
    }
    total += (greatest - least) / deviation / static_cast<double>(by_norm.size());
  }
  return total;
}

Diagram ratio_diagram(const std::string& net, const std::vector<Course>& courses) {
  Diagram diagram{net + ": variance of the gradient", "step", "before s^2 / after", {}};
  for (const Course& course : courses) {
    Series series{course.norm, {}};
    for (std::size_t i = 0; i < course.norms.size();) {
      const Index step = course.norms[i].step;
      double sum = 0, count = 0;
      for (; i < course.norms.size() && course.norms[i].step == step; ++i, ++count)
        sum += course.norms[i].variance_ratio;
      series.points.emplace_back(static_cast<double>(step), sum / count);
    }
    diagram.series.push_back(series);
  }
  return diagram;
}

Diagram depth_diagram(const std::string& net, const std::vector<Course>& courses) {
  Diagram diagram{net + ": the gradient at each norm",
                  "norm, from the input on",
                  "log10 of its variance, before",
                  {}};
  for (const Course& course : courses) {
    std::map<Index, std::pair<double, double>> by_place;
    Index place = 0;
    for (std::size_t i = 0; i < course.norms.size(); ++i) {
      place = i > 0 && course.norms[i].step == course.norms[i - 1].step ? place + 1 : 0;
      by_place[place].first += std::log10(course.norms[i].variance_before);
      by_place[place].second += 1;
    }
    Series series{course.norm, {}};
    for (const auto& [at, sum] : by_place)
      series.points.emplace_back(static_cast<double>(at), sum.first / sum.second);
    diagram.series.push_back(series);
  }
  return diagram;
}

/// The mean over a training of |<W, dL/dW>| / (|W| |dL/dW|).
double radial_part(const Course& course, const std::string& weight) {
  double sum = 0, count = 0;
  for (const WeightRecord& r : course.weights) {
    if (r.weight != weight) continue;
    sum += std::abs(r.radial) / (r.norm * r.gradient_norm);
    ++count;
  }
  return sum / count;
}

using MakeTask = std::function<Task(const std::string& norm, Random& random)>;

/// tolerance: of what must be equal, for the precision in which the nets were trained
void judge(Report& report, const std::string& file, const std::string& net,
           const std::vector<Course>& courses, double tolerance) {
  Table table{net,
              {"norm", "|mean| after", "s |mean| before", "s^2 variance before / after", "largest",
               "drift of inputs", "last loss"},
              {}};
  double mean_error = 0, detached_error = 0, greatest = 0, attached = 0, detached = 0;
  for (const Course& course : courses) {
    const std::string& norm = course.norm;
    const Digest digest(course);
    table.rows.push_back(
        {norm, fmt::format("{:.2e}", digest.mean_after), fmt::format("{:.2e}", digest.mean_before),
         fmt::format("{:.4f}", digest.ratio), fmt::format("{:.6f}", digest.greatest_ratio),
         fmt::format("{:.3f}", drift(course)), fmt::format("{:.3f}", course.last_loss)});
    (mean_attached(norm) ? mean_error : detached_error) =
        std::max(mean_attached(norm) ? mean_error : detached_error, digest.greatest_error);
    greatest = std::max(greatest, digest.greatest_ratio);
    if (scale_attached(norm))
      attached = std::max(attached, digest.ratio);
    else
      detached = std::max(detached, std::max(digest.greatest_ratio - 1, 1 - digest.least_ratio));
  }
  report.table(table);
  report.figure(file + "_variance", ratio_diagram(net, courses));
  report.claim(net +
                   ": an attached mean takes the mean out of every gradient; with the mean "
                   "detached it passes, divided by s.",
               fmt::format("largest distances from 0 and from the mean after, in deviations: "
                           "{:.1e} and {:.1e}",
                           mean_error, detached_error),
               mean_error < tolerance && detached_error < tolerance);
  report.claim(net +
                   ": an attached deviation shrinks the variance of the gradient below that of a "
                   "division by s; a detached one divides, and nothing more.",
               fmt::format("mean ratio at most {:.4f} attached; detached 1 to within {:.1e}; "
                           "largest of all 1 {:+.1e}",
                           attached, detached, greatest - 1),
               greatest < 1 + tolerance && attached < 0.999 && detached < tolerance);
}

std::vector<Course> compare(Report& report, const std::string& file, const std::string& net,
                            const MakeTask& make, Index steps, std::uint64_t seed) {
  std::vector<Course> courses;
  for (const std::string& norm : norms) {
    Random random(seed);
    courses.push_back(train(norm, make(norm, random), steps));
  }
  judge(report, file, net, courses, 1e-9);
  return courses;
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
    expect<DataError>(NormSpec(course.norm).kind == NormKind::layer,
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
  judge(report, "runs", "Runs", courses, 1e-3);
  report.figure("runs_depth", depth_diagram("Runs", courses));
}

Task mlp(const ImageSet& images, const std::string& norm, Random& random) {
  const Mlp net({images.height * images.width, 64, 64, 64, 10}, random, {.norm = norm});
  auto order = std::make_shared<Random>(random.stream(1));
  return {fields(net), [net, order, &images] {
            const Batch batch = *Batches(images, 32, *order).begin();
            return cross_entropy(net(batch.images), batch.labels);
          }};
}

Task lstm(const Characters& characters, const Indices& ids, const std::string& norm,
          Random& random) {
  const CharRnn net(characters.count(), random,
                    {.embedding = 16, .hidden = 24, .recurrent = {.norm = norm}});
  auto order = std::make_shared<Random>(random.stream(1));
  return {fields(net), [net, order, ids] {
            const TextBatch batch = random_rows(ids, 8, 20, *order);
            return cross_entropy(net(transposed(batch.inputs)).logits, transposed(batch.targets));
          }};
}

Task transformer(const Characters& characters, const Indices& ids, const std::string& norm,
                 Random& random) {
  const TransformerLm net(
      characters.count(), random,
      {.stack = {.layers = 12, .heads = 4, .channels = 32, .norm = norm}, .length = 32});
  auto order = std::make_shared<Random>(random.stream(1));
  return {fields(net), [net, order, ids] {
            const TextBatch batch = random_rows(ids, 4, 32, *order);
            return cross_entropy(net(batch.inputs), batch.targets);
          }};
}

void compare_nets(Report& report, Index steps, std::uint64_t seed) {
  report.paragraph(
      "Each net is trained on data that this program draws, and looked at by a probe in every "
      "step. \"After\" a norm is the gradient with respect to its output, \"before\" with "
      "respect to its input, over the features of a row; s is the deviation that the norm "
      "divides by. Means are root mean squares over rows, in deviations of the gradient after.");
  const ImageSets images = draw_image_sets(seed);
  Random drawn = Random(seed).stream(2);
  const std::string text = grammar_text(1000, drawn);
  const Characters characters(text);
  const Indices ids = characters.encode(text);

  const auto perceptrons = compare(
      report, "mlp", "Multilayer perceptron on digits",
      [&](const std::string& norm, Random& random) { return mlp(images.train, norm, random); },
      steps, seed);
  const double attached = radial_part(perceptrons[0], "layers.0.weight");
  const double detached = radial_part(perceptrons[3], "layers.0.weight");
  report.claim(
      "The loss does not feel the size of a weight in front of a normalization, so the gradient "
      "has no radial part <W, dL/dW>; with a detached deviation it has.",
      fmt::format("|<W, dL/dW>| / (|W| |dL/dW|) of the first layer: {:.1e} attached, {:.1e} "
                  "detached",
                  attached, detached),
      attached < 0.01 && detached > 10 * attached);

  compare(
      report, "lstm", "Layer-normalized LSTM on characters",
      [&](const std::string& norm, Random& random) { return lstm(characters, ids, norm, random); },
      steps, seed);

  const auto transformers = compare(
      report, "transformer", "Transformer of 12 layers on characters",
      [&](const std::string& norm, Random& random) {
        return transformer(characters, ids, norm, random);
      },
      steps, seed);
  report.figure("transformer_depth", depth_diagram("Transformer of 12 layers", transformers));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  Report report;
  Index steps = 30;
  std::uint64_t seed = 1;
  std::vector<std::string> probed, runs;
  flags
      .setting("--probed", probed,
               "Only compare the --probe records of trainers in these directories")
      ->check(file_name());
  flags
      .setting("--runs", runs,
               "Only compare the curves and samples of trainers in these --log-dir directories")
      ->check(file_name())
      ->excludes("--probed");
  flags.setting("--steps", steps, "Steps of each training")->check(between(2, 100000));
  flags.setting("--seed", seed, "Seed of data, weights and order");
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    const std::string command = command_line(argc, argv);
    if (!runs.empty()) {
      report.begin("runs", "Runs compared", command);
      compare_runs(report, runs);
      return report.finish();
    }
    report.begin(self.name, "Re-centering and re-scaling in training", command);
    if (!probed.empty()) {
      compare_probes(report, probed);
      return report.finish();
    }
    compare_nets(report, steps, seed);
    return report.finish();
  });
}

const registry::Entry entry({"gradients",
                             "Shows what normalizations do to the gradients of nets in training.",
                             run});

}  // namespace
