#include "support/options.h"
#include "tapegrad/nn/optimizers/ema.h"
#include "tapegrad/nn/optimizers/gradients.h"
#include "tapegrad/nn/optimizers/lamb.h"
#include "tapegrad/nn/optimizers/muon.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/nn/optimizers/schedule.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

std::vector<Parameter> weights() { return {Parameter(ones({2}), "w")}; }

struct WithMoments final : Optimizer {
  explicit WithMoments(std::size_t count)
      : Optimizer("own", weights(), 0.1, 0, std::vector<std::string>(count, "moment")) {}
  void update(const std::vector<Slot>&) const override {}
};

}  // namespace

TEST_CASE("optimizers refuse options that make no sense", "[nn][options]") {
  const std::string rate = ": learning_rate must be finite and not negative: ",
                    decay = ": weight_decay must be finite and not negative: ",
                    epsilon = ": epsilon must be finite and not negative: ";
  check({
      {[] { Sgd(weights(), {.learning_rate = 0, .momentum = 0, .weight_decay = 0}); }, ""},
      {[] { Sgd(weights(), {.learning_rate = -1}); }, "sgd" + rate + "-1"},
      {[] { Sgd(weights(), {.learning_rate = no_number}); }, "sgd" + rate + "nan"},
      {[] { Sgd(weights(), {.learning_rate = infinity}); }, "sgd" + rate + "inf"},
      {[] { Sgd(weights(), {.momentum = -0.5}); }, "sgd: momentum must lie in [0, 1): -0.5"},
      {[] { Sgd(weights(), {.momentum = 1}); }, "sgd: momentum must lie in [0, 1): 1"},
      {[] { Sgd(weights(), {.momentum = no_number}); }, "sgd: momentum must lie in [0, 1): nan"},
      {[] { Sgd(weights(), {.weight_decay = -1}); }, "sgd" + decay + "-1"},
      {[] { Sgd(weights()).set_learning_rate(0); }, ""},
      {[] { WithMoments(2); }, ""},
      {[] { WithMoments(3); }, "own: it has 3 moments; a step has room for 2"},
      {[] { Sgd(weights()).set_learning_rate(-0.5); }, "sgd" + rate + "-0.5"},
      {[] { Adam(weights(), {.learning_rate = 0, .beta1 = 0, .beta2 = 0, .epsilon = 0}); }, ""},
      {[] { Adam(weights(), {.learning_rate = no_number}); }, "adam" + rate + "nan"},
      {[] { Adam(weights(), {.beta1 = 1}); }, "adam: beta1 must lie in [0, 1): 1"},
      {[] { Adam(weights(), {.beta2 = -0.1}); }, "adam: beta2 must lie in [0, 1): -0.1"},
      {[] { Adam(weights(), {.beta2 = 1}); }, "adam: beta2 must lie in [0, 1): 1"},
      {[] { Adam(weights(), {.epsilon = -1}); }, "adam" + epsilon + "-1"},
      {[] { Adam(weights(), {.weight_decay = no_number}); }, "adam" + decay + "nan"},
      {[] { Adam(weights()).set_learning_rate(no_number); }, "adam" + rate + "nan"},
      {[] { AdamW(weights(), {.learning_rate = 0, .weight_decay = 0}); }, ""},
      {[] { AdamW(weights(), {.learning_rate = -1}); }, "adamw" + rate + "-1"},
      {[] { AdamW(weights(), {.beta1 = no_number}); }, "adamw: beta1 must lie in [0, 1): nan"},
      {[] { AdamW(weights(), {.weight_decay = -1}); }, "adamw" + decay + "-1"},
      {[] { RmsProp(weights(), {.learning_rate = 0, .alpha = 0, .epsilon = 0, .momentum = 0}); },
       ""},
      {[] { RmsProp(weights(), {.learning_rate = -1}); }, "rms_prop" + rate + "-1"},
      {[] { RmsProp(weights(), {.alpha = 1}); }, "rms_prop: alpha must lie in [0, 1): 1"},
      {[] { RmsProp(weights(), {.epsilon = no_number}); }, "rms_prop" + epsilon + "nan"},
      {[] { RmsProp(weights(), {.momentum = 2}); }, "rms_prop: momentum must lie in [0, 1): 2"},
      {[] { RmsProp(weights(), {.weight_decay = infinity}); }, "rms_prop" + decay + "inf"},
      {[] { Adagrad(weights(), {.learning_rate = 0, .learning_rate_decay = 0, .epsilon = 0}); },
       ""},
      {[] { Adagrad(weights(), {.learning_rate = infinity}); }, "adagrad" + rate + "inf"},
      {[] { Adagrad(weights(), {.learning_rate_decay = -1}); },
       "adagrad: learning_rate_decay must be finite and not negative: -1"},
      {[] { Adagrad(weights(), {.epsilon = -1}); }, "adagrad" + epsilon + "-1"},
      {[] { Adagrad(weights(), {.weight_decay = -1}); }, "adagrad" + decay + "-1"},
      {[] { Adadelta(weights(), {.learning_rate = 0, .rho = 0, .epsilon = 0}); }, ""},
      {[] { Adadelta(weights(), {.learning_rate = -1}); }, "adadelta" + rate + "-1"},
      {[] { Adadelta(weights(), {.rho = 1}); }, "adadelta: rho must lie in [0, 1): 1"},
      {[] { Adadelta(weights(), {.epsilon = -1}); }, "adadelta" + epsilon + "-1"},
      {[] { Adadelta(weights(), {.weight_decay = -1}); }, "adadelta" + decay + "-1"},
      {[] { Lion(weights(), {.learning_rate = 0, .beta1 = 0, .beta2 = 0}); }, ""},
      {[] { Lion(weights(), {.learning_rate = no_number}); }, "lion" + rate + "nan"},
      {[] { Lion(weights(), {.beta1 = 1}); }, "lion: beta1 must lie in [0, 1): 1"},
      {[] { Lion(weights(), {.beta2 = -1}); }, "lion: beta2 must lie in [0, 1): -1"},
      {[] { Lion(weights(), {.weight_decay = -1}); }, "lion" + decay + "-1"},
      {[] { Lamb(weights(), {.learning_rate = 0, .beta1 = 0, .beta2 = 0, .epsilon = 0}); }, ""},
      {[] { Lamb(weights(), {.learning_rate = -1}); }, "lamb" + rate + "-1"},
      {[] { Lamb(weights(), {.beta1 = 1}); }, "lamb: beta1 must lie in [0, 1): 1"},
      {[] { Lamb(weights(), {.beta2 = 1}); }, "lamb: beta2 must lie in [0, 1): 1"},
      {[] { Lamb(weights(), {.epsilon = -1}); }, "lamb" + epsilon + "-1"},
      {[] { Lamb(weights(), {.weight_decay = -1}); }, "lamb" + decay + "-1"},
      {[] { Muon(weights(), {.learning_rate = 0, .momentum = 0, .vector_factor = 0}); }, ""},
      {[] { Muon(weights(), {.learning_rate = -1}); }, "muon" + rate + "-1"},
      {[] { Muon(weights(), {.momentum = 1}); }, "muon: momentum must lie in [0, 1): 1"},
      {[] { Muon(weights(), {.weight_decay = -1}); }, "muon" + decay + "-1"},
      {[] { Muon(weights(), {.vector_factor = -1}); },
       "muon: learning_rate_factor must be finite and not negative: -1"},
      {[] { Muon(weights(), {.beta2 = 1}); }, "muon: beta2 must lie in [0, 1): 1"},
      {[] { Ema(weights(), 0); }, ""},
      {[] { Ema(weights(), 1); }, "ema: decay must lie in [0, 1): 1"},
      {[] { Ema(weights(), no_number); }, "ema: decay must lie in [0, 1): nan"},
      {[] {
         const Parameter w(ones({2}), "w");
         Ema({w, w});
       },
       "ema: a parameter is listed twice: w (2)"},
      {[] { Ema({Parameter()}); }, "ema: a parameter holds no tensor: "},
  });
}

TEST_CASE("optimizers refuse parameters and gradients that do not belong", "[nn][options]") {
  const Parameter w(ones({2}), "w");
  check({
      {[=] {
         Sgd({w, w});
       },
       "sgd: a parameter is listed twice: w (2)"},
      {[=] {
         Adam({w, Parameter()});
       },
       "adam: a parameter holds no tensor: "},
      {[=] { Sgd({w}).step({ones({2})}); }, ""},
      {[=] { Sgd({w}).step({}); }, "sgd: 0 gradients for 1 parameters"},
      {[=] {
         Sgd({w}).step({ones({2}), ones({2})});
       },
       "sgd: 2 gradients for 1 parameters"},
      {[=] { AdamW({w}).step({Tensor()}); },
       "adamw: all gradients are undefined: there is no parameter to change"},
      {[=] { AdamW({w}).step({ones({1})}); },
       "adamw: gradient 0 has another shape: (1) for parameter w of shape (2)"},
      {[=] { Sgd({w}).restore(-1, Sgd({w}).moments()); }, "sgd: steps must not be negative: -1"},
      {[=] { Sgd({w}).restore(2, Sgd({w}).moments(), {3}); },
       "sgd: of 2 steps, others were skipped than 1 parameters can have skipped"},
  });
}

TEST_CASE("schedules refuse rates and steps that make no sense", "[nn][options]") {
  const std::string finite = " must be finite and not negative: ";
  check({
      {[] { constant(0)(0); }, ""},
      {[] { constant(no_number); }, "constant: learning_rate must be finite and not negative: nan"},
      {[] { constant(1)(-1); }, "constant: step must not be negative: -1"},
      {[] { warmup_inverse_sqrt(0, 1)(0); }, ""},
      {[=] { warmup_inverse_sqrt(-1, 1); }, "warmup_inverse_sqrt: learning_rate" + finite + "-1"},
      {[] { warmup_inverse_sqrt(1, 0); }, "warmup_inverse_sqrt: warmup must be at least 1: 0"},
      {[=] { warmup_inverse_sqrt(1, 1, no_number); },
       "warmup_inverse_sqrt: initial" + finite + "nan"},
      {[] { warmup_inverse_sqrt(1, 1)(-2); }, "warmup_inverse_sqrt: step must not be negative: -2"},
      {[] { cosine(0, 1, 0, 0)(0); }, ""},
      {[=] { cosine(infinity, 1); }, "cosine: learning_rate" + finite + "inf"},
      {[=] { cosine(1, 1, -1); }, "cosine: final" + finite + "-1"},
      {[] { cosine(1, 0); }, "cosine: warmup must be at least 0 and less than all steps: 0 of 0"},
      {[] { cosine(1, 5, 0, -1); },
       "cosine: warmup must be at least 0 and less than all steps: -1 of 5"},
      {[] { cosine(1, 5)(-1); }, "cosine: step must not be negative: -1"},
      {[] { step_decay(0, 1, 0)(0); }, ""},
      {[=] { step_decay(-1, 1); }, "step_decay: learning_rate" + finite + "-1"},
      {[] { step_decay(1, -1); }, "step_decay: every must be at least 1: -1"},
      {[=] { step_decay(1, 1, no_number); }, "step_decay: factor" + finite + "nan"},
      {[] { step_decay(1, 1)(-1); }, "step_decay: step must not be negative: -1"},
      {[] { exponential(0, 0)(0); }, ""},
      {[=] { exponential(no_number, 1); }, "exponential: learning_rate" + finite + "nan"},
      {[=] { exponential(1, -1); }, "exponential: factor" + finite + "-1"},
      {[] { exponential(1, 1)(-1); }, "exponential: step must not be negative: -1"},
      {[] { one_cycle(0, 1, {.rising = 0})(0); }, ""},
      {[=] { one_cycle(-1, 1); }, "one_cycle: learning_rate" + finite + "-1"},
      {[] { one_cycle(1, 0); }, "one_cycle: total must be at least 1: 0"},
      {[] { one_cycle(1, 1, {.rising = 1}); }, "one_cycle: rising must lie in [0, 1): 1"},
      {[] { one_cycle(1, 1, {.start_divisor = 0}); },
       "one_cycle: divisors must be positive: 0 and 10000"},
      {[] { one_cycle(1, 1)(-1); }, "one_cycle: step must not be negative: -1"},
      {[] { sequential({constant(1)}, {})(0); }, ""},
      {[] { sequential({constant(1)}, {1}); }, "sequential: 1 schedules need one start less: 1"},
      {[] {
         sequential({constant(1), Schedule()}, {1});
       },
       "sequential: a schedule is empty"},
      {[] {
         sequential({constant(1), constant(2)}, {0});
       },
       "sequential: starts must increase from 1 on: 0"},
      {[] {
         sequential({constant(1), constant(2), constant(3)}, {4, 4});
       },
       "sequential: starts must increase from 1 on: 4"},
      {[] { sequential({constant(1)}, {})(-1); }, "sequential: step must not be negative: -1"},
      {[] { Plateau(0, {.patience = 0, .threshold = 0, .cooldown = 0, .least = 0}); }, ""},
      {[=] { Plateau{no_number}; }, "plateau: learning_rate" + finite + "nan"},
      {[] { Plateau(1, {.factor = 1}); }, "plateau: factor must lie in (0, 1): 1"},
      {[] { Plateau(1, {.patience = -1}); }, "plateau: patience must not be negative: -1"},
      {[] { Plateau(1, {.threshold = -1}); }, "plateau: threshold must lie in [0, 1): -1"},
      {[] { Plateau(1, {.threshold = 1}); }, "plateau: threshold must lie in [0, 1): 1"},
      {[] { Plateau(1, {.cooldown = -1}); }, "plateau: cooldown must not be negative: -1"},
      {[=] { Plateau(1, {.least = no_number}); }, "plateau: least" + finite + "nan"},
  });
}

TEST_CASE("clipping refuses limits and gradients that make no sense", "[nn][options]") {
  const auto with = [](auto clip, double limit) {
    return [=] {
      std::vector<Tensor> gradients{ones({2})};
      clip(gradients, limit);
    };
  };
  check({
      {with(clip_by_global_norm, infinity), ""},
      {with(clip_by_global_norm, -1), "clip_by_global_norm: the limit must be positive: -1"},
      {with(clip_by_global_norm, no_number),
       "clip_by_global_norm: the limit must be positive: nan"},
      {with(clip_by_norm, 0), "clip_by_norm: the limit must be positive: 0"},
      {with(clip_by_norm, no_number), "clip_by_norm: the limit must be positive: nan"},
      {with(clip_by_value, infinity), ""},
      {with(clip_by_value, no_number), "clip_by_value: the limit must be positive: nan"},
      {[] {
         std::vector<Tensor> total{ones({2})};
         accumulate(total, {ones({1})});
       },
       "accumulate: shapes of gradient 0 differ: (1) and (2)"},
  });
}
