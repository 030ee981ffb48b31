#include "lab/paper_flags.h"

#include "support/data_files.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void PaperFlags::add_to(Flags& flags, const std::string& kind,
                        const std::vector<std::string>& parts) {
  flags
      .setting("--size", size,
               "smoke: small nets, in seconds; report: nets and trainings for the page, in hours")
      ->check(CLI::IsMember({"smoke", "report"}));
  flags.setting("--only", only, fmt::format("Train and show the systems of one {} only", kind))
      ->check(CLI::IsMember(parts));
  flags.input("--data", data,
              support::data_help("the data sets", "a folder for each") +
                  ", named in docs/programs.md; without it, the program draws its own");
  flags.setting("--from-ledger", from_ledger, "Show what --runs has, and train nothing");
  training.comparison.add_to(flags, 1);
  flags.setting("--quiet", training.quiet, "No progress on standard error");
}

void PaperFlags::check(const Flags& given, const Paper& paper) const {
  const auto& [seeds, seed, threads] = training.comparison;
  for (const PaperTask& task : paper.tasks)
    if (seed <= choosing_seed &&
        choosing_seed < seed + static_cast<std::uint64_t>(task.seeds(seeds)))
      throw CLI::ValidationError(
          "--seed", fmt::format("{} is the seed by which settings are chosen", choosing_seed));
  if (from_ledger && !given.given("--runs"))
    throw CLI::ValidationError("--from-ledger", "needs --runs");
}

Matrix PaperFlags::matrix(const Paper& paper, Cluster& cluster, Ledger& ledger,
                          const std::vector<MatrixTask>& tasks) const {
  if (from_ledger)
    return read_matrix(paper, ledger, training.comparison.seed, training.comparison.seeds);
  MatrixTraining::Options options = training;
  options.most_rates = most_rates(size);
  return MatrixTraining(cluster, ledger, options).train(paper, tasks);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
