// The sixteen forms of layer normalization in perceptrons: which of its parts, the forward pass,
// the factor of the gradient or its projections, do what layer normalization does?

#include "experiments/forms.h"

#include "experiments/float32/subjects.h"
#include "experiments/matrix.h"
#include "experiments/study.h"
#include "problems/digits.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct FormFlags {
  std::vector<std::string> optimizers{"adam", "momentum"}, initials{"uniform", "he"};
  std::vector<Index> layers{2, 6, 12, 24};

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--optimizers", optimizers, "Optimizers").check(one_of({"adam", "momentum"}));
    flags.setting("--initials", initials, "Initial weights: U(+-1/sqrt(inputs)) or N(0, 2/inputs)")
        .check(one_of({"uniform", "he"}));
    flags.setting("--layers", layers, "Hidden layers of the perceptrons").check(between(1, 1000));
  }

  std::vector<FormSetting> settings() const {
    std::vector<FormSetting> all;
    for (const std::string& initial : initials)
      for (const std::string& optimizer : optimizers)
        for (const Index depth : layers) all.push_back({optimizer, initial, depth});
    return all;
  }
};

FormSizes sizes_of(const StudyRun& run) {
  return run.is_report() ? FormSizes()
                         : FormSizes{.width = 16, .batch_size = 32, .steps = 12, .most_rates = 4};
}

ImageSets make_sets(const StudyRun& run) {
  ImageSets sets = problems::image_sets({run.data, run.comparison.seed});
  expect<DataError>(sets.train.height == 28 && sets.train.width == 28 && sets.classes == 10,
                    "{}: the networks read images of 28 x 28 in 10 classes", sets.source);
  if (run.is_report()) return sets;
  sets.validation = first_images(sets.validation, 200);
  sets.test = first_images(sets.test, 200);
  return sets;
}

/// Trains what the ledger lacks of a setting.
FormColumn train_column(const FormSetting& setting, const StudyRun& run, const ImageSets& sets,
                        Progress& progress) {
  const FormSizes sizes = sizes_of(run);
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
          {"seed", run.comparison.seed},
          {"seeds", run.comparison.seeds}},
         [&](const Trial&) { return train_form(form, setting, sizes, sets, run.comparison); }});
  FormColumn column{setting};
  const Comparison comparison(*run.cluster, run.ledger, {.seeds = 1, .seed = choosing_seed});
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

std::vector<FormColumn> make_columns(const FormFlags& flags, const ImageSets& sets, StudyRun& run) {
  std::vector<FormColumn> columns;
  const std::vector<FormSetting> settings = flags.settings();
  Progress progress = run.progress(std::ssize(settings));
  for (const FormSetting& setting : settings) {
    run.ledger.begin(
        "forms/" + setting.name(),
        run.from_ledger ? "" : fmt::format("{}, test {}", sets.digest(), sets.test_digest()));
    columns.push_back(run.from_ledger ? read_column(setting, run.ledger)
                                      : train_column(setting, run, sets, progress));
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

void report_forms(StudyRun& run, const FormFlags& flags) {
  const ImageSets sets = run.from_ledger ? ImageSets() : make_sets(run);
  const FormSizes sizes = sizes_of(run);
  run.report.paragraph(fmt::format(
      "A form is a value, x or z = (x - mean) / s, a factor of the gradient, 1 or 1/s, and a "
      "projection of the gradient. Perceptrons with hidden layers of {} have a form before each "
      "ReLU, without gain and bias, and see {} batches of {}{}. Each form chooses among learning "
      "rates a factor 3 apart, until the best has a worse one on both sides or {} have been "
      "tried; then {} seeds are trained at that rate.",
      sizes.width, sizes.steps, sizes.batch_size, run.from_ledger ? "" : " of " + sets.source,
      sizes.most_rates, run.comparison.seeds));
  measure_forms(run.report, {});
  const std::vector<FormColumn> columns = make_columns(flags, sets, run);
  grids(run.report, flags, columns);
  passes(run.report, columns);
  for (const JudgedClaim& claim : form_predictions(columns)) run.report.judged(claim);
}

const registry::Entry entry([] {
  return with_flags<FormFlags>(
      {.name = "forms",
       .summary = "Compares sixteen forms of layer normalization.",
       .title = "Sixteen forms of layer normalization",
       .sizes = "smoke: small nets, in seconds; report: the nets of the page, in minutes",
       .seeds = 5,
       .chooses = true,
       .data = digits_flag()},
      report_forms);
});

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
