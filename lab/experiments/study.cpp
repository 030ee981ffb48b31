#include "experiments/study.h"

#include <optional>

#include "experiments/rate_search.h"
#include "support/data_files.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The flags that studies share, and its own among them.
void add_flags(Flags& flags, const Study& study, StudyRun& run) {
  const bool trains = study.seeds > 0;
  if (!study.sizes.empty())
    flags.setting("--size", run.size, study.sizes).check(one_of({"smoke", "report"}));
  if (study.add_to) study.add_to(flags, run);
  if (trains)
    run.comparison.add_to(flags, study.fewest_seeds);
  else if (!study.seed.empty())
    flags.setting("--seed", run.comparison.seed, study.seed);
  if (!study.data.help.empty()) {
    const Flag data = flags.input("--data", run.data, study.data.help);
    if (!study.data.environment.empty()) data.environment(study.data.environment);
  }
  if (study.has_page) {
    if (trains)
      flags.setting("--from-ledger", run.from_ledger,
                    study.sizes.empty()
                        ? "Show the runs in --runs, and train nothing"
                        : "Show the runs in --runs, of the size report unless --size "
                          "is given, and train nothing");
    run.report.add_to(flags);
  }
  if (trains) {
    flags.setting("--quiet", run.quiet, "No progress on standard error");
    run.ledger.add_to(flags);
  }
}

int run_study(const Study& study, int argc, char** argv) {
  Flags flags(argv[0], study.summary);
  StudyRun run{.name = study.name, .title = study.title, .size = study.size};
  run.comparison.seeds = study.seeds;
  run.flags = &flags;
  flags.checks([&] {
    if (run.from_ledger && !flags.given("--runs")) throw FlagError("--from-ledger", "needs --runs");
    if (run.from_ledger && !study.sizes.empty() && !flags.given("--size")) run.size = "report";
    if (study.chooses) run.comparison.leave_out_choosing_seeds(1);
  });
  add_flags(flags, study, run);
  return flags.run(argc, argv, [&] {
    std::optional<Cluster> cluster;
    if (study.seeds > 0) {
      set_threads(run.comparison.threads);
      run.cluster = &cluster.emplace();
    }
    if (study.has_page)
      run.report.begin(run.name, run.title, command_line(argc, argv),
                       !cluster || cluster->is_first());
    if (!study.introduction.empty()) run.report.paragraph(study.introduction);
    study.run(run);
    return study.has_page ? run.report.finish() : 0;
  });
}

}  // namespace

Progress StudyRun::progress(Index steps) const { return {steps, 0, quiet || !cluster->is_first()}; }

std::vector<Results> StudyRun::train(const std::vector<System>& systems,
                                     const std::function<void(const Results&)>& trained) const {
  if (!from_ledger) return Comparison(*cluster, ledger, comparison).train(systems, trained);
  std::vector<Results> results;
  const Records records = ledger.records();
  for (const System& system : systems) {
    results.push_back({system.name});
    const auto found = records.find(system.name);
    for (Index i = 0; i < comparison.seeds; ++i) {
      const std::uint64_t seed = comparison.seed + i;
      expect<DataError>(found != records.end() && found->second.contains(seed),
                        "--from-ledger: --runs has no run of {} with seed {}", system.name, seed);
      const Record& record = found->second.at(seed);
      expect_same_configuration(record, system.configuration);
      results.back().runs.push_back(record.outcome);
    }
  }
  return results;
}

DataFlag digits_flag() {
  return {support::data_help("MNIST", "mnist/") + "; without it, draws digits", "TAPEGRAD_MNIST"};
}

Study::operator registry::Experiment() const {
  return {name, summary,
          [study = *this](int argc, char** argv) { return run_study(study, argc, argv); },
          seeds > 0};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
