#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/machine/profile.h"

namespace tapegrad::testing {

/// The numbers of tasks of the sections that `body` runs.
template <class Body>
std::vector<Index> sections_of(const Body& body) {
  struct : Profile::Observer {
    void section_began(Index tasks) override { counts.push_back(tasks); }
    void task_ended() override {}
    void operation_ended(const std::string&) override {}
    std::vector<Index> counts;
  } observer;
  Profile profile(&observer);
  const Profile::Scope measured(profile);
  body();
  return observer.counts;
}

}  // namespace tapegrad::testing
