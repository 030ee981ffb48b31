#pragma once

#include <string>

#include "experiments/matrix.h"
#include "experiments/report.h"
#include "support/scratch.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/output.h"

namespace tapegrad::testing {

/// A folder with a ledger that is written by hand, and a page of it.
class WrittenLedger {
 public:
  explicit WrittenLedger(const lab::Paper& paper) : paper_(paper) {}

  void keep(const std::string& task, const std::string& system, std::uint64_t seed,
            const std::string& record) {
    lab::RunFile(folder_ / "runs" / (paper_.name + ".jsonl.gz"))
        .add({fmt::format("{}/{}/{}", paper_.name, task, system), seed}, record);
  }

  /// With seeds 1 to 3.
  lab::Matrix read() const {
    Flags flags(paper_.name, "");
    lab::Ledger ledger;
    ledger.add_to(flags);
    parse(flags, "--runs=" + (folder_ / "runs").string(), [] { return 0; });
    return lab::read_matrix(paper_, ledger, 1, 3);
  }

  /// Makes the page. Returns the exit code.
  int report(const std::function<void(lab::Report&, const lab::Matrix&)>& make) const {
    silence_results();
    Flags flags(paper_.name, "");
    lab::Report report;
    report.add_to(flags);
    return parse(flags, "--report=" + (folder_ / "page").string(), [&] {
      report.begin(paper_.name, "Tables", "lab " + paper_.name);
      make(report, read());
      return report.finish();
    });
  }

  bool has(const std::string& name) const {
    return std::filesystem::exists(folder_ / "page" / name);
  }
  std::string file(const std::string& name) const { return read_text(folder_ / "page" / name); }

 private:
  int parse(Flags& flags, std::string flag, const std::function<int()>& run) const {
    std::string name = paper_.name;
    char* arguments[] = {name.data(), flag.data()};
    return flags.run(2, arguments, run);
  }

  const lab::Paper& paper_;
  const Scratch scratch_;
  const std::filesystem::path folder_ = scratch_.path;
};

}  // namespace tapegrad::testing
