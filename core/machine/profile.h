#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/core/scoped.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The least work that a kernel must do: floating-point operations (a multiply-add counts as two,
/// any function of an element as one), and bytes of memory, reading each operand and writing each
/// result once.
/// Example: `Profile profile; profile.add(Work{.flops = 2e6, .bytes = 4e5})`
struct Work {
  double flops = 0, bytes = 0;
  double bfloat16_flops = 0;  ///< the part of `flops` with operands rounded to bfloat16

  Work& operator+=(const Work& other);
  bool operator<(const Work& other) const;  ///< an order of any kind, for maps
};

/// Measures where a thread spends its time, operation by operation:
///
///     Profile profile;
///     for (...) {
///       const Profile::Scope measured(profile);
///       step();
///     }
///     fmt::print("{}", to_string(profile));
///
/// An operation is charged the time since the previous one ended, so the times add up to the total.
/// Work that a kernel does on other threads counts for the operation that called it.
/// Example: `Profile profile; { Profile::Scope measured(profile); net(x); } to_string(profile)`
class Profile {
 public:
  /// Learns how operations are divided among `threads()`: a section is a call of `parallel_for` for
  /// several tasks. While they are observed, the calling thread runs all tasks, one by one.
  struct Observer {
    virtual void section_began(Index tasks) = 0;
    virtual void task_ended() = 0;
    virtual void operation_ended(const std::string& name) = 0;  ///< its Entry::name
  };
  explicit Profile(Observer* observer = nullptr) : observer_(observer) {}
  Observer* observer() const { return observer_; }

  struct Entry {
    std::string name;  ///< of the operation; its backward rules have an entry ending in " backward"
    Index calls = 0;
    double seconds = 0;
    Work work;
  };
  /// One entry for each operation, the longest first. "rest" is the time after a scope's last
  /// operation.
  std::vector<Entry> entries() const;
  /// Kernels with the same work, and how often they were called.
  struct Kernel {
    Work work;
    Index calls;
  };
  std::vector<Kernel> kernels() const;
  /// How many scopes have ended.
  Index scopes() const { return scopes_; }

  /// While in scope, this thread's work counts for a profile.
  class Scope {
   public:
    explicit Scope(Profile& profile);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Scoped<Profile*> active_;
    Entry& rest_;
  };
  /// The profile in scope on this thread, or null.
  static Profile* active() { return active_; }

  // Called by operations and kernels.
  void ended(std::string_view operation);
  void add(const Work& work);

 private:
  friend class ProfileSpan;
  using Clock = std::chrono::steady_clock;
  /// The entry of an operation, created at its first use. Scopes look it up before their
  /// destructors run, since a destructor must not allocate.
  Entry& entry(std::string_view operation, bool backward);
  /// Charges `entry` with everything since the last entry was closed.
  void close(Entry& entry);

  static constinit thread_local Profile* active_;  // the innermost in scope on this thread
  Observer* observer_;
  Clock::time_point last_;
  Index scopes_ = 0;
  int spans_ = 0;
  Work pending_;
  std::map<std::pair<std::string, bool>, Entry> entries_;
  std::map<Work, Index> kernels_;
};

/// The profile as a table, averaged over its scopes: calls, milliseconds, share of the time,
/// GFLOP/s and GB/s.
std::string to_string(const Profile& profile);

/// While in scope, time and work count for one name, whatever operations run.
/// Example: `const ProfileSpan span("encoder"); net(x)`
class ProfileSpan {
 public:
  explicit ProfileSpan(const char* name, bool backward = false) : profile_(Profile::active()) {
    if (profile_ == nullptr) return;
    if (profile_->spans_ == 0) entry_ = &profile_->entry(name, backward);
    ++profile_->spans_;
  }
  ~ProfileSpan() {
    if (profile_ == nullptr) return;
    --profile_->spans_;
    if (entry_ != nullptr) profile_->close(*entry_);
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  Profile* profile_;
  Profile::Entry* entry_ = nullptr;  // of the outermost span
};

/// Called by kernels, on the calling thread: adds to the profile in scope, if there is one.
/// Example: `count_work({.flops = 2 * 4 * 6, .bytes = sizeof(real) * 48})`
inline void count_work(const Work& work) {
  if (Profile* profile = Profile::active()) profile->add(work);
}

/// count_work for kernels that pass over memory: elements read and written, and one operation for
/// each written.
/// Example: `count_pass(x.size(), x.size())`
inline void count_pass(Index read, Index written) {
  count_work({.flops = static_cast<double>(written),
              .bytes = sizeof(real) * static_cast<double>(read + written)});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
