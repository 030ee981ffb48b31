// Finished runs, as the laboratory reads them again from the lines of its ledger, and what it
// claims of one of them.

#include "experiments/ledger.h"

#include "attack.h"
#include "experiments/ba2016_claims.h"
#include "experiments/ba2016_report.h"
#include "experiments/digit_claims.h"
#include "experiments/drift_claims.h"
#include "experiments/matrix_report.h"
#include "experiments/paper.h"
#include "tapegrad/train/output.h"

namespace tapegrad::attack {
namespace {

// The column of a task whose systems have all been trained to the same end.
lab::Matrix matrix_of(const lab::PaperTask& task, const lab::Record& record) {
  const Index seeds = task.seeds(1);
  std::map<std::uint64_t, lab::Record> by_seed{{lab::choosing_seed, record}};
  for (Index seed = 1; seed <= seeds; ++seed)
    by_seed.emplace(static_cast<std::uint64_t>(seed), record);
  lab::Records records;
  for (const std::string& system : task.systems) records[system + "@0.001"] = by_seed;
  return {lab::make_column(task, records, 1, seeds)};
}

// The results of the systems of Xu et al.
lab::ByNorm results_of(const lab::Record& record) {
  lab::ByNorm results;
  for (const std::string& norm : lab::paper_norms)
    results[norm] = lab::Results{norm, {record.outcome}};
  return results;
}

void read_lines(std::string_view input) {
  lab::PackedRuns runs(input, "a file");
  const std::string first = runs.lines();
  expect_property(lab::PackedRuns(first, "a file").lines() == first,
                  "lines that have been read once can be read again");
  const lab::RunKey key =
      runs.repeats().empty() ? lab::RunKey{"study/run", 1} : runs.repeats().begin()->first;
  runs.add(key, "{}");
  expect_property(lab::PackedRuns(runs.lines(), "a file").latest(key)->record == "{}",
                  "what is added is the latest repeat");
}

void claim(const lab::Record& record) {
  for (const lab::PaperTask& task : lab::xu2019().tasks)
    refuses([&] {
      lab::Report report;
      const lab::Matrix matrix = matrix_of(task, record);
      lab::report_matrix(report, matrix);
      lab::claim_mechanics(report, matrix);
    });
  for (const lab::PaperTask& task : lab::ba2016().tasks)
    refuses([&] {
      lab::Report report;
      const lab::Matrix matrix = matrix_of(task, record);
      lab::report_ba2016(report, matrix, 0, true);
      lab::ba2016_mechanics(matrix);
    });
  const lab::ByNorm results = results_of(record);
  refuses([&] { lab::detaching_claims({results}); });
  refuses([&] { lab::common_mode_claim({results}); });
  refuses([&] {
    std::vector<lab::Results> all;
    for (const auto& [norm, each] : results) all.push_back(each);
  });
}

}  // namespace

void attack(std::string_view input) {
  silence_results();
  refuses([&] { read_lines(input); });
  // A record alone, since few inputs have its digest.
  const lab::Record record = lab::read_record(std::string(input), "a run");
  const std::string first = lab::to_string(record);
  expect_property(lab::to_string(lab::read_record(first, "a run")) == first,
                  "a run that has been read once can be read again");
  claim(record);
}

}  // namespace tapegrad::attack
