// Trains order embeddings (Vendrov et al. 2016): of captions and the images that they describe, as
// in Ba et al. 2016, section 6.1, or of concepts and what they are kinds of.

#include "trainers/order_tasks.h"

using namespace tapegrad;
using namespace tapegrad::support;

int main(int argc, char** argv) {
  OrderFlags flags;
  return flags.run(argc, argv, [&](Trainer& trainer) {
    return flags.task == "captions" ? run_captions(flags, trainer) : run_hypernyms(flags, trainer);
  });
}
