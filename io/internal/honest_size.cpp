#include "tapegrad/io/internal/honest_size.h"

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Allowance::Allowance(const FileBytes& file, std::string name)
    : name_(std::move(name)), stored_(file.stored_size()), packed_(stored_ != file.bytes().size()) {
  if (packed_) take(file.bytes().size());
}

void Allowance::refuse() const {
  fail<DataError>("{}: its {} bytes would take more than {} bytes of memory; if you trust it, {}",
                  name_, stored_, honest_size(stored_),
                  packed_ ? "unpack it with gunzip" : "divide it into several files");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
