#include "tapegrad/inspect/explain.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "ops/table.h"
#include "tapegrad/inspect/internal/explained.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

// Where each net goes wrong.
const Place culprit{"fault.cpp", 7};

struct Inputs {
  Tensor x, y;  // leaves, normal, (3, 4)
};

struct Fault {
  const char* name;
  Tensor (*net)(const Inputs& in);
  const char *verdict, *reason;
};

constexpr const char *nothing_arrives = "No gradient reaches", *is_zero = "is zero.",
                     *is_bad = "is not finite.", *shrinks = "It shrinks most at",
                     *grows = "It grows most at";

const Fault faults[] = {
    // ---- No gradient ----
    {"a detached factor", [](const Inputs& in) { return mul(detach(in.x), in.y, culprit); },
     nothing_arrives, "uses the value of %0 x, but detached"},
    {"a detached intermediate value",
     [](const Inputs& in) { return add(in.y, detach(exp(in.x)), culprit); }, nothing_arrives,
     "%2 exp, but detached"},
    {"a detached mean", [](const Inputs& in) { return sub(in.y, detach(mean(in.x)), culprit); },
     nothing_arrives, "but detached"},
    {"detached twice", [](const Inputs& in) { return mul(detach(detach(in.x)), in.y, culprit); },
     nothing_arrives, "%0 x, but detached"},
    {"a number taken out",
     [](const Inputs& in) { return in.y * sum(in.x, {}, Keep::no, culprit).item(); },
     nothing_arrives, "the last operation that depends on it is"},
    {"values copied into a new tensor",
     [](const Inputs& in) {
       const Tensor u = square(in.x, culprit);
       return in.y * Tensor(u.shape(), u.values());
     },
     nothing_arrives, "whose result no recorded operation uses"},
    {"NoGrad for too long",
     [](const Inputs& in) {
       const Tensor u = square(in.x, culprit);
       const NoGrad pause;
       const Tensor v = exp(u);
       const EnableGrad again;
       return in.y * v;
     },
     nothing_arrives, "under NoGrad"},
    {"only compared", [](const Inputs& in) { return in.y * greater(tanh(in.x, culprit), 0.0); },
     nothing_arrives, "without a derivative"},
    {"computed and forgotten",
     [](const Inputs& in) {
       exp(in.x, culprit);
       return square(in.y);
     },
     nothing_arrives, "the last operation that depends on it is"},
    {"the wrong variable",
     [](const Inputs& in) {
       const Tensor hidden = tanh(in.x, culprit);
       return relu(in.y);
     },
     nothing_arrives, "the last operation that depends on it is"},
    {"a function of a detached value",
     [](const Inputs& in) { return in.y * exp(detach(tanh(in.x, culprit))); }, nothing_arrives,
     "of detached values"},
    {"detached twice on its way",
     [](const Inputs& in) { return in.y * detach(mul(in.y, detach(in.x), culprit)); },
     nothing_arrives, "uses the value of %0 x, but detached"},
    // ---- Zero ----
    {"a NaN that ends at a dead ReLU",
     [](const Inputs& in) { return sqrt(relu(in.x - 10.0, culprit) - 1.0); }, is_zero,
     "What arrives there is not finite"},
    {"rounded", [](const Inputs& in) { return round(exp(in.x), culprit); }, is_zero, "it is flat"},
    {"only the sign", [](const Inputs& in) { return sign(sin(in.x), culprit); }, is_zero,
     "it is flat"},
    {"a dead ReLU", [](const Inputs& in) { return relu(in.x - 10.0, culprit); }, is_zero,
     "0 of 12 inputs are positive"},
    {"a dead ReLU below", [](const Inputs& in) { return tanh(relu(in.x - 10.0, culprit) * 2.0); },
     is_zero, "0 of 12 inputs are positive"},
    {"a dead ReLU under a norm",
     [](const Inputs& in) { return layer_norm(relu(in.x - 10.0, culprit)); }, is_zero,
     "0 of 12 inputs are positive"},
    {"clamped away", [](const Inputs& in) { return clamp(in.x + 50.0, -1, 1, culprit); }, is_zero,
     "its input: 4"},
    {"a saturated sigmoid", [](const Inputs& in) { return sigmoid(in.x + 900.0, culprit); },
     is_zero, "saturated; its output: 1 to 1"},
    {"a saturated tanh", [](const Inputs& in) { return tanh(1e4 * in.x, culprit); }, is_zero,
     "saturated"},
    {"a saturated softmax", [](const Inputs& in) { return softmax(1e6 * in.x, -1, culprit); },
     is_zero, "saturated"},
    {"an underflow of exp", [](const Inputs& in) { return exp(in.x - 900.0, culprit); }, is_zero,
     "its slope is its output: 0 to 0"},
    {"a mask that keeps nothing",
     [](const Inputs& in) {
       return where(zeros({3, 4}), in.x, in.y, culprit);
     },
     is_zero, "what it chooses"},
    {"always the larger one", [](const Inputs& in) { return maximum(in.x, in.y + 90.0, culprit); },
     is_zero, "what it chooses"},
    {"always the smaller one", [](const Inputs& in) { return minimum(in.x, in.y - 90.0, culprit); },
     is_zero, "what it chooses"},
    {"a factor of zero", [](const Inputs& in) { return mul(in.x, in.y * 0.0, culprit); }, is_zero,
     "other operand"},
    {"a matrix of zeros",
     [](const Inputs& in) {
       return matmul(in.x, watch(zeros({4, 2})), {}, culprit);
     },
     is_zero, "other operand: 0 to 0"},
    {"the power 0", [](const Inputs& in) { return pow(in.x, 0.0, culprit); }, is_zero, "operands"},
    {"a square at 0", [](const Inputs& in) { return square(mul(in.x, 0.0, culprit)); }, is_zero,
     "Its input is zero since"},
    {"a leaky ReLU without a leak",
     [](const Inputs& in) { return leaky_relu(in.x - 10.0, 0, culprit); }, is_zero,
     "0 of 12 inputs are positive"},
    {"a class alone",
     [](const Inputs& in) { return log_softmax(slice(in.x, 1, 0, 1), -1, culprit); }, is_zero,
     "saturated"},
    {"ways that cancel",
     [](const Inputs& in) {
       const Tensor u = exp(in.x, culprit);
       return u - u;
     },
     is_zero, "cancel"},
    {"an ELU without a tail", [](const Inputs& in) { return elu(in.x - 10.0, 0, culprit); },
     is_zero, "0 of 12 inputs are positive"},
    // ---- Not finite ----
    {"a logarithm of a negative number",
     [](const Inputs& in) { return sqrt(log(in.x - 9.0, culprit)); }, is_bad, "its input: -1"},
    {"a logarithm of 0", [](const Inputs& in) { return log(square(in.x) * 0.0, culprit); }, is_bad,
     "its input: 0 to 0"},
    {"a root at 0", [](const Inputs& in) { return sqrt(square(in.x) * 0.0, culprit); }, is_bad,
     "its input: 0 to 0"},
    {"a root of a negative number", [](const Inputs& in) { return sqrt(in.x - 9.0, culprit); },
     is_bad, "its input"},
    {"a division by 0", [](const Inputs& in) { return div(in.x, in.y * 0.0, culprit); }, is_bad,
     "operands"},
    {"a reciprocal of 0", [](const Inputs& in) { return reciprocal(square(in.x) * 0.0, culprit); },
     is_bad, "its input: 0 to 0"},
    {"a root of a square at 0",
     [](const Inputs& in) { return sqrt(square(mul(in.x, 0.0), culprit)); }, is_bad,
     "0 times infinity makes it NaN at %3 square"},
    {"a root that the result does not use",
     [](const Inputs& in) { return sqrt(square(in.x) * 0.0, culprit) * 0.0; }, is_bad,
     "0 times infinity makes it NaN at %4 sqrt"},
    {"an inverse root at 0", [](const Inputs& in) { return rsqrt(square(in.x) * 0.0, culprit); },
     is_bad, "its input: 0 to 0"},
    {"a negative power of 0",
     [](const Inputs& in) { return pow(square(in.x) * 0.0, -1.0, culprit); }, is_bad, "operands"},
    {"a broken power", [](const Inputs& in) { return pow(in.x - 9.0, 0.5, culprit); }, is_bad,
     "operands"},
    {"an overflow of exp", [](const Inputs& in) { return exp(in.x + 900.0, culprit); }, is_bad,
     "its output"},
    {"an overflow far from the result",
     [](const Inputs& in) { return log(1.0 + exp(in.x + 900.0, culprit)); }, is_bad, "its output"},
    {"a root behind a mask",
     [](const Inputs& in) { return where(greater(in.y, 99.0), sqrt(in.x - 9.0, culprit), in.y); },
     is_bad, "its input"},
    {"a softmax of nothing",
     [](const Inputs& in) {
       return softmax(sub(in.x, std::numeric_limits<double>::infinity(), culprit));
     },
     is_bad, "its inputs"},
    {"equal rows without epsilon",
     [](const Inputs& in) {
       return layer_norm(broadcast_to(mean(in.x, -1, Keep::yes), {3, 4}), {.epsilon = 0}, culprit);
     },
     is_bad, "layer_norm"},
    // ---- Much smaller or larger ----
    {"means of normalized rows",
     [](const Inputs& in) { return mean(layer_norm(in.x, {}, culprit), -1); }, shrinks,
     "100 % of |g|^2 lies along 1"},
    {"a tiny factor", [](const Inputs& in) { return mul(tanh(in.x), watch(1e-8), culprit); },
     shrinks, "other operand: 1e-08"},
    {"tiny weights",
     [](const Inputs& in) {
       return matmul(tanh(in.x), watch(1e-7 * ones({4, 2})), {}, culprit);
     },
     shrinks, "other operand: 1e-07"},
    {"nearly saturated", [](const Inputs& in) { return tanh(in.x + 6.0, culprit) * 3.0; }, shrinks,
     "saturated"},
    {"a sigmoid far out", [](const Inputs& in) { return sigmoid(in.x - 12.0, culprit) * 3.0; },
     shrinks, "saturated"},
    {"a small exponential", [](const Inputs& in) { return exp(in.x - 20.0, culprit) * 2.0; },
     shrinks, "its output"},
    {"a large divisor", [](const Inputs& in) { return div(sin(in.x), watch(1e9), culprit); },
     shrinks, "operands"},
    {"a small divisor", [](const Inputs& in) { return div(in.x, watch(1e-9), culprit); }, grows,
     "operands"},
    {"a large exponential", [](const Inputs& in) { return exp(in.x + 20.0, culprit); }, grows,
     "its output"},
    {"a high power", [](const Inputs& in) { return pow(in.x + 9.0, 8.0, culprit); }, grows,
     "operands"},
    {"a logarithm near 0",
     [](const Inputs& in) { return log(1e-6 * square(in.x) + 1e-9, culprit); }, grows, "its input"},
    {"a broadcast sum",
     [](const Inputs& in) {
       return add(in.x, zeros({50, 3, 4}), culprit);
     },
     grows, "summed over the 50 elements"},
    {"large weights",
     [](const Inputs& in) {
       return matmul(in.x, watch(1e6 * ones({4, 2})), {}, culprit);
     },
     grows, "other operand: 1e+06"},
};

// What stands below and above the way from the result.
std::string without_table(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  ")) kept += line + '\n';
  return kept;
}

std::string explained(Tensor (*net)(const Inputs& in)) {
  Random random(1);
  const Tape tape({.keep_values = true});
  const Inputs in{named(watch(random.normal({3, 4})), "x"),
                  named(watch(random.normal({3, 4})), "y")};
  const Tensor result = net(in);
  grad(sum(result * random.normal(result.shape())), std::vector{in.x, in.y});
  return explain(tape, in.x);
}

}  // namespace

TEST_CASE("of an injected fault, the verdict, the line and what it depends on", "[explain]") {
  for (const Fault& each : faults) {
    INFO(each.name);
    const std::string found = without_table(explained(each.net));
    CHECK_THAT(found, Contains(each.verdict) && Contains(each.reason) && Contains("(fault.cpp:7)"));
  }
}

TEST_CASE("explain: operations record each name that it looks for", "[explain]") {
  std::set<std::string> recorded;
  const auto collect = [&](const Tape& tape) {
    for (std::int32_t node = 0; node < tape.size(); ++node) recorded.insert(tape.node(node).name);
  };
  for (const testing::Row& row : testing::table()) {
    const Tape tape;
    const testing::Golden at = golden(row);
    vjp(row.f, at.inputs, at.seed);
    collect(tape);
  }
  {  // no row has a random one
    Random random(1);
    const Tape tape;
    dropout(watch(ones({4})), 0.5, random);
    collect(tape);
  }
  for (const std::string& name : explained_operations()) {
    INFO(name);
    CHECK(recorded.contains(name));
  }
}

TEST_CASE("a net without a fault is not accused of one", "[explain]") {
  const std::string found =
      explained([](const Inputs& in) { return tanh(layer_norm(in.x)) * in.y; });
  for (const char* verdict : {nothing_arrives, is_zero, is_bad})
    CHECK_THAT(found, !Contains(verdict));
}

TEST_CASE("the way has the operations, sizes and factors from the result on", "[explain]") {
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(Tensor({2}, {1, 2})), "x");
  grad(sum(square(3.0 * x)), x);
  CHECK_THAT(explain(tape, x),
             Contains("gradient of %0 x has the root mean square 28.5, and the result's 1.\n") &&
                 Contains("  %3 sum (explain_test.cpp:") &&
                 Contains("1 times 1          to %2 square\n") &&
                 Contains("1 times 9.49       to %1 mul\n") &&
                 Contains("9.49 times 3          to %0 x\n") &&
                 Contains("grows most at %2 square"));
}

TEST_CASE("explain: other sweeps, parameters and refusals", "[explain]") {
  const Parameter w(Tensor({2}, {1, 2}), "w"), unused(Tensor({2}, {1, 2}), "unused");
  {
    const Tape tape({.keep_values = true});
    const Tensor x = watch(Tensor({2}, {3, 4})), loss = sum(w * x);
    CHECK_THROWS_WITH(explain(tape, x), Contains("a sweep over it"));
    grad(loss, x, {.keep = true});
    CHECK_THAT(explain(tape, w), Contains("the sweep was not asked for it"));
    CHECK_THAT(explain(tape, loss), Contains("The sweep began with"));
    grad(loss, std::vector{w});
    CHECK_THAT(explain(tape, w),
               Contains("Sweep 2. The gradient of %1 w has the root mean square 3.54"));
    CHECK_THROWS_WITH(explain(tape, unused), Contains("has not used unused"));
    CHECK_THROWS_WITH(explain(tape, Tensor({1}, {1})), Contains("does not hold"));
  }
  const Tape tape;
  const Tensor x = watch(2.0);
  grad(square(x), x);
  CHECK_THROWS_WITH(explain(tape, x), Contains(".keep_values = true"));
}

TEST_CASE("explain goes on where a recorded sweep puts parts together", "[explain]") {
  const Tape tape({.keep_values = true});
  const Tensor x = named(watch(Tensor({4}, {1, 2, 3, 4})), "x");
  const Tensor dead = relu(slice(x, 0, 0, 3) - 10.0, culprit);
  grad(sum(slice(dead, 0, 1, 3)), x, {.record = true});
  CHECK_THAT(without_table(explain(tape, x)),
             Contains(is_zero) && Contains("It ends at %3 relu (fault.cpp:7)"));
}

TEST_CASE("the explanation of a leaf does not grow with the tape", "[explain]") {
  const Tape tape({.keep_values = true});
  const Tensor first = watch(1.0);
  Tensor s = first;
  for (int i = 0; i < 500; ++i) s = s * watch(1.0);
  grad(s, first);
  const std::string found = explain(tape, first);
  CHECK_THAT(found, Contains("  ... 484 operations from the result on\n"));
  CHECK(std::count(found.begin(), found.end(), '\n') < 20);
}

TEST_CASE("explain: a program's own operations may have the names of others", "[explain]") {
  const auto own = [](const char* name, const Tensor& x) {
    return record(name, detach(x), culprit, edge(x, [](const Tensor& g) { return 1e3 * g; }));
  };
  for (const char* name : {"relu", "mul", "linear", "layer_norm", "div", "slice"}) {
    const Tape tape({.keep_values = true});
    const Tensor x = watch(2.0);
    grad(own(name, x), x);
    CHECK_THAT(explain(tape, x), Contains("(fault.cpp:7)"));
  }
}

TEST_CASE("explain: seeds and leaves that are not finite, and empty tensors", "[explain]") {
  const Tape tape({.keep_values = true});
  const Tensor x = watch(Tensor({2}, {1, 2})), y = watch(Tensor({2}, {1, NAN})),
               z = watch(zeros({0, 3}));
  grad(square(x), x, {.seed = Tensor({2}, {1, NAN})});
  CHECK_THAT(explain(tape, x), Contains(is_bad) && Contains("what the sweep began with"));
  grad(sum(square(y)), y);
  CHECK_THAT(explain(tape, y), Contains(is_bad) && Contains("%1 (leaf), where the tape begins"));
  grad(sum(square(z)), z);
  CHECK_THAT(explain(tape, z), Contains("has no elements"));
}
