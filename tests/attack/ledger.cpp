// A finished training, as the laboratory reads it again from its ledger.

#include "lab/ledger.h"

#include "attack.h"

namespace tapegrad::attack {

void attack(std::string_view input) {
  const File file(input);
  const std::string first = lab::to_string(lab::read_record(file.path()));
  const File again(first);
  expect_property(lab::to_string(lab::read_record(again.path())) == first,
                  "a training that has been read once can be read again");
}

}  // namespace tapegrad::attack
