#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/comparison.h"
#include "experiments/rate_search.h"
#include "experiments/verdict.h"
#include "support/image_sets.h"
#include "tapegrad/nn/layers/layer.h"

/// The sixteen forms of layer normalization, and a perceptron in which each is trained.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What a form adds to the gradient g of a row: subtracts its mean, its part along z, or both.
enum class Projection { none, center, scale, both };

/// A form: a value, x or z; a factor of the gradient, 1 or 1/s; and a projection.
struct Form {
  bool normalized;  ///< the value is z
  bool divided;     ///< the factor is 1/s
  Projection projection;

  /// "x, 1, both"
  std::string name() const;
  /// For `NormSpec`; "none" for the form that changes neither value nor gradient.
  std::string norm() const;
};
/// Layer normalization, each of its passes alone, and no norm.
inline constexpr Form layer_norm_form{true, true, Projection::both},
    backward_form{false, false, Projection::both}, forward_form{true, false, Projection::none},
    no_norm_form{false, false, Projection::none};
/// All, the value x first, then by factor and projection.
const std::vector<Form>& sixteen_forms();

/// Where the forms are compared: one column of the grid.
struct FormSetting {
  std::string optimizer;  ///< adam or momentum
  std::string initial;    ///< of weights: uniform, +-1/sqrt(inputs), or he, N(0, 2/inputs)
  Index layers;           ///< hidden ones

  /// "adam_uniform_6", its name in the ledger
  std::string name() const;
};

/// The sizes of the perceptron and its training.
struct FormSizes {
  Index width = 128;
  Index batch_size = 64;
  Index steps = 300;
  std::size_t most_rates = 7;
};

/// Draws the weights of a perceptron from N(0, 2/inputs), and makes all other parameters 0 (He et
/// al. 2015, section 2.2).
void initialize_like_he(std::vector<Parameter> parameters, Random& random);

/// The perceptron of a setting, with this norm before each ReLU. The same numbers give all norms
/// the same weights.
Layer make_form_net(const std::string& norm, const FormSetting& setting, const FormSizes& sizes,
                    Random& random);

/// A form in a setting: how its learning rate was chosen, and its test errors in percent, by seed.
struct FormCell {
  RateSearch search;
  std::map<std::uint64_t, double> errors;
  double images = 0;  ///< in the test set

  Spread spread() const;
  /// Nets that err on more than half of the digits have not learned to read them.
  bool has_learned() const { return spread().mean < 50; }
};

/// Chooses a rate on the validation set with `choosing_seed`, then trains with each of the seeds.
/// The last state of each of those is tested.
Outcome train_form(const Form& form, const FormSetting& setting, const FormSizes& sizes,
                   const support::ImageSets& sets, const ComparisonFlags& seeds);
/// What `train_form` has returned, now or in a file. Throws DataError if parts are missing.
FormCell form_cell(const Outcome& outcome);

/// The cells of a setting, by the names of their forms; some may be missing.
struct FormColumn {
  FormSetting setting;
  std::map<std::string, FormCell> cells = {};
};

/// How many points of error a form is ahead of another: the mean over paired seeds, and
/// sqrt(h^2 + w^2), with h = t(0.975, n - 1) sd / sqrt(n) over n seeds and w that over the test
/// images, as if the errors of the two were independent, which makes it too large rather than too
/// small.
Advantage advantage(const FormCell& a, const FormCell& b);

/// What the two passes gain together beyond the sum of what each gains alone: layer normalization
/// - backward + none - forward, in points of error and with an interval of the same kind.
Advantage interaction(const FormCell& layer_norm, const FormCell& backward, const FormCell& forward,
                      const FormCell& none);

/// What the passes of layer normalization gain: together beyond the sum of both, each against no
/// norm, and the backward pass against the forward pass.
struct PassGains {
  Advantage interaction, backward, forward, backward_against_forward;

  /// The header of a table of them, and a row with the half-widths over seeds alone below.
  static std::vector<std::string> header(const std::string& first);
  std::vector<std::string> row(const std::string& name, int decimals) const;
};

/// What was predicted before any form was trained, judged by these columns: supported where it is
/// in all columns that it speaks of, contradicted where it is in one, left out where there is none.
std::vector<JudgedClaim> form_predictions(const std::vector<FormColumn>& columns);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
