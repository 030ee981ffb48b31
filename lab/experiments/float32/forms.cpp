// The sixteen forms of layer normalization in perceptrons: which of its parts, the forward pass,
// the factor of the gradient or its projections, do what layer normalization does?

#include "experiments/forms.h"

#include "experiments/float32/subjects.h"
#include "experiments/matrix.h"
#include "experiments/registry.h"
#include "experiments/report.h"
#include "problems/digits.h"
#include "support/data_files.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct FormFlags {
  std::string size = "smoke", data;
  std::vector<std::string> optimizers{"adam", "momentum"}, initials{"uniform", "he"};
  std::vector<Index> layers{2, 6, 12, 24};
  ComparisonFlags comparison{.seeds = 5};
  bool from_ledger = false, quiet = false;

  void add_to(Flags& flags) {
    flags
        .setting("--size", size,
                 "smoke: small nets, in seconds; report: the nets of the page, in minutes")
        .check(one_of({"smoke", "report"}));
    flags.setting("--optimizers", optimizers, "Optimizers").check(one_of({"adam", "momentum"}));
    flags.setting("--initials", initials, "Initial weights: U(+-1/sqrt(inputs)) or N(0, 2/inputs)")
        .check(one_of({"uniform", "he"}));
    flags.setting("--layers", layers, "Hidden layers of the perceptrons").check(between(1, 1000));
    comparison.add_to(flags, 1);
    flags.input("--data", data, data_help("MNIST", "mnist/") + "; without it, draws digits")
        .environment("TAPEGRAD_MNIST");
    flags.setting("--from-ledger", from_ledger, "Show what --runs has, and train nothing");
    flags.setting("--quiet", quiet, "No progress on standard error");
  }
  /// Throws FlagError for flags that conflict.
  void check(const Flags& given) const {
    if (from_ledger && !given.given("--runs")) throw FlagError("--from-ledger", "needs --runs");
    const auto& [seeds, seed, threads] = comparison;
    if (seed <= choosing_seed && choosing_seed < seed + static_cast<std::uint64_t>(seeds))
      throw FlagError("--seed",
                      fmt::format("{} is the seed by which rates are chosen", choosing_seed));
  }

  FormSizes sizes() const {
    return size == "report"
               ? FormSizes()
               : FormSizes{.width = 16, .batch_size = 32, .steps = 12, .most_rates = 4};
  }
  std::vector<FormSetting> settings() const {
    std::vector<FormSetting> all;
    for (const std::string& initial : initials)
      for (const std::string& optimizer : optimizers)
        for (const Index depth : layers) all.push_back({optimizer, initial, depth});
    return all;
  }
};

ImageSets make_sets(const FormFlags& flags) {
  ImageSets sets = problems::image_sets({flags.data, flags.comparison.seed});
  expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                    "{}: the networks read images of 28 x 28 in 10 classes", sets.source);
  if (flags.size == "report") return sets;
  sets.validation = first_images(sets.validation, 200);
  sets.test = first_images(sets.test, 200);
  return sets;
}

/// Trains what the ledger lacks of a setting.
FormColumn train_column(const FormSetting& setting, const FormFlags& flags, const ImageSets& sets,
                        const Comparison& comparison, Progress& progress) {
  const FormSizes sizes = flags.sizes();
  std::vector<System> systems;
  for (const Form& form : sixteen_forms())
    systems.push_back(
        {form.norm(),
         {{"norm", form.norm()},
          {"optimizer", setting.optimizer},
          {"initial", setting.initial},
          {"layers", setting.layers},
          {"width", sizes.width},
          {"batch_size", sizes.batch_size},
          {"steps", sizes.steps},
          {"most_rates", sizes.most_rates},
          {"seed", flags.comparison.seed},
          {"seeds", flags.comparison.seeds}},
         [&](const Trial&) { return train_form(form, setting, sizes, sets, flags.comparison); }});
  FormColumn column{setting};
  for (const Results& results : comparison.train(systems, [&](const Results& trained) {
         const FormCell cell = form_cell(trained.runs.front());
         progress.line(fmt::format("{} {}: {} % at the rate {:.3g}, {:.0f} s", setting.name(),
                                   trained.system, cell.spread().to_string(2), cell.search.best(),
                                   progress.seconds()));
       }))
    for (const Form& form : sixteen_forms())
      if (form.norm() == results.system)
        column.cells[form.name()] = form_cell(results.runs.front());
  return column;
}

FormColumn read_column(const FormSetting& setting, const Ledger& ledger) {
  FormColumn column{setting};
  const Records records = ledger.records();
  for (const Form& form : sixteen_forms())
    if (const auto found = records.find(form.norm()); found != records.end())
      column.cells[form.name()] = form_cell(found->second.begin()->second.outcome);
  return column;
}

std::vector<FormColumn> make_columns(const FormFlags& flags, const ImageSets& sets,
                                     Cluster& cluster, Ledger& ledger) {
  std::vector<FormColumn> columns;
  const std::vector<FormSetting> settings = flags.settings();
  Progress progress(std::ssize(settings), 0, flags.quiet || !cluster.is_first());
  for (const FormSetting& setting : settings) {
    ledger.begin(
        "forms/" + setting.name(),
        flags.from_ledger ? "" : fmt::format("{}, test {}", sets.digest(), sets.test_digest()));
    const Comparison comparison(cluster, ledger, {.seeds = 1, .seed = choosing_seed});
    columns.push_back(flags.from_ledger ? read_column(setting, ledger)
                                        : train_column(setting, flags, sets, comparison, progress));
  }
  std::erase_if(columns, [](const FormColumn& column) { return column.cells.empty(); });
  return columns;
}

std::string words(const FormCell& cell) {
  const std::string rate = fmt::format("rate {:.2g}", cell.search.best());
  return fmt::format("{}\n{}", cell.spread().to_string(2),
                     cell.search.is_interior() ? rate : rate + ", at the edge");
}

/// One for each initial weights: forms by optimizer and depth.
void grids(Report& report, const FormFlags& flags, const std::vector<FormColumn>& columns) {
  for (const std::string& initial : flags.initials) {
    HeatMap map{
        .title = fmt::format("Sixteen forms, {} initial weights", initial),
        .rows = {},
        .columns = {},
        .values = {},
        .unit = "% of the test digits misread, mean over seeds",
        .caption =
            "The deeper the blue, the more digits a form misreads; a dash: it has not learned. (x, "
            "1, none) is no normalization, (z, 1/s, both) is layer normalization."};
    Table table{
        map.title + ": test error in %, mean and standard deviation over seeds", {"form"}, {}};
    for (const Form& form : sixteen_forms()) {
      map.rows.push_back(form.name());
      map.values.emplace_back();
      table.rows.push_back({form.name()});
      for (const FormColumn& column : columns) {
        if (column.setting.initial != initial) continue;
        const auto cell = column.cells.find(form.name());
        const bool there = cell != column.cells.end();
        map.values.back().push_back(there && cell->second.has_learned() ? cell->second.spread().mean
                                                                        : NAN);
        table.rows.back().push_back(there ? words(cell->second) : "missing");
      }
    }
    for (const FormColumn& column : columns)
      if (column.setting.initial == initial)
        map.columns.push_back(
            fmt::format("{} {}", column.setting.optimizer, column.setting.layers));
    if (map.columns.empty()) continue;
    table.columns.insert(table.columns.end(), map.columns.begin(), map.columns.end());
    report.heat_map("grid_" + initial, map, initial == "uniform" ? Talk::yes : Talk::no);
    report.table(table);
  }
}

/// What the passes of layer normalization gain in each setting.
void passes(Report& report, const std::vector<FormColumn>& columns) {
  Table table{
      "What the two passes of layer normalization gain, in points of error, with 95 % intervals",
      PassGains::header("setting"),
      {}};
  for (const FormColumn& column : columns) {
    const auto cell = [&](const Form& form) {
      const auto found = column.cells.find(form.name());
      return found == column.cells.end() ? nullptr : &found->second;
    };
    const FormCell *layer_norm = cell(layer_norm_form), *backward = cell(backward_form),
                   *forward = cell(forward_form), *none = cell(no_norm_form);
    if (!layer_norm || !backward || !forward || !none) continue;
    const auto& [optimizer, initial, layers] = column.setting;
    table.rows.push_back(PassGains{interaction(*layer_norm, *backward, *forward, *none),
                                   advantage(*backward, *none), advantage(*forward, *none),
                                   advantage(*backward, *forward)}
                             .row(fmt::format("{} {} {}", optimizer, initial, layers), 2));
  }
  if (!table.rows.empty()) report.table(table);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  FormFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags);
    set_threads(given.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "Sixteen forms of layer normalization", command_line(argc, argv),
                 cluster.is_first());
    const ImageSets sets = given.from_ledger ? ImageSets() : make_sets(given);
    const FormSizes sizes = given.sizes();
    report.paragraph(fmt::format(
        "A form is a value, x or z = (x - mean) / s, a factor of the gradient, 1 or 1/s, and a "
        "projection of the gradient. Perceptrons with hidden layers of {} have a form before each "
        "ReLU, without gain and bias, and see {} batches of {}{}. Each form chooses among learning "
        "rates a factor 3 apart, until the best has a worse one on both sides or {} have been "
        "tried; then {} seeds are trained at that rate.",
        sizes.width, sizes.steps, sizes.batch_size, given.from_ledger ? "" : " of " + sets.source,
        sizes.most_rates, given.comparison.seeds));
    measure_forms(report, {});
    const std::vector<FormColumn> columns = make_columns(given, sets, cluster, ledger);
    grids(report, given, columns);
    passes(report, columns);
    for (const JudgedClaim& claim : form_predictions(columns)) report.judged(claim);
    return report.finish();
  });
}

const registry::Entry entry({"forms", "Compares sixteen forms of layer normalization.", run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_forms(Report& report, const NormsByName& subject) {
  Random random(1);
  const Tensor x = random.normal({20, 12}, 1, 2), g = random.normal({20, 12}, 0.5);
  const Tensor centered = x - mean(x, -1, Keep::yes),
               s = sqrt(mean(square(centered), -1, Keep::yes) + 1e-5), z = centered / s;
  double of_values = 0, of_gradients = 0;
  for (const Form& form : sixteen_forms()) {
    Tensor projected = g;
    if (form.projection == Projection::center || form.projection == Projection::both)
      projected = projected - mean(g, -1, Keep::yes);
    if (form.projection == Projection::scale || form.projection == Projection::both)
      projected = projected - z * mean(g * z, -1, Keep::yes);
    const Tensor expected = form.divided ? projected / s : projected;
    const auto f = [&](const auto& in) { return subject.normalize(in[0], form.norm()); };
    const auto distance = [](const Tensor& a, const Tensor& b) -> double {
      return (norm(a - b) / norm(b)).item();
    };
    of_values = std::max(of_values, distance(f(std::vector{x}), form.normalized ? z : x));
    of_gradients = std::max(of_gradients, distance(vjp(f, {x}, g)[0], expected));
  }
  report.claim("The value of each form is x or z", fmt::format("relative error {:.1e}", of_values),
               of_values < 1e-5, "below 1e-5");
  report.claim("The gradient of each form has its factor and its projection",
               fmt::format("relative error {:.1e}", of_gradients), of_gradients < 1e-5,
               "below 1e-5");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
