#include "tapegrad/core/machine/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

namespace tapegrad::TAPEGRAD_SCALAR {

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  bytes += other.bytes;
  bfloat16_flops += other.bfloat16_flops;
  return *this;
}

bool Work::operator<(const Work& other) const {
  return std::tie(flops, bytes, bfloat16_flops) <
         std::tie(other.flops, other.bytes, other.bfloat16_flops);
}

constinit thread_local Profile* Profile::active_ = nullptr;

Profile::Scope::Scope(Profile& profile)
    : active_(Profile::active_, &profile), rest_(profile.entry("rest", false)) {
  profile.last_ = Clock::now();
}

Profile::Scope::~Scope() {
  Profile& profile = *Profile::active_;
  profile.close(rest_);
  ++profile.scopes_;
}

void Profile::add(const Work& work) {
  pending_ += work;
  ++kernels_[work];
}

void Profile::ended(std::string_view operation) {
  if (spans_ == 0) close(entry(operation, false));
}

Profile::Entry& Profile::entry(std::string_view operation, bool backward) {
  Entry& found = entries_[{std::string(operation), backward}];
  if (found.name.empty()) found.name = std::string(operation) + (backward ? " backward" : "");
  return found;
}

void Profile::close(Entry& entry) {
  const Clock::time_point now = Clock::now();
  ++entry.calls;
  entry.seconds += std::chrono::duration<double>(now - last_).count();
  entry.work += pending_;
  pending_ = {};
  last_ = now;
  if (observer_ != nullptr) observer_->operation_ended(entry.name);
}

std::vector<Profile::Entry> Profile::entries() const {
  std::vector<Entry> list;
  for (const auto& [key, entry] : entries_) list.push_back(entry);
  std::stable_sort(list.begin(), list.end(),
                   [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return list;
}

std::vector<Profile::Kernel> Profile::kernels() const {
  std::vector<Kernel> list;
  for (const auto& [work, calls] : kernels_) list.push_back({work, calls});
  return list;
}

std::string to_string(const Profile& profile) {
  const std::vector<Profile::Entry> entries = profile.entries();
  const auto scopes = static_cast<double>(profile.scopes());
  double total = 0;
  for (const Profile::Entry& entry : entries) total += entry.seconds;
  std::string table = fmt::format("{:<28} {:>8} {:>10} {:>7} {:>9} {:>7}\n", "operation", "calls",
                                  "ms", "share", "GFLOP/s", "GB/s");
  const auto rate = [](double amount, double seconds) {
    return amount == 0 ? std::string("-") : fmt::format("{:.1f}", amount / seconds * 1e-9);
  };
  for (const Profile::Entry& entry : entries)
    table += fmt::format("{:<28} {:>8.1f} {:>10.3f} {:>6.1f}% {:>9} {:>7}\n", entry.name,
                         static_cast<double>(entry.calls) / scopes, entry.seconds * 1e3 / scopes,
                         100 * entry.seconds / total, rate(entry.work.flops, entry.seconds),
                         rate(entry.work.bytes, entry.seconds));
  return table + fmt::format("{:<28} {:>8} {:>10.3f}\n", "all", "", total * 1e3 / scopes);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
