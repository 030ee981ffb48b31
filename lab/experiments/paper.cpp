#include "experiments/paper.h"

#include <algorithm>

#include "experiments/matrix.h"
#include "papers.h"
#include "tapegrad/core/error.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The part of an object, if there is one.
template <class T>
void take(T& part, const Json& object, const char* name) {
  if (const auto found = object.find(name); found != object.end()) part = found->get<T>();
}

// The list of an object, each of its entries read.
template <class T>
std::vector<T> list(const Json& object, const char* name, T (*read)(const Json&)) {
  std::vector<T> all;
  if (const auto found = object.find(name); found != object.end())
    for (const Json& each : *found) all.push_back(read(each));
  return all;
}

Metric metric_in(const Json& object) {
  Metric metric{.value = "test"};
  take(metric.higher_is_better, object, "higher_is_better");
  take(metric.worst, object, "worst");
  take(metric.of_items, object, "of_items");
  if (object.contains("baseline")) metric.baseline = object["baseline"].get<double>();
  return metric;
}

PaperClaim claim_in(const Json& object) {
  PaperClaim claim{object.at("a"), object.at("b"), ""};
  take(claim.source, object, "source");
  if (object.contains("margin")) claim.margin = object["margin"].get<double>();
  take(claim.judge, object, "judge");
  take(claim.statement, object, "statement");
  return claim;
}

// Has a task train the systems of a list beside its own, with their claims.
void add_beside(PaperTask& task, std::vector<std::string>& systems, const Json& beside,
                double margin) {
  systems = beside.at("systems").get<std::vector<std::string>>();
  for (const Json& each : beside.at("claims")) {
    PaperClaim claim = claim_in(each);
    if (each.contains("level")) claim.margin = margin;
    task.claims.push_back(claim);
  }
}

PaperTask task_in(const Json& object, const Json& paper) {
  Json all = object.contains("kind") ? paper.at("kinds").at(object["kind"].get<std::string>())
                                     : Json::object();
  all.update(object);
  PaperTask task{.name = all.at("name"),
                 .title = all.at("title"),
                 .of_paper = all.at("of_paper"),
                 .unit = all.at("unit"),
                 .loss = all.at("loss"),
                 .metric = metric_in(all.at("metric")),
                 .decimals = all.at("decimals"),
                 .systems = {}};
  take(task.systems, paper, "systems");
  take(task.systems, all, "systems");
  take(task.published_decimals, all, "published_decimals");
  if (all.contains("published"))
    for (const std::string& system : task.systems) {
      const Json& value = all["published"].at(system);
      task.published.push_back(value == "diverged" ? INFINITY : value.get<double>());
    }
  take(task.trained, all, "trained");
  take(task.baseline, all, "baseline");
  take(task.chosen_by_loss, all, "chosen_by_loss");
  take(task.absent, all, "absent");
  task.claims = list(all, "claims", claim_in);
  task.other_tests = list<OtherTest>(all, "other_tests", [](const Json& test) {
    return OtherTest{test.at("value"), test.at("title")};
  });
  take(task.fewest_seeds, all, "fewest_seeds");
  if (all.contains("forms"))
    add_beside(task, task.forms, paper.at("beside").at("forms"), all["forms"]);
  if (all.contains("remedies"))
    add_beside(task, task.remedies, paper.at("beside").at("remedies"), all["remedies"]);
  return task;
}

PaperRow row_in(const Json& object) {
  PaperRow row{object.at("system"), "test", object.at("name"), object.at("published")};
  take(row.state, object, "state");
  return row;
}

PaperTable table_in(const Json& object) {
  PaperTable table{object.at("number"), object.at("title"), {}, {}, list(object, "rows", row_in)};
  take(table.systems, object, "systems");
  table.differences = list<SystemPair>(object, "differences", [](const Json& pair) {
    return SystemPair{pair.at(0), pair.at(1)};
  });
  return table;
}

PaperFigure figure_in(const Json& object) {
  PaperFigure figure{
      object.at("number"), object.at("title"), {}, object.at("tasks"), false, "", {}};
  take(figure.systems, object, "systems");
  take(figure.training, object, "training");
  take(figure.axes, object, "axes");
  if (object.contains("curves"))
    for (const Json& each : object["curves"]) {
      const std::string name = each.at("name");
      PaperCurve curve{figure.tasks.front(), name, each.at("title"),
                       each.at("unit"),      name, figure.axes};
      take(curve.task, each, "task");
      take(curve.trace, each, "trace");
      take(curve.axes, each, "axes");
      figure.curves.push_back(curve);
    }
  return figure;
}

}  // namespace

Metric PaperTask::validation() const {
  if (chosen_by_loss) return {.value = "validation"};
  return {
      .value = "validation", .higher_is_better = metric.higher_is_better, .worst = metric.worst};
}

bool PaperTask::chooses_by(std::uint64_t seed) const {
  return choosing_seed <= seed && seed < choosing_seed + choosing_seeds;
}

std::vector<std::string> PaperTask::all_systems() const {
  std::vector<std::string> all = systems;
  all.insert(all.end(), forms.begin(), forms.end());
  all.insert(all.end(), remedies.begin(), remedies.end());
  return all;
}

double PaperTask::published_of(const std::string& system) const {
  const auto found = std::find(systems.begin(), systems.end(), system);
  return published.at(found - systems.begin());
}

std::vector<std::string> names_of(const Paper& paper) {
  std::vector<std::string> names;
  for (const PaperTask& task : paper.tasks)
    if (task.absent.empty()) names.push_back(task.name);
  return names;
}

std::vector<std::string> systems_of(const Paper& paper) {
  std::vector<std::string> systems;
  for (const PaperTask& task : paper.tasks)
    for (const std::string& system : task.all_systems())
      if (std::ranges::count(systems, system) == 0) systems.push_back(system);
  return systems;
}

const PaperTask& Paper::task(const std::string& task) const {
  for (const PaperTask& each : tasks)
    if (each.name == task) return each;
  throw ArgumentError(fmt::format("{}: it is not a task of the paper", task));
}

const PaperTable& Paper::table(int number) const {
  for (const PaperTable& each : tables)
    if (each.number == number) return each;
  throw ArgumentError(fmt::format("table {}: it is not of the paper {}", number, name));
}

Paper read_paper(const std::string& text) try {
  const Json object = Json::parse(text);
  Paper paper{.name = object.at("name"), .tasks = {}};
  for (const Json& task : object.at("tasks")) paper.tasks.push_back(task_in(task, object));
  paper.tables = list(object, "tables", table_in);
  paper.figures = list(object, "figures", figure_in);
  return paper;
} catch (const Json::exception& error) {
  throw ArgumentError(fmt::format("read_paper: it is no paper: {}", error.what()));
}

const Paper& xu2019() {
  static const Paper paper = read_paper(xu2019_file);
  return paper;
}

const Paper& ba2016() {
  static const Paper paper = read_paper(ba2016_file);
  return paper;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
