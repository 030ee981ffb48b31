#pragma once

#include <string>
#include <vector>

#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/data/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The shape of a Transformer encoder that classifies sentences. The defaults are those of Xu et
/// al. 2019, section 2.2; heads are not stated there.
struct SentenceNet {
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index hidden = 128;
  double dropout = 0.2;

  TransformerModelOptions model() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
