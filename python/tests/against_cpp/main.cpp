#include <exception>

#include "show.h"

namespace tapegrad::TAPEGRAD_SCALAR {

using Calls = std::vector<void (*)()>;
Calls part_0();
Calls part_1();
Calls part_2();
Calls part_3();

}  // namespace tapegrad::TAPEGRAD_SCALAR

int main() {
  using namespace tapegrad;
  for (const auto& part : {part_0, part_1, part_2, part_3})
    for (const auto& call : part()) {
      try {
        call();
      } catch (const std::exception& error) {
        fmt::print("error: {}\n", error.what());
      }
      fmt::print("=== end of a call\n");
    }
}
