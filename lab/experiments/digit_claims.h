#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/verdict.h"
#include "tapegrad/core/indices.h"

/// The claims of Ba et al. 2016 on convolutional networks that read digits, and the floor under
/// losses of normalized logits.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

extern const Metric test_accuracy;     ///< of the cnn, in percent
extern const Metric first_epoch_loss;  ///< of the cnn, while training

/// The results of a system. Throws DataError if it is not among them.
const Results& of_system(const std::vector<Results>& results, std::string_view system);

/// Ba et al. 2016, section 6.7: none learns slower than layer, and layer slower than batch.
std::vector<JudgedClaim> first_epoch_claims(const std::vector<Results>& results);

/// The loss of one-hot logits, which are right, after batch normalization with gain 1 and bias 0.
/// If all classes are equally frequent, no logits have a lower one.
///   labels: (N), in [0, classes)
double batch_norm_floor(const Indices& labels, Index classes);

/// What the floor of `repeats` cases of each of ten classes must be.
///   measured: by batch_norm_floor
Claim floor_claim(double measured, Index repeats);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
