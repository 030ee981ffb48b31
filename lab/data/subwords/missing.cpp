// A build without SentencePiece.

#include "data/subwords.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      "subwords: this build lacks SentencePiece; install libsentencepiece-dev and build again");
}

}  // namespace

Subwords Subwords::learn(const std::vector<std::string>&, Index) { refuse(); }
Subwords::Subwords(std::vector<std::string>) { refuse(); }
std::vector<Index> Subwords::encode(const std::string&) const { refuse(); }
std::string Subwords::decode(const std::vector<Index>&) const { refuse(); }

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
