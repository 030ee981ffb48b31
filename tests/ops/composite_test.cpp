#include "tapegrad/ops/composite.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace tapegrad;

TEST_CASE("definitions are chosen for a scope and a thread", "[ops]") {
  CHECK_FALSE(Composite::active());
  {
    const Composite readable;
    CHECK(Composite::active());
    {
      const Composite fused(false);
      CHECK_FALSE(Composite::active());
    }
    CHECK(Composite::active());
    bool elsewhere = true;
    std::thread([&] { elsewhere = Composite::active(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(Composite::active());
}
