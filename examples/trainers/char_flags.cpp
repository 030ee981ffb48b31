#include "trainers/char_flags.h"

#include "tapegrad/train/norm_flag.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

void CharFlags::add_shared() {
  add_norm_flag(*this, norm, "Normalization");
  training("--layers", layers, "Layers").check(between(1, 1000));
  training("--seq-len", seq_len, "Characters per row of a batch").check(between(1, 1 << 16));
  training("--batch-size", batch_size, "Rows per batch").check(between(1, 1 << 16));
  length("--steps", steps, "Optimizer steps").check(between(1, 1 << 30));
  training("--dropout", dropout, "Share of values to drop in training").check(between(0.0, 0.99));
  input("--data", data, "Text file, plain or gzipped; without it, draws sentences");
  training("--seed", seed, "Seed of weights, order, dropout, drawn text and samples");
  optimizer.add_to(*this);
  run_flags.add_to(*this);
  setting("--sample", sample, "Characters to generate after the run").check(not_negative());
  setting("--prompt", prompt, "Beginning of the sample");
  setting("--temperature", temperature,
          "Sampling temperature: lower is more predictable; 0: always the likeliest")
      .check(between(0.0, 1e3));
  setting("--top-k", top_k, "Sample only from that many likeliest characters; 0: from all")
      .check(not_negative());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
