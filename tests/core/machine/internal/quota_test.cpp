#include "tapegrad/core/machine/internal/quota.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "support/scratch.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

void write_with_folder(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a quota of processor time is so many processors") {
  const Scratch mounted;
  const std::string groups = "0::/jobs/mine\n";
  CHECK_FALSE(processors_of_quota(groups, mounted.path));
  write_with_folder(mounted / "jobs/mine/cpu.max", "max 100000\n");
  CHECK_FALSE(processors_of_quota(groups, mounted.path));
  write_with_folder(mounted / "jobs/mine/cpu.max", "350000 100000\n");
  CHECK(processors_of_quota(groups, mounted.path) == 4);
  write_with_folder(mounted / "jobs/cpu.max", "50000 100000\n");
  CHECK(processors_of_quota(groups, mounted.path) == 1);
  CHECK_FALSE(processors_of_quota("0::/others\n", mounted.path));

  // In a container the group may be the root.
  write_with_folder(mounted / "cpu.max", "20000 10000\n");
  CHECK(processors_of_quota("0::/\n", mounted.path) == 2);
  CHECK(processors_of_quota("0::/of/the/host\n", mounted.path) == 2);
}

TEST_CASE("quotas of the first version of control groups count as well") {
  const Scratch mounted;
  write_with_folder(mounted / "cpu/mine/cpu.cfs_quota_us", "-1\n");
  write_with_folder(mounted / "cpu/mine/cpu.cfs_period_us", "100000\n");
  const std::string groups = "5:memory:/other\n4:cpu,cpuacct:/mine\n0::/\n";
  CHECK_FALSE(processors_of_quota(groups, mounted.path));
  write_with_folder(mounted / "cpu/mine/cpu.cfs_quota_us", "150000\n");
  CHECK(processors_of_quota(groups, mounted.path) == 2);
  CHECK_FALSE(processors_of_quota("4:cpuset:/mine\n", mounted.path));
}

TEST_CASE("files of control groups with other contents are not quotas") {
  const Scratch mounted;
  for (const std::string text : {"", "100000", "0 100000", "100000 0", "x y", "1e300 1", "-5 10"}) {
    write_with_folder(mounted / "cpu.max", text);
    CHECK_FALSE(processors_of_quota("0::/\n", mounted.path));
  }
  for (const std::string groups : {"", "x", "::", "0:", "0::", "\n\n"})
    CHECK_FALSE(processors_of_quota(groups, mounted.path));
}
