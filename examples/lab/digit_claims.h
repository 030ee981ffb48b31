#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/claim.h"
#include "tapegrad/core/indices.h"

/// What Ba et al. 2016 and Xu et al. 2019 say about convolutional networks that read digits, and
/// the floor under losses of normalized logits.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

extern const Metric test_accuracy;     ///< of the cnn, in percent
extern const Metric first_epoch_loss;  ///< of the cnn, while training

/// The results of a system. Throws DataError if it is not among them.
const Results& of_system(const std::vector<Results>& results, std::string_view system);

/// Points of accuracy within which systems are called level. It was fixed before any training.
inline constexpr double level_margin = 2;

/// Xu et al. 2019, the MNIST column of tables 1 to 4: all systems are level with layer_simple.
std::vector<PublishedClaim> system_claims(const std::vector<Results>& results);

/// Ba et al. 2016, section 6.7: none learns slower than layer, and layer slower than batch.
std::vector<PublishedClaim> first_epoch_claims(const std::vector<Results>& results);

/// The loss of one-hot logits, which are right, after batch normalization with gain 1 and bias 0.
/// If all classes are equally frequent, no logits have a lower one.
///   labels: (N), in [0, classes)
double batch_norm_floor(const Indices& labels, Index classes);

/// What the floor of `repeats` cases of each of ten classes must be.
///   measured: by batch_norm_floor
Claim floor_claim(double measured, Index repeats);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
