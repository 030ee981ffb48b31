// What the steps must be: the formulas for one number, in plain double code, and constants by hand.
#include "grader/grader.h"

using grader::announce;
using grader::expect_equal;
using grader::text;

namespace {

using Numbers = std::vector<double>;

// Where one number is after each step, from `at`.
Numbers sgd_by_hand(double at, const Numbers& gradients, double rate, double momentum) {
  Numbers path;
  double v = 0;
  for (const double g : gradients) {
    v = momentum * v + g;
    at -= rate * v;
    path.push_back(at);
  }
  return path;
}

struct Settings {
  double rate = 0.1, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

Numbers adam_by_hand(double at, const Numbers& gradients, const Settings& s) {
  Numbers path;
  double m = 0, v = 0, left1 = 1, left2 = 1;
  for (const double g : gradients) {
    m = s.beta1 * m + (1 - s.beta1) * g;
    v = s.beta2 * v + (1 - s.beta2) * g * g;
    left1 *= s.beta1;
    left2 *= s.beta2;
    at -= s.rate * (m / (1 - left1)) / (std::sqrt(v / (1 - left2)) + s.epsilon);
    path.push_back(at);
  }
  return path;
}

// The path of the student's optimizer, with the number as a scalar.
template <class Optimizer>
Numbers path_of(Optimizer optimizer, double at, const Numbers& gradients) {
  std::vector<Tensor> w{{{}, {at}}};
  Numbers path;
  for (const double g : gradients) {
    optimizer.step(w, {{{}, {g}}});
    path.push_back(w.at(0).values.at(0));
  }
  return path;
}

template <class Optimizer>
void expect_path(const std::string& settings, const Optimizer& optimizer, double at,
                 const Numbers& gradients, const Numbers& right, double tolerance = 1e-9) {
  const std::string what =
      settings + ", gradients " + text(gradients) + ": from " + text(at) + ", the path";
  announce(what);
  expect_equal(what, path_of(optimizer, at, gradients), right, tolerance);
}

void check_sgd(double at, const Numbers& gradients, double rate, double momentum) {
  expect_path("rate " + text(rate) + ", momentum " + text(momentum), Sgd(rate, momentum), at,
              gradients, sgd_by_hand(at, gradients, rate, momentum));
}

void check_adam(double at, const Numbers& gradients, const Settings& s) {
  expect_path("rate " + text(s.rate) + ", beta1 " + text(s.beta1) + ", beta2 " + text(s.beta2) +
                  ", epsilon " + text(s.epsilon),
              Adam(s.rate, s.beta1, s.beta2, s.epsilon), at, gradients,
              adam_by_hand(at, gradients, s), 1e-6);
}

// Several parameters, each with a gradient at every step: each element must go its own way.
struct Case {
  std::vector<Tensor> parameters;
  std::vector<std::vector<Tensor>> gradients;  // of each step
};

std::string shapes_of(const std::vector<Tensor>& tensors) {
  std::string all;
  for (const Tensor& each : tensors) all += " " + text(each.shape);
  return all;
}

template <class Optimizer, class ByHand>
void check_elements(const std::string& name, Optimizer optimizer, const Case& given,
                    const ByHand& by_hand) {
  std::vector<Tensor> w = given.parameters;
  const std::string steps = std::to_string(given.gradients.size());
  announce(name + ", parameters of the shapes" + shapes_of(w) + ": " + steps + " step(s)");
  for (const std::vector<Tensor>& each : given.gradients) optimizer.step(w, each);
  grader::expect(w.size() == given.parameters.size(), name + ": the number of parameters changes");
  for (std::size_t k = 0; k < w.size(); ++k) {
    const Tensor& before = given.parameters[k];
    const std::string which = name + ", parameter " + std::to_string(k) + " of shape " +
                              text(before.shape) + ": after " + steps + " step(s), ";
    expect_equal(which + "its shape", w[k].shape, before.shape);
    Numbers right;
    for (std::size_t i = 0; i < before.values.size(); ++i) {
      Numbers of_element;
      for (const std::vector<Tensor>& each : given.gradients)
        of_element.push_back(each[k].values[i]);
      right.push_back(by_hand(before.values[i], of_element).back());
    }
    expect_equal(which + "its values", w[k].values, right);
  }
}

Tensor counting(const Shape& shape, double first, double step) {
  Tensor x = filled(shape, 0);
  for (double& each : x.values) {
    each = first;
    first += step;
  }
  return x;
}

Case of_shapes(const std::vector<Shape>& shapes, int steps) {
  Case all;
  for (const Shape& shape : shapes) all.parameters.push_back(counting(shape, 1, 0.5));
  for (int t = 0; t < steps; ++t) {
    std::vector<Tensor> gradients;
    for (const Shape& shape : shapes)
      gradients.push_back(counting(shape, 1 + static_cast<double>(gradients.size()) - t, -0.75));
    all.gradients.push_back(gradients);
  }
  return all;
}

const std::vector<Shape> every_shape{{}, {1}, {3}, {2, 3}, {1, 1}, {2, 1, 3}};

// A gradient that does not fit: nothing may move, and the step must not count.
template <class Optimizer>
void check_refusals(const std::string& name, const Optimizer& fresh) {
  const std::vector<Tensor> at{counting({2}, 1, 1), counting({3}, 5, 1)};
  const std::vector<Tensor> fits{counting({2}, 1, 1), counting({3}, 1, -1)};
  std::vector<Tensor> right = at;
  announce(name + ", parameters of shapes (2), (3): two steps");
  Optimizer undisturbed = fresh;
  undisturbed.step(right, fits);
  undisturbed.step(right, {fits[0], counting({3}, 4, 2)});
  const std::vector<std::pair<std::string, std::vector<Tensor>>> wrong{
      {"no gradients", {}},
      {"gradients of shapes (2), (4)", {fits[0], counting({4}, 1, 1)}},
      {"gradients of shapes (2), (3), (2)", {fits[0], fits[1], fits[0]}},
      {"gradients of shapes (2), (1, 3)", {fits[0], counting({1, 3}, 1, 1)}},
      {"gradients of shapes (2), (1)", {fits[0], counting({1}, 1, 1)}}};
  for (const auto& each : wrong) {
    const std::string& what = each.first;
    const std::vector<Tensor>& gradients = each.second;
    std::vector<Tensor> w = at;
    Optimizer optimizer = fresh;
    const auto refuse = [&] {
      grader::expect_refused<std::invalid_argument>(
          name + ", parameters of shapes (2), (3): " + what, [&] { optimizer.step(w, gradients); });
    };
    refuse();
    expect_equal(name + ": after " + what + ", which it refuses, the first parameter", w[0].values,
                 at[0].values);
    announce(name + ", parameters of shapes (2), (3): a step after " + what);
    optimizer.step(w, fits);
    refuse();
    announce(name + ", parameters of shapes (2), (3): two steps, and one with " + what);
    optimizer.step(w, {fits[0], counting({3}, 4, 2)});
    for (std::size_t k = 0; k < w.size(); ++k)
      expect_equal(name + ": two steps, and before each of them one with " + what +
                       ", which it refuses: parameter " + std::to_string(k),
                   w[k].values, right[k].values);
  }
}

const std::vector<grader::Point> points{
    {"gradient descent by hand",
     [] {
       expect_path("rate 0.1", Sgd(0.1), 1, {2}, {0.8});
       expect_path("rate 0.5", Sgd(0.5), 1, {-3}, {2.5});
     }},
    {"without momentum each step forgets the last",
     [] {
       expect_path("rate 0.1", Sgd(0.1), 0, {1, 0, -2}, {-0.1, -0.1, 0.1});
       check_sgd(3, {1e-6, 1e6, -1, 0, 2}, 0.25, 0);
     }},
    {"SGD moves every element of every parameter",
     [] {
       const auto by_hand = [](double at, const Numbers& gradients) {
         return sgd_by_hand(at, gradients, 0.1, 0);
       };
       for (const Shape& shape : every_shape)
         check_elements("rate 0.1", Sgd(0.1), of_shapes({shape}, 1), by_hand);
       check_elements("rate 0.1", Sgd(0.1), of_shapes(every_shape, 1), by_hand);
     }},
    {"momentum by hand",
     [] {
       expect_path("rate 0.1, momentum 0.5", Sgd(0.1, 0.5), 0, {1, 1, 1}, {-0.1, -0.25, -0.425});
       expect_path("rate 0.1, momentum 0.5", Sgd(0.1, 0.5), 0, {1, 0, 0}, {-0.1, -0.15, -0.175});
       check_sgd(1, {2, -1, 3, 0.5, 0, -4}, 0.01, 0.9);
     }},
    {"every element has its own velocity",
     [] {
       const auto by_hand = [](double at, const Numbers& gradients) {
         return sgd_by_hand(at, gradients, 0.1, 0.9);
       };
       check_elements("rate 0.1, momentum 0.9", Sgd(0.1, 0.9), of_shapes({{2}}, 3), by_hand);
       check_elements("rate 0.1, momentum 0.9", Sgd(0.1, 0.9), of_shapes({{2}, {2}}, 3), by_hand);
       check_elements("rate 0.1, momentum 0.9", Sgd(0.1, 0.9), of_shapes(every_shape, 4), by_hand);
     }},
    {"Adam's first step is as long as the rate",
     [] {
       for (const double g : {1.0, -1.0, 0.5, 0.01, -1e6, 1e100})
         expect_path("rate 0.1", Adam(0.1), 0, {g}, {g > 0 ? -0.1 : 0.1}, 1e-6);
     }},
    {"Adam by hand",
     [] {
       expect_path("rate 0.1", Adam(0.1), 0, {1, -1}, {-0.1, -0.1 + 0.1 / 19}, 1e-6);
       check_adam(0, {1, 2}, {});
       check_adam(-1, {1, 2, -3, 0.5, 10, 0.1}, {});
     }},
    {"each beta belongs to its own average",
     [] {
       check_adam(0, {1, 3}, {.beta1 = 0, .beta2 = 0.5});
       check_adam(0, {1, 3}, {.beta1 = 0.5, .beta2 = 0});
       check_adam(2, {1, -2, 4, 3}, {.rate = 0.01, .beta1 = 0.5, .beta2 = 0.9});
     }},
    {"epsilon is added to the corrected root",
     [] {
       check_adam(0, {0.5}, {.epsilon = 0.5});
       check_adam(0, {1e-8}, {});
       check_adam(0, {2, -1, 3}, {.epsilon = 0.25});
     }},
    {"a gradient of 0",
     [] {
       check_adam(1, {0}, {});
       check_adam(1, {0, 0, 1}, {});
       check_adam(1, {1, 0, 0}, {});
     }},
    {"a constant gradient gives constant steps",
     [] {
       for (const int steps : {10, 100, 10000}) {
         const std::string what = "rate 0.001, from 0, " + std::to_string(steps) +
                                  " steps with the gradient 0.25: the end";
         announce(what);
         expect_equal(
             what, path_of(Adam(0.001), 0, Numbers(static_cast<std::size_t>(steps), 0.25)).back(),
             -0.001 * steps, 1e-6);
       }
     }},
    {"every element has its own averages",
     [] {
       const auto by_hand = [](double at, const Numbers& gradients) {
         return adam_by_hand(at, gradients, {.rate = 0.01});
       };
       check_elements("rate 0.01", Adam(0.01), of_shapes({{2}}, 3), by_hand);
       check_elements("rate 0.01", Adam(0.01), of_shapes({{2, 3}}, 4), by_hand);
     }},
    {"one time for all parameters",
     [] {
       const auto by_hand = [](double at, const Numbers& gradients) {
         return adam_by_hand(at, gradients, {.rate = 0.01});
       };
       check_elements("rate 0.01", Adam(0.01), of_shapes({{2}, {2}}, 1), by_hand);
       check_elements("rate 0.01", Adam(0.01), of_shapes(every_shape, 4), by_hand);
     }},
    {"two optimizers know nothing of each other",
     [] {
       for (int i = 1; i <= 2; ++i) {
         const std::string which = i == 1 ? "the first" : "the second";
         expect_path(which + " with rate 0.1, momentum 0.5", Sgd(0.1, 0.5), 0, {1, 1},
                     {-0.1, -0.25});
         expect_path(which + " Adam with rate 0.1", Adam(0.1), 0, {1, -1}, {-0.1, -0.1 + 0.1 / 19},
                     1e-6);
       }
     }},
    {"a parameter may be moved between steps",
     [] {
       std::vector<Tensor> w{{{}, {0}}};
       Sgd sgd(0.1);
       Adam adam(0.1);
       announce("gradient 1, rate 0.1: a step, and another from 5");
       sgd.step(w, {{{}, {1}}});
       w[0].values[0] = 5;
       sgd.step(w, {{{}, {1}}});
       expect_equal("SGD, rate 0.1, gradient 1: a step from 5, where it was put", w[0].values[0],
                    4.9);
       w[0].values[0] = 0;
       adam.step(w, {{{}, {1}}});
       w[0].values[0] = 5;
       adam.step(w, {{{}, {1}}});
       expect_equal("Adam, rate 0.1, gradient 1: a step from 5, where it was put", w[0].values[0],
                    4.9, 1e-6);
     }},
    {"gradients that do not fit are refused",
     [] {
       check_refusals("SGD", Sgd(0.1, 0.5));
       check_refusals("Adam", Adam(0.1));
     }},
};

}  // namespace
