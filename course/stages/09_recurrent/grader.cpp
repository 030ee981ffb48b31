// What the steps must be is computed in plain double code, and their derivatives by differences of
// that. Of a net, whose parameters are its own affair: what holds for every right one.
#include "grader/grader.h"

using grader::announce;
using grader::expect_equal;
using grader::text;

namespace {

using Numbers = std::vector<double>;
using OnTape = std::function<Variable(const std::vector<Variable>&)>;
using InNumbers = std::function<Numbers(const std::vector<Tensor>&)>;

Tensor row_of(const Numbers& values) { return {{1, static_cast<int>(values.size())}, values}; }

// Element i of argument k is 0.8 sin(k + 1.3 i): so a student can have the same.
const std::string how_drawn = " (element i of argument k is 0.8 sin(k + 1.3 i))";

std::vector<Tensor> drawn_arguments(const std::vector<Shape>& shapes) {
  std::vector<Tensor> all;
  for (const Shape& shape : shapes) {
    Tensor x = filled(shape, 0);
    for (std::size_t i = 0; i < x.values.size(); ++i)
      x.values[i] = 0.8 * std::sin(static_cast<double>(all.size()) + 1.3 * static_cast<double>(i));
    all.push_back(x);
  }
  return all;
}

std::vector<Variable> all_on(Tape& tape, const std::vector<Tensor>& tensors) {
  std::vector<Variable> all;
  for (const Tensor& each : tensors) all.push_back(tape.variable(each));
  return all;
}

Variable weighted_total(const Variable& y) {
  Tensor weights = value(y);
  for (std::size_t i = 0; i < weights.values.size(); ++i)
    weights.values[i] = 1 + 0.5 * static_cast<double>(i);
  return sum(sum(y * y.tape->variable(weights), 1), 0);
}

double weighted_total_of(const Numbers& y) {
  double total = 0;
  for (std::size_t i = 0; i < y.size(); ++i) total += (1 + 0.5 * static_cast<double>(i)) * y[i];
  return total;
}

void check_value(const std::string& what, const std::vector<Tensor>& at, const OnTape& f,
                 const InNumbers& right) {
  announce(what);
  Tape tape;
  const Tensor found = value(f(all_on(tape, at)));
  expect_equal(what, found.values, right(at));
}

// l = the sum over the elements of 1 + i / 2 times element i
void check_derivatives(const std::string& what, const std::vector<std::string>& names,
                       const std::vector<Tensor>& at, const OnTape& f, const InNumbers& right) {
  announce(what + ", and its derivatives");
  Tape tape;
  const std::vector<Variable> inputs = all_on(tape, at);
  const std::vector<Variable> found = gradients(weighted_total(f(inputs)), inputs);
  constexpr double step = 1e-5;
  for (std::size_t k = 0; k < at.size(); ++k) {
    Numbers differences;
    for (std::size_t i = 0; i < at[k].values.size(); ++i) {
      std::vector<Tensor> above = at, below = at;
      above[k].values[i] += step;
      below[k].values[i] -= step;
      differences.push_back((weighted_total_of(right(above)) - weighted_total_of(right(below))) /
                            (2 * step));
    }
    const Tensor gradient = value(found.at(k));
    expect_equal(what + ", with l the sum of (1 + i/2) element i: dl/d(" + names[k] + ")",
                 gradient.values, differences, 1e-7);
  }
}

// x wx + h wh + b in plain code, with the names of the header.
Numbers plain_sums(const Tensor& x, const Numbers& h, const Tensor& wx, const Tensor& wh,
                   const Tensor& b) {
  const int rows = x.shape[0], inputs = x.shape[1], hidden = wh.shape[0], width = wh.shape[1];
  Numbers sums;
  for (int n = 0; n < rows; ++n)
    for (int j = 0; j < width; ++j) {
      double all = b.values[j];
      for (int d = 0; d < inputs; ++d) all += x.values[n * inputs + d] * wx.values[d * width + j];
      for (int k = 0; k < hidden; ++k) all += h[n * hidden + k] * wh.values[k * width + j];
      sums.push_back(all);
    }
  return sums;
}

// The arguments x, h, wx, wh, b.
Numbers plain_rnn(const std::vector<Tensor>& in, int steps) {
  Numbers h = in[1].values;
  for (int t = 0; t < steps; ++t) {
    h = plain_sums(in[0], h, in[2], in[3], in[4]);
    for (double& each : h) each = std::tanh(each);
  }
  return h;
}

OnTape rnn_of(int steps) {
  return [=](const std::vector<Variable>& in) {
    Variable h = in[1];
    for (int t = 0; t < steps; ++t) h = rnn_step(in[0], h, in[2], in[3], in[4]);
    return h;
  };
}

const std::vector<std::string> rnn_names{"x", "h", "wx", "wh", "b"};

std::vector<Shape> rnn_shapes(int rows, int inputs, int hidden) {
  return {{rows, inputs}, {rows, hidden}, {inputs, hidden}, {hidden, hidden}, {1, hidden}};
}

// The arguments x, h, c, wx, wh, b.
Numbers plain_lstm(const std::vector<Tensor>& in, int steps, bool give_c) {
  const auto open = [](double v) { return 1 / (1 + std::exp(-v)); };
  Numbers h = in[1].values, c = in[2].values;
  const int hidden = in[1].shape[1];
  for (int t = 0; t < steps; ++t) {
    const Numbers sums = plain_sums(in[0], h, in[3], in[4], in[5]);
    for (int at = 0; at < static_cast<int>(h.size()); ++at) {
      const int block = at / hidden * 4 * hidden + at % hidden;
      const double i = open(sums[block]), f = open(sums[block + hidden]),
                   g = std::tanh(sums[block + 2 * hidden]), o = open(sums[block + 3 * hidden]);
      c[at] = f * c[at] + i * g;
      h[at] = o * std::tanh(c[at]);
    }
  }
  return give_c ? c : h;
}

OnTape lstm_of(int steps, bool give_c) {
  return [=](const std::vector<Variable>& in) {
    LstmState state{in[1], in[2]};
    for (int t = 0; t < steps; ++t) state = lstm_step(in[0], state, in[3], in[4], in[5]);
    return give_c ? state.c : state.h;
  };
}

const std::vector<std::string> lstm_names{"x", "h", "c", "wx", "wh", "b"};

std::vector<Shape> lstm_shapes(int rows, int inputs, int hidden) {
  return {{rows, inputs},       {rows, hidden},       {rows, hidden},
          {inputs, 4 * hidden}, {hidden, 4 * hidden}, {1, 4 * hidden}};
}

std::string of_sizes(int rows, int inputs, int hidden) {
  return "N = " + std::to_string(rows) + ", D = " + std::to_string(inputs) +
         ", H = " + std::to_string(hidden);
}

// One unit, with all that matters in x, h or the bias.
void check_gates(const std::string& what, double x, double h, double c, const Numbers& wx,
                 const Numbers& wh, const Numbers& b, double right_h, double right_c) {
  announce(what + ", c = " + text(c));
  Tape tape;
  const auto on = [&](const Numbers& values) { return tape.variable(row_of(values)); };
  const LstmState next = lstm_step(on({x}), {on({h}), on({c})}, on(wx), on(wh), on(b));
  expect_equal(what + ", c = " + text(c) + ": c'", value(next.c).values, {right_c});
  expect_equal(what + ", c = " + text(c) + ": h'", value(next.h).values, {right_h});
}

double open_gate(double x) { return 1 / (1 + std::exp(-x)); }

double loss_of(const std::string& name, const CharLstm& net, const std::vector<int>& read) {
  announce(name + ", text " + text(read) + ": the loss");
  Tape tape;
  const Tensor loss = value(net.loss(tape, all_on(tape, net.parameters), read));
  grader::expect(loss.values.size() == 1,
                 "the loss has " + std::to_string(loss.values.size()) + " elements, must have 1");
  return loss.values[0];
}

void set_all_to_zero(CharLstm& net) {
  for (Tensor& each : net.parameters) each = filled(each.shape, 0);
}

std::string of_net(int characters, int hidden, unsigned seed) {
  return "CharLstm(" + std::to_string(characters) + ", " + std::to_string(hidden) + ", " +
         std::to_string(seed) + ")";
}

CharLstm new_net(int characters, int hidden, unsigned seed) {
  announce(of_net(characters, hidden, seed));
  return CharLstm(characters, hidden, seed);
}

// Random parameters times 3: so that predictions differ much.
CharLstm decided_net(int characters, int hidden, unsigned seed) {
  CharLstm net = new_net(characters, hidden, seed);
  for (Tensor& each : net.parameters)
    for (double& w : each.values) w *= 3;
  return net;
}

// The probability that the net gives to `next` after `before`, from two losses.
double probability_of(const std::string& name, const CharLstm& net, const std::vector<int>& before,
                      int next) {
  std::vector<int> longer = before;
  longer.push_back(next);
  const double all = loss_of(name, net, longer) * static_cast<double>(before.size());
  const double known =
      before.size() < 2 ? 0 : loss_of(name, net, before) * static_cast<double>(before.size() - 1);
  return std::exp(known - all);
}

const Numbers far_and_near{0, 1, -1, 0.25, -3, 30, -30, 1000, -1000, 1e300, -1e300};

const std::vector<grader::Point> points{
    {"sigmoid",
     [] {
       for (const double at : far_and_near) {
         announce("sigmoid(" + text(at) + ")");
         Tape tape;
         const Variable x = tape.variable({{}, {at}});
         expect_equal("sigmoid(" + text(at) + ")", value(sigmoid(x)).values, {open_gate(at)});
       }
       announce("sigmoid of {0, 1, 2, 3}");
       Tape tape;
       const Tensor y = value(sigmoid(tape.variable({{2, 1, 2}, {0, 1, 2, 3}})));
       expect_equal("the shape of sigmoid of (2, 1, 2)", y.shape, {2, 1, 2});
       expect_equal("sigmoid of {0, 1, 2, 3}", y.values,
                    {0.5, open_gate(1), open_gate(2), open_gate(3)});
     }},
    {"the derivatives of sigmoid",
     [] {
       for (const double at : far_and_near) {
         announce("x = " + text(at) + ": the derivatives of sigmoid(x)");
         Tape tape;
         const Variable x = tape.variable({{1, 1}, {at}});
         const Variable slope = gradients(sigmoid(x), {x}).at(0);
         const double s = open_gate(at), right = s * (1 - s);
         expect_equal("x = " + text(at) + ": d sigmoid(x)/dx", value(slope).values, {right});
         expect_equal("x = " + text(at) + ": d2 sigmoid(x)/dx2",
                      value(gradients(slope, {x}).at(0)).values, {right * (1 - 2 * s)});
       }
     }},
    {"columns",
     [] {
       for (const int rows : {1, 2, 3})
         for (const int width : {1, 3})
           for (int begin = 0; begin < width; ++begin)
             for (int end = begin + 1; end <= width; ++end) {
               Tensor x = filled({rows, width}, 0);
               Numbers right;
               for (int n = 0; n < rows; ++n)
                 for (int j = 0; j < width; ++j) {
                   x.values[n * width + j] = 10 * n + j;
                   if (j >= begin && j < end) right.push_back(10 * n + j);
                 }
               const std::string what = "columns(x, " + std::to_string(begin) + ", " +
                                        std::to_string(end) + ") of x = " + text(x.values) +
                                        ", shape " + text(x.shape);
               announce(what);
               Tape tape;
               const Tensor y = value(columns(tape.variable(x), begin, end));
               expect_equal("the shape of " + what, y.shape, {rows, end - begin});
               expect_equal(what, y.values, right);
             }
     }},
    {"the derivatives of columns",
     [] {
       Tape tape;
       const Variable x = tape.variable({{2, 3}, {1, 2, 3, 4, 5, 6}});
       const std::string given = "x = {1, 2, 3, 4, 5, 6} of shape (2, 3): ";
       announce(given + "columns, and derivatives of them");
       const auto gradient = [&](const Variable& y) {
         return value(gradients(sum(sum(y, 1), 0), {x}).at(0)).values;
       };
       const Variable last = columns(x, 1, 3);
       expect_equal(given + "the gradient of the sum of columns(x, 1, 3) * {1, 2, 3, 4}",
                    gradient(last * tape.variable({{2, 2}, {1, 2, 3, 4}})), {0, 1, 2, 0, 3, 4});
       expect_equal(given + "the gradient of the sum of columns(x, 0, 2) * columns(x, 1, 3)",
                    gradient(columns(x, 0, 2) * last), {2, 4, 2, 5, 10, 5});
       const Variable of_cubes = gradients(sum(sum(last * last * last, 1), 0), {x}).at(0);
       expect_equal(given + "the second derivatives of the sum of the cubes of columns(x, 1, 3)",
                    gradient(of_cubes), {0, 12, 18, 0, 30, 36});
     }},
    {"columns that are not there are refused",
     [] {
       Tape tape;
       const Variable x = tape.variable(filled({2, 3}, 1));
       const std::vector<std::vector<int>> wrong{{-1, 1}, {0, 4}, {3, 4}, {2, 2}, {2, 1}};
       for (const std::vector<int>& each : wrong)
         grader::expect_refused<std::invalid_argument>(
             "columns " + text(each) + " of a matrix (2, 3)",
             [&] { columns(x, each[0], each[1]); });
       for (const Shape& shape : {Shape{3}, Shape{}, Shape{1, 2, 3}})
         grader::expect_refused<std::invalid_argument>(
             "columns (0, 1) of a tensor " + text(shape),
             [&] { columns(tape.variable(filled(shape, 1)), 0, 1); });
     }},
    {"a step of the simple net",
     [] {
       check_value("x = 1, h = 2, wx = 0.5, wh = -0.25, b = 0.1: h'",
                   {row_of({1}), row_of({2}), row_of({0.5}), row_of({-0.25}), row_of({0.1})},
                   rnn_of(1), [](const std::vector<Tensor>&) { return Numbers{std::tanh(0.1)}; });
       for (const int rows : {1, 3})
         for (const int inputs : {1, 2}) {
           const std::vector<Tensor> at = drawn_arguments(rnn_shapes(rows, inputs, 3));
           check_value(of_sizes(rows, inputs, 3) + how_drawn + ": h'", at, rnn_of(1),
                       [](const std::vector<Tensor>& in) { return plain_rnn(in, 1); });
         }
     }},
    {"the derivatives of a step of the simple net",
     [] {
       for (const int rows : {1, 3})
         for (const int hidden : {1, 2})
           check_derivatives(of_sizes(rows, 2, hidden) + how_drawn + ": h'", rnn_names,
                             drawn_arguments(rnn_shapes(rows, 2, hidden)), rnn_of(1),
                             [](const std::vector<Tensor>& in) { return plain_rnn(in, 1); });
     }},
    {"the simple net through time",
     [] {
       for (const int steps : {2, 3, 20})
         check_derivatives(
             std::to_string(steps) + " steps, " + of_sizes(2, 1, 2) + how_drawn + ": h", rnn_names,
             drawn_arguments(rnn_shapes(2, 1, 2)), rnn_of(steps),
             [=](const std::vector<Tensor>& in) { return plain_rnn(in, steps); });
     }},
    {"a step of an LSTM",
     [] {  // sigmoid(log 3) = 3/4, sigmoid(0) = 1/2, tanh(log 2) = 0.6, sigmoid(-log 3) = 1/4
       const double two = std::log(2), three = std::log(3);
       const Numbers sums{three, 0, two, -three}, none{0, 0, 0, 0};
       const std::string shown = " = {log 3, 0, log 2, -log 3}";
       check_gates("x = h = 0, b" + shown, 0, 0, 0, none, none, sums, std::tanh(0.45) / 4, 0.45);
       check_gates("x = h = 0, b" + shown, 0, 0, 2, none, none, sums, std::tanh(1.45) / 4, 1.45);
       check_gates("x = 1, h = b = 0, wx" + shown, 1, 0, 2, sums, none, none, std::tanh(1.45) / 4,
                   1.45);
       check_gates("h = 1, x = b = 0, wh" + shown, 0, 1, 2, none, sums, none, std::tanh(1.45) / 4,
                   1.45);
       for (const int rows : {1, 2})
         for (const int hidden : {1, 3})
           for (const bool give_c : {true, false})
             check_value(of_sizes(rows, 2, hidden) + how_drawn + (give_c ? ": c'" : ": h'"),
                         drawn_arguments(lstm_shapes(rows, 2, hidden)), lstm_of(1, give_c),
                         [=](const std::vector<Tensor>& in) { return plain_lstm(in, 1, give_c); });
     }},
    {"the derivatives of a step of an LSTM",
     [] {
       for (const int rows : {1, 2})
         for (const int hidden : {1, 2})
           for (const bool give_c : {true, false})
             check_derivatives(
                 of_sizes(rows, 2, hidden) + how_drawn + (give_c ? ": c'" : ": h'"), lstm_names,
                 drawn_arguments(lstm_shapes(rows, 2, hidden)), lstm_of(1, give_c),
                 [=](const std::vector<Tensor>& in) { return plain_lstm(in, 1, give_c); });
     }},
    {"an LSTM through time",
     [] {
       for (const int steps : {2, 3, 10})
         for (const bool give_c : {true, false})
           check_derivatives(
               std::to_string(steps) + " steps, " + of_sizes(2, 1, 2) + how_drawn +
                   (give_c ? ": c" : ": h"),
               lstm_names, drawn_arguments(lstm_shapes(2, 1, 2)), lstm_of(steps, give_c),
               [=](const std::vector<Tensor>& in) { return plain_lstm(in, steps, give_c); });
     }},
    {"a memory of 1000 steps",
     [] {  // an open forget gate and a closed input gate
       for (const int steps : {1, 1000}) {
         const std::string given =
             std::to_string(steps) + " steps with wx = wh = 0, b = {-40, 40, 3, 0}, c = 0.7: ";
         announce(given + "c at the end, and its derivative");
         Tape tape;
         const auto on = [&](const Numbers& values) { return tape.variable(row_of(values)); };
         const Variable x = on({1}), c = on({0.7}), w = on({0, 0, 0, 0}), b = on({-40, 40, 3, 0});
         LstmState state{on({0}), c};
         for (int t = 0; t < steps; ++t) state = lstm_step(x, state, w, w, b);
         expect_equal(given + "c at the end", value(state.c).values, {0.7});
         expect_equal(given + "its derivative by the first c",
                      value(gradients(state.c, {c}).at(0)).values, {1});
       }
     }},
    {"a seed gives the same parameters again",
     [] {
       const CharLstm net = new_net(3, 4, 1), same = new_net(3, 4, 1), other = new_net(3, 4, 2);
       grader::expect(!net.parameters.empty(), of_net(3, 4, 1) + " has no parameters");
       grader::expect(net.parameters.size() == same.parameters.size(),
                      "two " + of_net(3, 4, 1) + " have different numbers of parameters");
       bool differs = false, spread = false;
       for (std::size_t k = 0; k < net.parameters.size(); ++k) {
         const Numbers& values = net.parameters[k].values;
         expect_equal("parameter " + std::to_string(k) + " of a second " + of_net(3, 4, 1),
                      same.parameters[k].values, values);
         differs = differs || values != other.parameters.at(k).values;
         for (const double w : values) spread = spread || (w != values[0] && w != 0);
       }
       grader::expect(differs,
                      of_net(3, 4, 1) + " and " + of_net(3, 4, 2) + " have the same parameters");
       grader::expect(spread, of_net(3, 4, 1) + " has equal weights: its units would stay equal");
     }},
    {"the loss is a mean",
     [] {
       for (const std::vector<int>& read : std::vector<std::vector<int>>{{0, 1}, {0, 1, 1, 0, 1}})
         for (const int characters : {2, 5}) {
           CharLstm net = new_net(characters, 3, 1);
           set_all_to_zero(net);
           const std::string name = of_net(characters, 3, 1) + " with all parameters 0";
           expect_equal(name + ", text " + text(read) + ": the loss", loss_of(name, net, read),
                        std::log(characters));
         }
       const double first =
           loss_of(of_net(10, 8, 1), new_net(10, 8, 1), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
       grader::expect(std::abs(first - std::log(10)) < 1,
                      of_net(10, 8, 1) + ", text (0, 1, ..., 9): the loss before training is " +
                          text(first) + ", must be near log 10 = 2.30259");
     }},
    {"the probabilities of the next character add up to 1",
     [] {
       const CharLstm net = decided_net(3, 4, 1);
       const std::string name = of_net(3, 4, 1) + " with its parameters times 3";
       for (const std::vector<int>& before :
            std::vector<std::vector<int>>{{0}, {1}, {0, 1}, {2, 1}, {2, 0, 1}, {1, 1, 1, 1}}) {
         double total = 0;
         for (int next = 0; next < 3; ++next) total += probability_of(name, net, before, next);
         expect_equal(name + ": after " + text(before) +
                          ", the sum over the probabilities of the next character",
                      total, 1);
       }
     }},
    {"the derivatives of the loss",
     [] {
       const std::vector<int> read{0, 1, 2, 1};
       const CharLstm net = decided_net(3, 2, 1);
       const std::string name = of_net(3, 2, 1) + " with its parameters times 3",
                         given = name + ", text " + text(read) + ": ";
       announce(given + "the derivatives of the loss");
       Tape tape;
       const std::vector<Variable> w = all_on(tape, net.parameters);
       const std::vector<Variable> found = gradients(net.loss(tape, w, read), w);
       for (std::size_t k = 0; k < w.size(); ++k) {
         Numbers differences;
         for (std::size_t i = 0; i < net.parameters[k].values.size(); ++i) {
           CharLstm moved = net;
           moved.parameters[k].values[i] += 1e-5;
           const double above = loss_of(name, moved, read);
           moved.parameters[k].values[i] -= 2e-5;
           differences.push_back((above - loss_of(name, moved, read)) / 2e-5);
         }
         expect_equal(given + "the gradient by parameter " + std::to_string(k),
                      value(found.at(k)).values, differences, 1e-7);
       }
       expect_equal(given + "the loss, computed again", loss_of(name, net, read),
                    loss_of(name, net, read));
     }},
    {"texts that a net cannot read are refused",
     [] {
       const CharLstm net = new_net(3, 2, 1);
       for (const std::vector<int>& read :
            std::vector<std::vector<int>>{{}, {0}, {0, 3}, {3, 0}, {0, -1}, {-1, 0}, {0, 1, 3, 0}})
         grader::expect_refused<std::invalid_argument>(
             of_net(3, 2, 1) + ": the text " + text(read),
             [&] { loss_of(of_net(3, 2, 1), net, read); });
     }},
    {"training on a text that needs memory",
     [] {
       // After each 0 comes 1, 2 or 3 in turn. Who does not know what was before it has a loss of
       // log(3) / 2 = 0.549 at best.
       const std::vector<int> read{0, 1, 0, 2, 0, 3, 0, 1, 0, 2, 0, 3, 0};
       const std::string name = of_net(4, 8, 1);
       CharLstm net = new_net(4, 8, 1);
       Adam adam(0.1);
       const double before = loss_of(name, net, read);
       announce(name + ", text " + text(read) + ": 60 steps of Adam(0.1)");
       for (int i = 0; i < 60; ++i) {
         Tape tape;
         const std::vector<Variable> w = all_on(tape, net.parameters);
         std::vector<Tensor> by;
         for (const Variable& each : gradients(net.loss(tape, w, read), w))
           by.push_back(value(each));
         adam.step(net.parameters, by);
       }
       const double after = loss_of(name, net, read);
       grader::expect(after < 0.3, name + ", text " + text(read) +
                                       ": 60 steps of Adam(0.1) bring the loss from " +
                                       text(before) + " to " + text(after) +
                                       ", must be below 0.3; without memory it stays above 0.549");
     }},
};

}  // namespace
