#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How many processors the quotas of control groups amount to, rounded up; none without a quota.
/// Containers limit processor time in this way (docker run --cpus), which the affinity mask does
/// not show. Knows both versions of control groups.
///   groups: the text of /proc/self/cgroup   mounted: /sys/fs/cgroup
std::optional<int> processors_of_quota(std::string_view groups,
                                       const std::filesystem::path& mounted);

}  // namespace tapegrad::TAPEGRAD_SCALAR
