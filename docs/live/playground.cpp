#include "playground.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "blocks_text.h"

namespace playground {
namespace {

constexpr Index most_steps = 100'000, most_forks = 8, most_nodes = 3'000;
constexpr std::size_t state_bytes = 64'000'000, most_states = 200;
constexpr Index most_judged = 400;  // examples

Json finite(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

// Counts between the least and the greatest finite value; and of the rows the root mean square of
// mean and length.
Json histogram(const std::vector<Tensor>& parts) {
  constexpr std::size_t bins = 24;
  std::vector<double> values;
  double means = 0, lengths = 0, rows = 0;
  for (const Tensor& part : parts) {
    const Index width = part.shape().rank() == 4 ? part.size() / part.shape()[0] : part.shape()[-1];
    for (Index row = 0; row < part.size() / width; ++row, ++rows) {
      double sum = 0, squares = 0;
      for (Index i = 0; i < width; ++i) {
        const double value = part.data()[row * width + i];
        sum += value, squares += value * value;
        if (std::isfinite(value)) values.push_back(value);
      }
      means += std::pow(sum / static_cast<double>(width), 2), lengths += squares;
    }
  }
  std::vector<Index> counts(bins);
  double least = 0, greatest = 0;
  if (!values.empty()) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    least = *low, greatest = *high;
  }
  for (const double value : values) {
    const double share = greatest > least ? (value - least) / (greatest - least) : 0.5;
    ++counts[std::min(bins - 1, static_cast<std::size_t>(share * bins))];
  }
  return {{"least", least},
          {"greatest", greatest},
          {"counts", counts},
          {"mean", finite(std::sqrt(means / rows))},
          {"length", finite(std::sqrt(lengths / rows))}};
}

// ---- A run ----

// A net that learns, with states to return to.
class Run {
 public:
  Run(const Json& settings, MadeData data, MadeNet net)
      : settings_(settings),
        data_(std::move(data)),
        net_(std::move(net.net)),
        blocks_(std::move(net.blocks)),
        all_(parameters(net_)),
        schedule_(make_schedule(settings).schedule),
        options_{static_cast<std::uint64_t>(whole(settings, "seed", 0, 1'000'000'000)),
                 whole(settings, "batch", 1, 1'024), number(settings, "clip", 0, 1e9)},
        optimizer_(make_optimizer(name(), number(settings, "rate", 0, 1e9), all_).optimizer) {
    keep();
  }

  const Json& settings() const { return settings_; }
  const Data& data() const { return data_.data; }
  const MadeData& made() const { return data_; }
  const Net& net() const { return net_; }
  const Json& blocks() const { return blocks_; }
  Index step() const { return step_; }
  Index first() const { return states_.begin()->first; }
  const std::string& stopped() const { return stopped_; }
  const StepOptions& options() const { return options_; }

  // Continues from another run and, with the same optimizer, from its moments. Returns the names of
  // the parameters that it has not.
  std::vector<std::string> fork(const Run& from) {
    const bool same = from.name() == name();
    const std::vector<std::string> added =
        continue_from(from.net_, same ? from.optimizer_.get() : nullptr, net_, *optimizer_);
    step_ = from.step_;
    states_.clear();
    keep();
    return added;
  }

  // Takes steps until `end`, or until one is not finite. Returns their losses.
  std::vector<double> go_to(Index end) {
    std::vector<double> losses;
    while (step_ < end && stopped_.empty()) {
      const double loss = take_step(net_, *optimizer_, data(), options_, schedule_(step_), step_);
      if (!std::isfinite(loss)) {
        stopped_ = why();
        break;
      }
      losses.push_back(loss);
      if (++step_ % every_ == 0) keep();
    }
    return losses;
  }

  // Throws ArgumentError for a step that this run has not reached.
  void rewind(Index step) {
    expect<ArgumentError>(first() <= step && step <= step_,
                          "rewind: step {}; this run has been from {} to {}", step, first(), step_);
    states_.erase(states_.upper_bound(step), states_.end());
    stopped_.clear();
    return_to(step);
  }

  double accuracy() const {
    const bool text = !data().x.defined();
    const Index begin = data().training, length = text ? data().length : 1;
    std::vector<Index> chosen;
    for (Index i = begin + (text ? length : 0); i + (text ? length : 0) < data().labels.size();
         i += length)
      if (std::ssize(chosen) < (text ? 32 : most_judged)) chosen.push_back(i);
    const Batch batch = examples(data(), chosen);
    const Indices best = argmax(net_(batch));
    Index right = 0;
    for (Index i = 0; i < best.size(); ++i) right += best.data()[i] == batch.labels.data()[i];
    return static_cast<double>(right) / static_cast<double>(best.size());
  }

 private:
  struct State {
    std::vector<Tensor> values;
    Index steps;
    std::vector<Moments> moments;
    std::vector<Index> skipped;
  };

  std::string name() const { return settings_.at("optimizer").get<std::string>(); }

  // Tensors are shared until a step changes them. Too many states: every second one goes.
  void keep() {
    states_[step_] = {NetState(fields(net_)).values(), optimizer_->steps(), optimizer_->moments(),
                      optimizer_->skipped()};
    std::size_t bytes = 0;
    for (const Tensor& value : states_[step_].values)
      bytes += static_cast<std::size_t>(value.size()) * sizeof(real);
    bytes *= 1 + optimizer_->moments().size();
    if (states_.size() <= std::max<std::size_t>(4, std::min(most_states, state_bytes / bytes)))
      return;
    every_ *= 2;
    std::erase_if(states_, [&](const auto& state) {
      return state.first % every_ != 0 && state.first != first();
    });
  }

  // To the last state that is kept, and by the same steps again from there.
  void return_to(Index step) {
    const auto& [at, state] = *std::prev(states_.upper_bound(step));
    NetState weights(fields(net_));
    weights.restore(state.values);
    weights.swap();
    optimizer_->restore(state.steps, state.moments, state.skipped);
    for (step_ = at; step_ < step; ++step_)
      take_step(net_, *optimizer_, data(), options_, schedule_(step_), step_);
  }

  // The operation at which the next step is not finite. Buffers, such as running averages, have
  // seen it.
  std::string why() {
    return_to(step_);
    std::string found = "the length of the gradient is not finite";
    try {
      Random random = random_of(options_, step_);
      const Batch batch = random_batch(data(), options_.batch, random);
      const Tape tape({.check_finite = true});
      grad(cross_entropy(net_(batch, training(random)), batch.labels), all_);
    } catch (const Error& error) {
      found = words(error);
    }
    return_to(step_);
    return fmt::format("step {}: {}", step_, found);
  }

  Json settings_;
  MadeData data_;
  Net net_;
  Json blocks_;
  std::vector<Parameter> all_;
  Schedule schedule_;
  StepOptions options_;
  std::unique_ptr<Optimizer> optimizer_;
  Index step_ = 0, every_ = 10;
  std::map<Index, State> states_;
  std::string stopped_;
};

// What a request does in training mode, undone at the end of the scope: buffers may change.
class Undone {
 public:
  explicit Undone(const Net& net) : before_(fields(net)) {}
  ~Undone() { before_.swap(); }
  Undone(const Undone&) = delete;
  Undone& operator=(const Undone&) = delete;

 private:
  NetState before_;
};

// ---- What is shown of a run ----

// The batch of the next step.
Batch next_batch(const Run& run, Index most, Random& random) {
  random = random_of(run.options(), run.step());
  return random_batch(run.data(), std::min(run.options().batch, most), random);
}

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

// Of the weights before the output: the mean over outputs, which no norm after them sees, and their
// length.
Json weights(const Net& net) {
  Json all = Json::array();
  for (const auto& [name, weight] : fields(net.blocks).parameters())
    if (weight.shape().rank() == 2)
      all.push_back({{"name", name},
                     {"common", finite(rms(mean(weight.value(), 1)))},
                     {"length", finite(norm(weight.value()).item())}});
  return all;
}

// Histograms of states and gradients after each block, and before and after each normalization.
Json look(const Run& run) {
  const Undone undone(run.net());
  struct Place {
    std::string name;
    std::vector<Tensor> in, out;
  };
  std::map<const void*, Place> norms;
  for (const NamedNorm& norm : fields(run.net().blocks).norms())
    norms[norm.identity].name = norm.name;
  Random random(0);
  const Batch batch = next_batch(run, 64, random);
  const Tape tape;
  const AroundNorms around([&](const Norm& norm, const Tensor& x, const auto& apply) {
    const Tensor in =
        reshape(x, x.shape());  // a node of its own, whose gradient has come through this norm
    const Tensor out = apply(in);
    Place& place = norms[norm.identity()];
    if (tape.holds(in)) place.in.push_back(in), place.out.push_back(out);
    return out;
  });
  std::vector<Tensor> states{watch(run.net().first(batch))};
  for (const Layer& layer : run.net().blocks.layers)
    states.push_back(layer(states.back(), training(random)));
  const Tensor loss = cross_entropy(run.net().last(states.back()), batch.labels);
  std::vector<Tensor> all = states;
  for (const auto& [identity, place] : norms) {
    all.insert(all.end(), place.in.begin(), place.in.end());
    all.insert(all.end(), place.out.begin(), place.out.end());
  }
  std::vector<Tensor> gradients = grad(loss, all);
  auto next = gradients.begin();
  const auto both = [&](const std::vector<Tensor>& values) {
    const std::vector<Tensor> own(next, next + std::ssize(values));
    next += std::ssize(values);
    return Json{{"values", histogram(values)}, {"gradients", histogram(own)}};
  };
  Json blocks = Json::array(), around_norms = Json::array();
  for (const Tensor& state : states) blocks.push_back(both({state}));
  for (const auto& [identity, place] : norms) {
    const Json before = both(place.in), after = both(place.out);
    if (!place.in.empty())
      around_norms.push_back({{"name", place.name}, {"before", before}, {"after", after}});
  }
  Json found{{"step", run.step()},
             {"blocks", blocks},
             {"norms", around_norms},
             {"weights", weights(run.net())}};
  return found;
}

// Of a grid over the plane, row by row from the top: the probability of class 1.
Json field(const Run& run) {
  constexpr Index side = 40;
  std::vector<real> places;
  for (Index row = 0; row < side; ++row)
    for (Index column = 0; column < side; ++column) {
      places.push_back(
          static_cast<real>(1.2 * (2.0 * (static_cast<double>(column) + 0.5) / side - 1)));
      places.push_back(
          static_cast<real>(1.2 * (1 - 2.0 * (static_cast<double>(row) + 0.5) / side)));
    }
  const Tensor p = softmax(run.net()({Tensor({side * side, 2}, places), {}, {}}));
  Json values = Json::array();
  for (Index i = 0; i < side * side; ++i)
    values.push_back(finite(std::round(p.data()[2 * i + 1] * 1000) / 1000));
  return {{"side", side}, {"values", values}};
}

// The probability of each class for a picture.
Json classify(const Run& run, const std::string& picture) {
  expect<ArgumentError>(run.data().classes == 10 && picture.size() == 784,
                        "classify: needs a net of digits and 784 pixels, has {}", picture.size());
  const Tensor p = softmax(run.net()({pictures({picture}), {}, {}}));
  Json values = Json::array();
  for (const real value : p.values()) values.push_back(finite(value));
  return {{"probabilities", values}};
}

// A text, character by character, after a beginning.
Json write(const Run& run, const Json& request) {
  expect<ArgumentError>(!run.data().x.defined(), "write: needs a net of text");
  const Index count = whole(request, "count", 1, 500);
  const double temperature = number(request, "temperature", 0.05, 10);
  const std::string& characters = run.made().characters;
  std::vector<Index> ids;
  for (const char c : request.at("begin").get<std::string>())
    if (const auto at = characters.find(c); at != std::string::npos)
      ids.push_back(static_cast<Index>(at));
  if (ids.empty()) ids.push_back(0);
  Random random = Random(run.options().seed).stream(4);
  std::string text;
  for (Index i = 0; i < count; ++i) {
    const auto from = ids.end() - std::min<Index>(std::ssize(ids), run.data().length);
    const std::vector<Index> seen(from, ids.end());
    const Tensor logits = run.net()({{}, Indices({1, std::ssize(seen)}, seen), {}});
    ids.push_back(
        random.categorical(softmax(select(select(logits, 0), std::ssize(seen) - 1) / temperature))
            .data()[0]);
    text += characters[static_cast<std::size_t>(ids.back())];
  }
  return {{"text", text}};
}

// Calls a function with the tape of the next step, for two examples or one row of a text.
template <class Use>
Json with_tape(const Run& run, const Use& use) {
  const Undone undone(run.net());
  Random random(0);
  const Batch batch = next_batch(run, run.data().x.defined() ? 2 : 1, random);
  const Tape tape({.keep_values = true});
  const Tensor loss =
      named(cross_entropy(run.net()(batch, training(random)), batch.labels), "loss");
  expect<ArgumentError>(
      tape.size() <= most_nodes,
      "the tape of this step has {} nodes; at most {} are shown: take shorter rows", tape.size(),
      most_nodes);
  grad(loss, parameters(run.net()));
  return use(tape);
}

Json tape_of(const Run& run) {
  return with_tape(run, [&](const Tape& tape) {
    return Json{{"step", run.step()}, {"tape", live::without_places(tape)}};
  });
}

// Why a node of the tape that was shown has its gradient.
Json explained(const Run& run, const Json& request) {
  const Index step = whole(request, "step", 0, most_steps);
  expect<ArgumentError>(step == run.step(),
                        "explain: this tape belongs to step {}, and the net is at {}: ask for its "
                        "tape again",
                        step, run.step());
  return with_tape(run, [&](const Tape& tape) {
    const auto node = static_cast<std::int32_t>(whole(request, "node", 0, tape.size() - 1));
    return Json{{"why", live::without_places(explain(tape, tape.value(node)))}};
  });
}

// ---- Derivatives against differences ----

// Why parameters before a norm have other derivatives than its values imply, or "".
std::string constant_in(const std::string& norm) {
  const NormSpec spec(norm);
  const NormOptions& statistics = spec.statistics;
  std::vector<std::string> found;
  if (statistics.detach_mean) found.push_back("the mean is detached");
  if (statistics.detach_scale) found.push_back("the deviation is detached");
  if (spec.method->name == "ada" && norm.find("detached=0") == std::string::npos)
    found.push_back("its factor is detached");
  if (statistics.identity_forward)
    found.push_back("its value is x, and its derivative is the normalized x's");
  if (statistics.unit_factor) found.push_back("its derivative is not divided by the deviation");
  return fmt::format("{}", fmt::join(found, " and "));
}

// For each parameter what is constant in the blocks from its own on.
std::vector<std::string> causes_of(const Run& run) {
  const Json &net = run.settings().at("net"), &blocks = run.blocks();
  std::vector<std::string> all;
  std::size_t block = 0;
  Index position = 0;
  Index end = run.net().embedding ? parameter_count(*run.net().embedding) : 0;
  for (const NamedParameter& one : fields(run.net()).parameters()) {
    while (position >= end) end += blocks.at(block++).at("parameters").get<Index>();
    position += one.parameter.value().size();
    std::vector<std::string> found;
    for (std::size_t i = block == 0 ? 0 : block - 1; i < net.size(); ++i)
      if (net[i].contains("norm"))
        if (const auto cause = constant_in(net[i].at("norm").get<std::string>()); !cause.empty())
          found.push_back(
              fmt::format("block {} ({}): {}", i + 1, net[i].at("norm").get<std::string>(), cause));
    all.push_back(fmt::format("{}", fmt::join(found, "; ")));
  }
  return all;
}

// By how much the derivative of f with respect to an element of a parameter differs from central
// differences, relative to the larger of both. f may have kinks: the step counts that comes
// closest.
template <class F>
double error_of(const F& f, Parameter parameter, Index at, double derivative, double tolerance) {
  constexpr double least = 1e-4;  // a derivative below is compared with it instead
  const double value = parameter.value().data()[at];
  const auto moved = [&](double by) {
    parameter.mutable_data()[at] = static_cast<real>(value + by);
    return static_cast<double>(f().item());
  };
  double error = std::numeric_limits<double>::infinity();
  for (const double step : {1e-5, 1e-6, 1e-7}) {
    if (error <= tolerance) break;
    const double by = step * std::max(1.0, std::abs(value));
    const double difference = (moved(by) - moved(-by)) / (2 * by);
    error = std::min(error, std::abs(derivative - difference) /
                                std::max({std::abs(derivative), std::abs(difference), least}));
  }
  moved(0);
  return error;
}

// The derivatives of the loss of the next step, of some elements of each parameter.
Json check(const Run& run) {
  constexpr Index most_of_each = 8, most_of_all = 200;
  constexpr double tolerance = 1e-5;
  expect<ArgumentError>(sizeof(real) == 8,
                        "check: differences need double precision: set the precision to double");
  const Undone undone(run.net());
  Random random(0);
  const Batch batch = next_batch(run, 64, random);
  const auto loss = [&] {
    Random dropout = random;
    return cross_entropy(run.net()(batch, training(dropout)), batch.labels);
  };
  const double value = loss().item();
  expect<ArgumentError>(std::isfinite(value), "check: the loss of this step is {}", value);
  const std::vector<Parameter> all = parameters(run.net());
  const std::vector<Tensor> gradients = [&] {
    const Tape tape;
    return grad(loss(), all);
  }();
  const std::vector<std::string> causes = causes_of(run);
  const Index of_each = std::clamp<Index>(most_of_all / std::ssize(all), 1, most_of_each);
  Random chosen =
      Random(run.options().seed).stream(5).stream(static_cast<std::uint64_t>(run.step()));
  Json found = Json::array();
  std::map<std::string, std::vector<std::string>> wrong;  // names by cause
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Index size = all[i].value().size(), count = std::min(of_each, size);
    double worst = 0;
    for (Index trial = 0; trial < count; ++trial) {
      const Index at = size <= of_each ? trial : chosen.below(size);
      worst = std::max(worst, error_of(loss, all[i], at, gradients[i].data()[at], tolerance));
    }
    const bool agrees = worst <= tolerance;
    found.push_back({{"name", all[i].name()},
                     {"size", size},
                     {"checked", count},
                     {"difference", finite(worst)},
                     {"agrees", agrees}});
    if (agrees) continue;
    found.back()["why"] =
        causes[i].empty() ? "nothing after it is detached: this should not be" : causes[i];
    wrong[found.back()["why"].get<std::string>()].push_back(all[i].name());
  }
  std::string verdict = wrong.empty() ? "The derivatives are derivatives of the loss."
                                      : "Some derivatives are not derivatives of the loss:";
  for (const auto& [cause, names] : wrong)
    verdict += fmt::format(" {} ({}).", fmt::join(names, ", "), cause);
  return {{"step", run.step()},     {"loss", value},
          {"tolerance", tolerance}, {"examples", batch.labels.shape()[0]},
          {"parameters", found},    {"verdict", verdict}};
}

// ---- Runs of settings, and programs that are the same ----

struct Attempt {
  std::unique_ptr<Run> run;  // null if the net does not fit
  Json blocks, shown;
  std::vector<std::string> added;  // parameters that the run before has not
};

void expect_forks(Index count) {
  expect<ArgumentError>(count <= most_forks,
                        "fork: {} runs one after another; at most {} are possible", count,
                        most_forks);
}

// A run of these settings. What it forks is computed again, unless it is `current`, which stays as
// it was.
Attempt attempt(const Json& settings, Run* current, Index depth = 0) {
  expect_forks(depth);
  MadeData data = make_data(settings);
  MadeNet net = make_net(settings, data.data);
  Attempt made{nullptr, net.blocks, data.shown, {}};
  if (!net.fits) return made;
  auto run = std::make_unique<Run>(settings, std::move(data), std::move(net));
  if (settings.contains("fork")) {
    const Json& fork = settings.at("fork");
    const Index at = whole(fork, "at", 0, most_steps);
    Run* from = current;
    Attempt again;
    if (from == nullptr || from->settings() != fork.at("of") || from->step() < at) {
      again = attempt(fork.at("of"), nullptr, depth + 1);
      from = again.run.get();
      expect<ArgumentError>(from != nullptr, "fork: the net of the run before does not fit");
    }
    const Index until = from->step();
    if (until > at) from->rewind(at);
    from->go_to(at);
    expect<ArgumentError>(from->step() == at, "fork: the run before stopped: {}", from->stopped());
    made.added = run->fork(*from);
    from->go_to(until);
  }
  made.run = std::move(run);
  return made;
}

Json progress(const Run& run, const std::vector<double>& losses) {
  double common = 0, length = 0;
  const Json all = weights(run.net());
  for (const Json& each : all)
    if (each.at("common").is_number())
      common += std::pow(each.at("common").get<double>(), 2),
          length += std::pow(each.at("length").get<double>(), 2);
  Json found{
      {"step", run.step()},
      {"losses", losses},
      {"accuracy", run.accuracy()},
      {"common", std::sqrt(common / static_cast<double>(std::max<std::size_t>(1, all.size())))},
      {"length", std::sqrt(length)}};
  if (!run.stopped().empty()) found["stopped"] = run.stopped();
  return found;
}

}  // namespace

std::string program(const Json& settings, Index steps) {
  std::vector<Json> chain{settings};
  while (chain.back().contains("fork")) {
    expect_forks(std::ssize(chain));
    chain.push_back(Json(chain.back().at("fork").at("of")));
  }
  std::reverse(chain.begin(), chain.end());
  std::string code = "int main() {\n";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Json& of = chain[i];
    const MadeData data = make_data(of);
    const MadeNet net = make_net(of, data.data);
    expect<ArgumentError>(net.fits, "program: the net does not fit");
    const auto name = of.at("optimizer").get<std::string>(),
               init = of.at("init").get<std::string>();
    const double rate = number(of, "rate", 0, 1e9);
    const std::string seed = fmt::format("{}", whole(of, "seed", 0, 1'000'000'000));
    const bool first = i == 0, last = i + 1 == chain.size();
    const Index begin = first ? 0 : whole(of.at("fork"), "at", 0, most_steps);
    const Index end = last ? steps : whole(chain[i + 1].at("fork"), "at", 0, most_steps);
    const Parameter any(zeros({1}));
    code += fmt::format(
        "  Random random_{0} = Random({1}).stream(2);\n"
        "  const Data data_{0} = {2};\n"
        "  const auto made_{0} = [&](Random& random) {{ return {3}; }};\n"
        "  const Net net_{0} = made_{0}(random_{0});\n"
        "  initialize(net_{0}, \"{4}\", random_{0});\n"
        "  const auto of_{0} = [&](const std::vector<Parameter>& of) {{ return {5}; }};\n"
        "  auto optimizer_{0} = of_{0}(parameters(net_{0}));\n",
        i, seed, data.code, net.code, init, make_optimizer(name, rate, {any}).code);
    if (!first)
      code += fmt::format("  continue_from(net_{1}, {2}, net_{0}, optimizer_{0});\n", i, i - 1,
                          chain[i - 1].at("optimizer") == of.at("optimizer")
                              ? fmt::format("&optimizer_{}", i - 1)
                              : "nullptr");
    code += fmt::format(
        "  const Schedule schedule_{0} = {1};\n"
        "  for (Index step = {2}; step < {3}; ++step)\n"
        "    fmt::print(\"{{:.17g}}\\n\", take_step(net_{0}, optimizer_{0}, data_{0}, {{.seed = "
        "{4}, .batch = {5}, .clip = {6:.17g}}},\n"
        "                                 schedule_{0}(step), step));\n",
        i, make_schedule(of).code, begin, end, seed, whole(of, "batch", 1, 1'024),
        number(of, "clip", 0, 1e9));
  }
  return blocks_text + ("\nusing namespace playground;\n\n" + code + "}\n");
}

Json answer(const Json& request) {
  static std::unique_ptr<Run> run;
  const auto what = request.at("do").get<std::string>();
  if (request.contains("settings")) {
    const auto precision = request.at("settings").value("precision", "double");
    expect<ArgumentError>(precision == own_precision, "precision: {}; this engine computes in {}",
                          precision, own_precision);
  }
  if (what == "choices") return choices();
  if (what == "program")
    return {{"source", program(request.at("settings"), whole(request, "count", 1, most_steps))}};
  if (what == "build") {
    Attempt made = attempt(request.at("settings"), run.get());
    const bool fits = made.run != nullptr;
    if (fits) run = std::move(made.run);
    Json found{{"fits", fits}, {"blocks", made.blocks}, {"shown", made.shown}};
    if (fits && run->settings().contains("fork")) found["added"] = made.added;
    if (run) found.update(progress(*run, {}));
    return found;
  }
  expect<ArgumentError>(run != nullptr, "{}: no net has been built", what);
  if (what == "steps") {
    expect<ArgumentError>(run->step() < most_steps, "steps: {} at most", most_steps);
    const Index end = std::min(most_steps, run->step() + whole(request, "count", 1, 10'000));
    const std::vector<double> losses = run->go_to(end);
    return progress(*run, losses);
  }
  if (what == "rewind") {
    run->rewind(whole(request, "to", 0, most_steps));
    return progress(*run, {});
  }
  if (what == "look") return look(*run);
  if (what == "field") return field(*run);
  if (what == "classify") return classify(*run, request.at("picture").get<std::string>());
  if (what == "write") return write(*run, request);
  if (what == "tape") return tape_of(*run);
  if (what == "explain") return explained(*run, request);
  if (what == "check") return check(*run);
  throw ArgumentError(fmt::format("unknown: {}", what));
}

}  // namespace playground
