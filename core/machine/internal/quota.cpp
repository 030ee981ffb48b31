#include "tapegrad/core/machine/internal/quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The least quota of a group and those around it. A container may see them all as the root.
template <class Share>
double least(std::filesystem::path group, const std::filesystem::path& root, const Share& share) {
  double result = share(root);
  for (; group.has_relative_path(); group = group.parent_path())
    result = std::min(result, share(root / group.relative_path()));
  return result;
}

double quotient(std::istream& quota, std::istream& period) {
  double microseconds = 0, of = 0;
  if (!(quota >> microseconds) || !(period >> of) || microseconds <= 0 || of <= 0) return INFINITY;
  return microseconds / of;
}

// "max 100000", or a quota and its period.
double share_of_version_2(const std::filesystem::path& group) {
  std::ifstream both(group / "cpu.max");
  return quotient(both, both);
}

// A quota of -1 is none.
double share_of_version_1(const std::filesystem::path& group) {
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return quotient(quota, period);
}

}  // namespace

std::optional<int> processors_of_quota(std::string_view groups,
                                       const std::filesystem::path& mounted) {
  double share = INFINITY;
  std::istringstream lines{std::string(groups)};
  std::string number, controllers, group;
  while (std::getline(lines, number, ':') && std::getline(lines, controllers, ':') &&
         std::getline(lines, group)) {
    if (controllers.empty())
      share = std::min(share, least(group, mounted, share_of_version_2));
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      share = std::min(share, least(group, mounted / "cpu", share_of_version_1));
  }
  constexpr double most = 1 << 20;
  return share < most ? std::optional(static_cast<int>(std::ceil(share))) : std::nullopt;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
