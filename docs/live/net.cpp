#include <fmt/ranges.h>

#include <cctype>
#include <functional>
#include <map>
#include <numbers>

#include "playground.h"
#include "support/digits.h"
#include "support/grammar.h"

namespace playground {
namespace {

constexpr Index most_blocks = 40, most_points = 10'000, most_digits = 1'000, most_rows = 1'024;
constexpr Index most_parameters = 1'000'000,
                most_values = 4'000'000;  // of a batch after all blocks
constexpr std::size_t most_text = 1'000'000;

// ---- Data ----

std::vector<std::array<double, 2>> drawn_points(const std::string& set, Index count, double noise,
                                                std::vector<Index>& labels, Random& random) {
  std::vector<std::array<double, 2>> points;
  const Tensor shift = random.normal({count, 2}, 0, noise);
  for (Index i = 0; i < count; ++i) {
    const Index label = i % 2;
    double x = 2 * random.uniform() - 1, y = 2 * random.uniform() - 1;
    if (set == "xor" && (x * y > 0) != (label == 1)) x = -x;
    if (set == "circles") {
      const double angle = std::numbers::pi * x;
      const double radius = label == 0 ? 0.45 * std::abs(y) : 0.65 + 0.3 * std::abs(y);
      x = radius * std::cos(angle), y = radius * std::sin(angle);
    }
    if (set == "spirals") {
      const double along = (y + 1) / 2,
                   angle = (3.5 * along + static_cast<double>(label)) * std::numbers::pi;
      x = along * std::cos(angle), y = along * std::sin(angle);
    }
    points.push_back({x + shift.data()[2 * i], y + shift.data()[2 * i + 1]});
    labels.push_back(label);
  }
  return points;
}

std::string indices_code(const std::vector<Index>& labels) {
  return fmt::format("Indices({{{}}}, {{{}}})", labels.size(), fmt::join(labels, ", "));
}

MadeData make_points(const Json& of, Random& random) {
  const auto set = of.at("set").get<std::string>();
  std::vector<std::array<double, 2>> points;
  std::vector<Index> labels;
  if (set == "own") {
    for (const Json& point : of.at("points")) {
      points.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
      const auto label = point.at(2).get<double>();
      expect<ArgumentError>(label == 0 || label == 1, "points: class {}; there are 0 and 1", label);
      labels.push_back(static_cast<Index>(label));
    }
    expect<ArgumentError>(4 <= points.size() && std::ssize(points) <= most_points,
                          "points: {}; 4 to {} are possible", points.size(), most_points);
  } else {
    expect<ArgumentError>(set == "xor" || set == "circles" || set == "spirals",
                          "unknown points {}; available: xor, circles, spirals, own", set);
    points = drawn_points(set, whole(of, "count", 4, most_points), number(of, "noise", 0, 10),
                          labels, random);
  }
  std::vector<real> values;
  Json shown = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    values.insert(values.end(), points[i].begin(), points[i].end());
    shown.push_back({points[i][0], points[i][1], labels[i]});
  }
  const Index count = std::ssize(points);
  return {{Tensor({count, 2}, values), Indices({count}, labels), 2, 0, 0},
          {{"points", shown}},
          fmt::format("Tensor({{{}, 2}}, std::vector<real>{{{:.17g}}}), {}, 2", count,
                      fmt::join(values, ", "), indices_code(labels)),
          ""};
}

MadeData make_digits(const Json& of, Random& random) {
  const Index count = whole(of, "count", 10, most_digits);
  std::vector<std::string> all;
  std::vector<Index> labels;
  for (Index i = 0; i < count; ++i) {
    labels.push_back(i % 10);
    std::string& picture = all.emplace_back();
    for (const std::uint8_t pixel : support::draw_digit(static_cast<int>(i % 10), random))
      picture += "0123456789abcdef"[(pixel + 8) / 17];
  }
  const std::vector<std::string> few(all.begin(), all.begin() + std::min<Index>(count, 20));
  return {{pictures(all), Indices({count}, labels), 10, 0, 0},
          {{"digits", few}},
          fmt::format("pictures({{\"{}\"}}), {}, 10", fmt::join(all, "\",\n    \""),
                      indices_code(labels)),
          ""};
}

// Lines of literals.
std::string literal(std::string_view text) {
  std::string code = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      code += "\\n\"\n    \"";
    else if (byte < 32 || byte > 126)
      code += fmt::format("\\{:03o}", byte);
    else if (c == '"' || c == '\\' || c == '?')
      (code += '\\') += c;
    else
      code += c;
  }
  return code + '"';
}

MadeData make_text(const Json& of, Random& random) {
  const auto set = of.at("set").get<std::string>();
  expect<ArgumentError>(set == "grammar" || set == "own",
                        "unknown text {}; available: grammar, own", set);
  const std::string text = set == "own"
                               ? of.at("text").get<std::string>()
                               : support::grammar_text(whole(of, "count", 10, 10'000), random);
  expect<ArgumentError>(text.size() <= most_text, "text: {} characters; at most {} are possible",
                        text.size(), most_text);
  const Characters characters(text);
  return {{{}, characters.encode(text), characters.count(), 0, whole(of, "length", 2, 256)},
          {{"text", text.substr(0, 400)}},
          fmt::format("{{}}, Characters({0}).encode({0}), {1}", literal(text), characters.count()),
          characters.bytes()};
}

// ---- Blocks ----

struct MadeBlock {
  Layer layer;
  std::string code;
};

using Function = Tensor (*)(const Tensor&);
const std::vector<std::pair<std::string, Function>>& activations() {
  static const std::vector<std::pair<std::string, Function>> all{
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
      {"elu", [](const Tensor& x) { return elu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu_tanh", [](const Tensor& x) { return gelu_tanh(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"tanh", [](const Tensor& x) { return tanh(x); }}};
  return all;
}

template <class Pairs>
std::vector<std::string> names_of(const Pairs& pairs) {
  std::vector<std::string> names;
  for (const auto& each : pairs) names.push_back(each.first);
  return names;
}

template <class Pairs>
const auto& found(const Pairs& pairs, const char* what, const std::string& name) {
  for (const auto& each : pairs)
    if (each.first == name) return each.second;
  throw ArgumentError(
      fmt::format("unknown {} {}; available: {}", what, name, fmt::join(names_of(pairs), ", ")));
}

std::string text_of(const Json& block, const char* name) {
  return block.at(name).get<std::string>();
}

// A block for x, the state before it. `next` is the block after it, or null.
MadeBlock make_block(const Json& block, const Json* next, const Tensor& x, Random& random) {
  const std::string kind = text_of(block, "block");
  const int rank = x.shape().rank();
  const Index channels = x.shape()[rank == 4 ? 1 : rank - 1];
  if (kind == "linear") {
    const bool flat = rank == 4;
    const Index in = flat ? x.size() / x.shape()[0] : channels, out = whole(block, "out", 1, 1'024);
    const bool weight_norm = next != nullptr && next->at("block") == "norm" &&
                             NormSpec(text_of(*next, "norm")).normalized_weights;
    const Linear layer(in, out, random, {.weight_norm = weight_norm});
    const std::string code = fmt::format("Linear({}, {}, random{})", in, out,
                                         weight_norm ? ", {.weight_norm = true}" : "");
    if (flat) return {Sequential{Flatten(), layer}, "Sequential{Flatten(), " + code + "}"};
    return {layer, code};
  }
  if (kind == "activation") {
    const std::string name = text_of(block, "name");
    return {found(activations(), "activation", name),
            fmt::format("[](const Tensor& x) {{ return {}(x); }}", name)};
  }
  if (kind == "norm") {
    const std::string spec = text_of(block, "norm");
    return {Norm(spec, channels, rank == 4 ? Channels::second : Channels::features),
            fmt::format("Norm({}, {}{})", literal(spec), channels,
                        rank == 4 ? ", Channels::second" : "")};
  }
  if (kind == "dropout") {
    const double rate = number(block, "rate", 0, 0.99);
    return {Dropout(rate), fmt::format("Dropout({:.17g})", rate)};
  }
  if (kind == "recurrent") {
    const std::string cell = text_of(block, "cell"), spec = text_of(block, "norm");
    const Index hidden = whole(block, "out", 1, 512);
    return {Along{Recurrent(Cell::named(cell), channels, hidden, random, {.norm = spec})},
            fmt::format("Along{{Recurrent(Cell::named({}), {}, {}, random, {{.norm = {}}})}}",
                        literal(cell), channels, hidden, literal(spec))};
  }
  if (kind == "attention") {
    const std::string spec = text_of(block, "norm"), placement = text_of(block, "placement");
    expect<ArgumentError>(placement == "pre" || placement == "post",
                          "unknown placement {}; available: pre, post", placement);
    const Index heads = whole(block, "heads", 1, 16);
    const TransformerOptions options{
        .heads = heads,
        .channels = channels,
        .norm = spec,
        .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post,
        .causal = true,
        .rotary = true};
    return {Attend{TransformerBlock(random, options)},
            fmt::format("Attend{{TransformerBlock(random, {{.heads = {}, .channels = {}, .norm = "
                        "{}, .placement = "
                        "NormPlacement::{}, .causal = true, .rotary = true}})}}",
                        heads, channels, literal(spec), placement)};
  }
  if (kind == "convolution") {
    const Index out = whole(block, "out", 1, 128), size = whole(block, "size", 1, 9);
    const Index in = rank == 4 ? channels : 1;
    return {Conv2d(in, out, size, random, {.padding = size / 2}),
            fmt::format("Conv2d({}, {}, {}, random, {{.padding = {}}})", in, out, size, size / 2)};
  }
  if (kind == "pool") {
    const Index size = whole(block, "size", 1, 28);
    return {MaxPool2d{{.size = size}}, fmt::format("MaxPool2d{{{{.size = {}}}}}", size)};
  }
  throw ArgumentError(fmt::format(
      "unknown block {}; available: linear, activation, norm, dropout, residual, recurrent, "
      "attention, convolution, pool",
      kind));
}

Json entry(const Tensor& x, Index parameters) {
  Json shape = Json::array();
  for (int axis = 1; axis < x.shape().rank(); ++axis) shape.push_back(x.shape()[axis]);
  return {{"shape", shape}, {"parameters", parameters}};
}

// Reads blocks one after another, with the states that zeros have between them.
class Builder {
 public:
  Builder(const Json& settings, Random& random, Json& blocks)
      : net_(settings.at("net")),
        batch_(whole(settings, "batch", 1, most_rows)),
        random_(random),
        blocks_(blocks) {}

  // The blocks from here to `end`; x becomes the state after them.
  Sequential row(std::size_t end, Tensor& x, std::string& code) {
    Sequential made;
    std::vector<std::string> codes;
    while (at_ < end) {
      current_ = at_;
      const Json& block = net_[at_++];
      if (block.at("block") == "residual") {
        const Index over = whole(block, "over", 1, most_blocks);
        expect<ArgumentError>(at_ + static_cast<std::size_t>(over) <= end,
                              "residual: over {} blocks; {} follow", over, end - at_);
        const std::size_t own = blocks_.size();
        add(x, 0);
        Tensor after = x;
        std::string within;
        const Skip skip{row(at_ + static_cast<std::size_t>(over), after, within)};
        current_ = own;
        x = x + after;
        blocks_[own] = entry(x, 0);
        made.add(skip);
        codes.push_back("Skip{" + within + "}");
      } else {
        const Json* next = at_ < end ? &net_[at_] : nullptr;
        MadeBlock one = make_block(block, next, x, random_);
        x = one.layer(x);
        made.add(one.layer);
        codes.push_back(one.code);
        add(x, parameter_count(one.layer));
      }
    }
    code = fmt::format("Sequential{{{}}}", fmt::join(codes, ",\n      "));
    return made;
  }

  void add(const Tensor& x, Index parameters) {
    values_ += x.size() / x.shape()[0] * batch_;
    parameters_ += parameters;
    expect<ArgumentError>(values_ <= most_values,
                          "a batch has {} values up to this block; at most {} are possible: take a "
                          "smaller batch",
                          values_, most_values);
    expect<ArgumentError>(parameters_ <= most_parameters,
                          "the net has {} parameters with this block; at most {} are possible",
                          parameters_, most_parameters);
    blocks_.push_back(entry(x, parameters));
  }

  // Where it is; past the last block for the output.
  std::size_t current() const { return current_; }
  void begin_output() { current_ = at_; }

 private:
  std::size_t at_ = 0, current_ = 0;
  const Json& net_;
  Index batch_, parameters_ = 0, values_ = 0;
  Random& random_;
  Json& blocks_;
};

}  // namespace

std::string words(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "there is not enough memory";
  const std::string text = error.what();
  return text.ends_with(']') && text.find(".cpp:") != std::string::npos
             ? text.substr(0, text.rfind(" ["))
             : text;
}

double number(const Json& of, const char* name, double least, double most) {
  expect<ArgumentError>(of.contains(name) && of.at(name).is_number(), "{}: is not a number", name);
  const auto value = of.at(name).get<double>();
  expect<ArgumentError>(least <= value && value <= most, "{}: {}; {} to {} are possible", name,
                        value, least, most);
  return value;
}

Index whole(const Json& of, const char* name, Index least, Index most) {
  const double value = number(of, name, static_cast<double>(least), static_cast<double>(most));
  expect<ArgumentError>(value == std::floor(value), "{}: {} is not a whole number", name, value);
  return static_cast<Index>(value);
}

MadeData make_data(const Json& settings) {
  const Json& of = settings.at("data");
  const auto kind = of.at("kind").get<std::string>();
  Random random = Random(whole(settings, "seed", 0, 1'000'000'000)).stream(1);
  const std::vector<std::pair<std::string, MadeData (*)(const Json&, Random&)>> makers{
      {"points", make_points}, {"digits", make_digits}, {"text", make_text}};
  MadeData made = found(makers, "data", kind)(of, random);
  Data& data = made.data;
  data.training = static_cast<Index>(number(settings, "split", 0.1, 0.9) *
                                     static_cast<double>(data.labels.size()));
  if (kind == "text") {
    data.training -= data.length;
    expect<ArgumentError>(data.training > 0 && data.labels.size() > data.training + 2 * data.length,
                          "text: {} characters are too few for rows of {}", data.labels.size(),
                          data.length);
  }
  made.code += fmt::format(", {}, {}", data.training, data.length);
  made.code = "Data{" + made.code + "}";
  return made;
}

MadeNet make_net(const Json& settings, const Data& data) {
  MadeNet made;
  const Json& blocks = settings.at("net");
  expect<ArgumentError>(std::ssize(blocks) <= most_blocks,
                        "the net has {} blocks; at most {} are possible", blocks.size(),
                        most_blocks);
  Random random = Random(whole(settings, "seed", 0, 1'000'000'000)).stream(2);
  Builder builder(settings, random, made.blocks);
  try {
    std::string embedding = "{}", code;
    if (!data.x.defined()) {
      const Index channels = whole(settings.at("data"), "channels", 1, 512);
      made.net.embedding.emplace(data.classes, channels, random);
      embedding = fmt::format("Embedding({}, {}, random)", data.classes, channels);
    }
    Tensor x = made.net.first(examples(data, {0, 1}));
    made.net.blocks = builder.row(blocks.size(), x, code);
    builder.begin_output();
    const Index in = x.shape().rank() == 4 ? x.size() / x.shape()[0] : x.shape()[-1];
    made.net.output.emplace(in, data.classes, random);
    builder.add(made.net.last(x), parameter_count(*made.net.output));
    const auto init = settings.at("init").get<std::string>();
    const std::vector<std::pair<std::string, bool>> inits{
        {"default", true}, {"he", true}, {"xavier", true}, {"orthogonal", true}};
    found(inits, "init", init);
    initialize(made.net, init, random);
    made.code = fmt::format("Net{{{},\n      {},\n      Linear({}, {}, random)}}", embedding, code,
                            in, data.classes);
    made.fits = true;
  } catch (const std::exception& error) {
    while (made.blocks.size() <= builder.current()) made.blocks.push_back(Json::object());
    made.blocks[builder.current()] = {{"error", words(error)}};
  }
  return made;
}

namespace {

using Maker = std::function<MadeOptimizer(const std::vector<Parameter>&, double)>;

template <class Made, class Options>
Maker maker(const char* name, Options options = {}, const std::string& more = "") {
  return [=](const std::vector<Parameter>& of, double rate) -> MadeOptimizer {
    Options chosen = options;
    chosen.learning_rate = rate;
    return {std::make_unique<Made>(of, chosen),
            fmt::format("{}(of, {{.learning_rate = {:.17g}{}}})", name, rate, more)};
  };
}

const std::vector<std::pair<std::string, Maker>>& optimizers() {
  static const std::vector<std::pair<std::string, Maker>> all{
      {"sgd", maker<Sgd, SgdOptions>("Sgd")},
      {"momentum", maker<Sgd, SgdOptions>("Sgd", {.momentum = 0.9}, ", .momentum = 0.9")},
      {"nesterov", maker<Sgd, SgdOptions>("Sgd", {.momentum = 0.9, .nesterov = true},
                                          ", .momentum = 0.9, .nesterov = true")},
      {"adam", maker<Adam, AdamOptions>("Adam")},
      {"adamw", maker<AdamW, AdamWOptions>("AdamW")},
      {"rmsprop", maker<RmsProp, RmsPropOptions>("RmsProp")},
      {"adagrad", maker<Adagrad, AdagradOptions>("Adagrad")},
      {"adadelta", maker<Adadelta, AdadeltaOptions>("Adadelta")},
      {"lion", maker<Lion, LionOptions>("Lion")},
      {"lamb", maker<Lamb, LambOptions>("Lamb")},
      {"muon", maker<Muon, MuonOptions>("Muon")}};
  return all;
}

using ScheduleMaker = MadeSchedule (*)(double, Index);
const std::vector<std::pair<std::string, ScheduleMaker>>& schedules() {
  static const std::vector<std::pair<std::string, ScheduleMaker>> all{
      {"constant",
       [](double rate, Index) {
         return MadeSchedule{constant(rate), fmt::format("constant({:.17g})", rate)};
       }},
      {"cosine",
       [](double rate, Index steps) {
         return MadeSchedule{cosine(rate, steps), fmt::format("cosine({:.17g}, {})", rate, steps)};
       }},
      {"one_cycle",
       [](double rate, Index steps) {
         return MadeSchedule{one_cycle(rate, steps),
                             fmt::format("one_cycle({:.17g}, {})", rate, steps)};
       }},
      {"warmup",
       [](double rate, Index steps) {
         const Index rising = std::max<Index>(1, steps / 10);
         return MadeSchedule{warmup_inverse_sqrt(rate, rising),
                             fmt::format("warmup_inverse_sqrt({:.17g}, {})", rate, rising)};
       }},
      {"step", [](double rate, Index steps) {
         const Index every = (steps + 2) / 3;
         return MadeSchedule{step_decay(rate, every),
                             fmt::format("step_decay({:.17g}, {})", rate, every)};
       }}};
  return all;
}

}  // namespace

MadeOptimizer make_optimizer(const std::string& name, double rate,
                             const std::vector<Parameter>& of) {
  return found(optimizers(), "optimizer", name)(of, rate);
}

MadeSchedule make_schedule(const Json& settings) {
  return found(schedules(), "schedule", text_of(settings, "schedule"))(
      number(settings, "rate", 0, 1e9), whole(settings, "steps", 1, 100'000));
}

Json choices() {
  std::vector<std::string> norms = norm_names();
  for (const char* form : {"layer_simple", "detach_mean", "detach_variance", "detach"})
    for (const char* options : {":forward=identity", ":factor=1", ":forward=identity,factor=1"})
      norms.push_back(std::string(form) + options);
  return {{"activation", names_of(activations())},
          {"norm", norms},
          {"optimizer", names_of(optimizers())},
          {"schedule", names_of(schedules())},
          {"precision", own_precision}};
}

}  // namespace playground
