// What detaching the statistics of layer normalization costs a Transformer, shallow and deep: the
// comparison of Xu et al. 2019, tables 2 and 3, with language models over characters. The values of
// the forward pass are those of layer_simple in all detached systems; only gradients differ.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "support/grammar.h"
#include "support/report.h"
#include "support/spread.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/progress.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct DepthFlags {
  std::vector<Index> layers{2, 6, 12};
  std::vector<std::string> placements{"pre", "post"};
  std::vector<std::string> norms{"none",        "layer",           "layer_simple", "detach",
                                 "detach_mean", "detach_variance", "ada"};
  Index seeds = 2;
  Index steps = 120;
  Index channels = 32;
  Index heads = 4;
  Index seq_len = 32;
  Index batch_size = 16;
  double rate = 2e-3;
  Index warmup = 100;
  std::string data;
  std::uint64_t seed = 1;
  int threads = tapegrad::threads();
  bool quiet = false;

  void add_to(Flags& flags) {
    flags.setting("--layers", layers, "Depths of the networks")->check(between(1, 1000));
    flags.setting("--placements", placements, "Norms before sub-layers, or after their residuals")
        ->check(CLI::IsMember({"pre", "post"}));
    flags.setting("--norms", norms, "Normalizations")->check(readable);
    flags.setting("--seeds", seeds, "Trainings of each network")->check(between(1, 1000));
    flags.setting("--steps", steps, "Optimizer steps of a training")->check(between(1, 1 << 30));
    flags.setting("--channels", channels, "Channels of a character")->check(between(1, 1 << 16));
    flags.setting("--heads", heads, "Attention heads")->check(between(1, 1 << 10));
    flags.setting("--seq-len", seq_len, "Characters in a row of a batch")
        ->check(between(1, 1 << 16));
    flags.setting("--batch-size", batch_size, "Rows of a batch")->check(between(1, 1 << 16));
    flags.setting("--lr", rate, "Learning rate at the end of its warmup");
    flags.setting("--warmup", warmup, "Steps until then; from there on 1 / sqrt(step)")
        ->check(between(1, 1 << 30));
    flags.setting("--data", data, "Text file, plain or gzipped; without it, draws sentences");
    flags.setting("--seed", seed, "First seed of weights and batches; seed of the drawn text");
    flags.setting("--threads", threads, "Threads to use; results do not depend on it")
        ->check(between(1, 1024));
    flags.setting("--quiet", quiet, "No progress on standard error");
  }

  /// "" for a normalization that fits a Transformer, otherwise what is wrong.
  static std::string readable(const std::string& norm) {
    try {
      expect_transformer_norm(NormSpec(norm));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// Refuses flags that do not go together. Throws CLI::ValidationError.
  void check() const {
    if (channels % heads != 0)
      throw CLI::ValidationError("--heads",
                                 fmt::format("{} do not divide {} channels", heads, channels));
  }

  TransformerModelOptions model(const std::string& placement, Index depth,
                                const std::string& norm) const {
    return {.stack = {.layers = depth,
                      .heads = heads,
                      .channels = channels,
                      .activation = Activation::relu,
                      .norm = NormSpec(norm),
                      .placement = placement == "pre" ? NormPlacement::pre : NormPlacement::post},
            .positions = Positions::sinusoidal};
  }
};

double bits(double nats) { return nats / std::log(2.0); }

/// A text to learn, its last tenth held out.
struct Corpus {
  std::string source;
  Index characters;
  Indices train, rest;

  Corpus(const DepthFlags& flags, const std::string& text, std::string from)
      : source(std::move(from)), characters(0) {
    expect<DataError>(!text.empty(), "{}: it is empty", source);
    const Characters known(text);
    characters = known.count();
    const Indices ids = known.encode(text);
    const Index split = ids.size() * 9 / 10;
    train = part(ids, 0, split);
    rest = part(ids, split, ids.size());
    expect<DataError>(train.size() > flags.seq_len && rest.size() >= 2,
                      "{}: {} characters are too few for --seq-len {}", source, ids.size(),
                      flags.seq_len);
  }
};

Corpus make_corpus(const DepthFlags& flags) {
  if (flags.data.empty()) {
    constexpr Index sentences = 4000;
    Random random = Random(flags.seed).stream(7);
    return {flags, grammar_text(sentences, random),
            "sentences that this program draws from a small grammar"};
  }
  return {flags, read_text(flags.data), flags.data};
}

/// The trainings of one network with several seeds.
struct Outcome {
  std::vector<double> losses = {};  // of the validation, in bits a character, by seed
  std::vector<double> curve = {};   // mean training loss of each step

  double mean() const { return Spread(losses).mean; }
  double variance() const { return std::pow(Spread(losses).deviation, 2); }
  std::string text() const {
    if (!std::isfinite(mean())) return "diverges";
    return losses.size() == 1 ? fmt::format("{:.3f}", mean()) : Spread(losses).text();
  }
};

double validation_loss(const TransformerLm& net, const Indices& text, Index length) {
  constexpr Index rows = 64;
  double total = 0;
  for (const auto& group : text_blocks(text, rows, length))
    for (const auto& [inputs, targets] : group)
      total += cross_entropy(net(inputs), targets).item() * static_cast<double>(targets.size());
  return bits(total / static_cast<double>(text.size() - 1));
}

/// The initial weights of the paper's code, whose matrices are U(+-1/sqrt(inputs)): with values of
/// the size of 1 from the start, the detached scale is not tiny.
TransformerLm make_net(Index vocabulary, const TransformerModelOptions& model, Random& random) {
  const TransformerLm net(vocabulary, random, model);
  for (Parameter& parameter : parameters(net.stack)) {
    if (parameter.shape().rank() != 2) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(parameter.shape()[0]));
    parameter.set(random.uniform(parameter.shape(), -bound, bound));
  }
  return net;
}

/// Trains one network after another; the bar counts the steps of all.
class Laboratory {
 public:
  Laboratory(const DepthFlags& flags, const Corpus& corpus, Index trainings)
      : flags_(flags), corpus_(corpus), progress_(trainings * flags.steps, 0, flags.quiet) {}

  Outcome train(const std::string& placement, Index depth, const std::string& norm) {
    Outcome outcome;
    outcome.curve.resize(static_cast<std::size_t>(flags_.steps));
    for (Index i = 0; i < flags_.seeds; ++i)
      train_once(flags_.model(placement, depth, norm), flags_.seed + static_cast<std::uint64_t>(i),
                 outcome);
    progress_.line(fmt::format("{}, {} layers, {}: {} bits a character, {:.0f} s", placement, depth,
                               norm, outcome.text(), progress_.seconds()));
    return outcome;
  }

 private:
  void train_once(const TransformerModelOptions& model, std::uint64_t seed, Outcome& outcome) {
    Random random(seed), order = Random(seed).stream(0);
    const TransformerLm net = make_net(corpus_.characters, model, random);
    Adam adam(parameters(net), {.beta2 = 0.98});
    const Schedule rate = warmup_inverse_sqrt(flags_.rate, flags_.warmup);
    for (double& point : outcome.curve) {
      const auto [inputs, targets] =
          random_rows(corpus_.train, flags_.batch_size, flags_.seq_len, order);
      const Tape tape;
      const Tensor loss = cross_entropy(net(inputs, training(random)), targets);
      adam.set_rate(rate(adam.steps()));
      adam.step(grad(loss, adam.parameters()));
      point += bits(loss.item()) / static_cast<double>(flags_.seeds);
      progress_.step(++done_, loss.item());
    }
    const double loss = validation_loss(net, corpus_.rest, flags_.seq_len);
    outcome.losses.push_back(std::isfinite(loss) ? loss : INFINITY);
  }

  const DepthFlags& flags_;
  const Corpus& corpus_;
  Progress progress_;
  Index done_ = 0;
};

/// Where the norms of a network stand, and how deep it is: a column of the table.
struct Column {
  std::string placement;
  Index depth;
  std::map<std::string, Outcome> outcomes = {};  // by norm

  std::string name() const { return fmt::format("{}, {} layers", placement, depth); }
  /// What a norm loses against layer_simple, in bits a character.
  double cost(const std::string& norm) const {
    return outcomes.at(norm).mean() - outcomes.at("layer_simple").mean();
  }
  /// What detaching the scale costs at the least, with or without the mean.
  double scale_cost() const { return std::min(cost("detach"), cost("detach_variance")); }
  /// The root of the mean variance over seeds, of all systems that converge.
  double spread() const {
    double sum = 0, count = 0;
    for (const auto& [norm, outcome] : outcomes)
      if (std::isfinite(outcome.mean())) sum += outcome.variance(), ++count;
    return std::sqrt(sum / count);
  }
};

void tables(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  Table losses{fmt::format("Validation loss in bits a character, {}",
                           flags.seeds == 1 ? "one seed"
                                            : fmt::format("mean and spread over {} seeds (sample "
                                                          "standard deviation)",
                                                          flags.seeds)),
               {"norm"},
               {}};
  Table costs{"What a norm loses against layer_simple, in bits a character", {"norm"}, {}};
  for (const Column& column : columns) {
    losses.columns.push_back(column.name());
    costs.columns.push_back(column.name());
  }
  for (const std::string& norm : flags.norms) {
    losses.rows.push_back({norm});
    costs.rows.push_back({norm});
    for (const Column& column : columns) {
      losses.rows.back().push_back(column.outcomes.at(norm).text());
      if (column.outcomes.contains("layer_simple"))
        costs.rows.back().push_back(fmt::format("{:+.3f}", column.cost(norm)));
    }
  }
  report.table(losses);
  if (columns.front().outcomes.contains("layer_simple")) report.table(costs);
}

/// A curve as means over about fifty stretches of equal length.
Series thinned(const std::string& name, const std::vector<double>& curve) {
  const std::size_t stretch = std::max<std::size_t>(1, curve.size() / 50);
  Series series{name, {}};
  for (std::size_t end = stretch; end <= curve.size(); end += stretch) {
    double sum = 0;
    for (std::size_t i = end - stretch; i < end; ++i) sum += curve[i];
    series.points.emplace_back(static_cast<double>(end), sum / static_cast<double>(stretch));
  }
  return series;
}

void figures(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  for (const std::string& placement : flags.placements) {
    Diagram diagram{fmt::format("Validation loss and depth, {}-norm", placement),
                    "layers",
                    "bits a character",
                    {}};
    for (const std::string& norm : flags.norms) {
      Series series{norm, {}};
      for (const Column& column : columns)
        if (column.placement == placement)
          series.points.emplace_back(column.depth, column.outcomes.at(norm).mean());
      diagram.series.push_back(series);
    }
    report.figure(placement + "_depth", diagram);
  }
  for (const Column& column : columns) {
    Diagram diagram{
        fmt::format("Training loss, {}-norm, {} layers", column.placement, column.depth),
        "optimizer steps",
        "bits a character",
        {}};
    for (const std::string& norm : flags.norms)
      diagram.series.push_back(thinned(norm, column.outcomes.at(norm).curve));
    report.figure(fmt::format("{}_{}", column.placement, column.depth), diagram);
  }
}

/// "pre, 2 layers 0.79; ..."
template <class Value>
std::string listed(const std::vector<Column>& columns, const Value& value) {
  std::string text;
  for (const Column& column : columns)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", column.name(), value(column));
  return text;
}

void claims(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  const auto all = [&](const auto& property) {
    return std::all_of(columns.begin(), columns.end(), property);
  };
  report.claim(
      "Detaching the scale costs at every depth more than three times the spread over seeds.",
      listed(columns,
             [](const Column& c) {
               return fmt::format("costs {:.3f} at a spread of {:.3f}", c.scale_cost(), c.spread());
             }),
      all([](const Column& c) { return c.scale_cost() > 3 * c.spread(); }));

  if (flags.layers.size() > 1)
    for (const std::string& placement : flags.placements) {
      std::vector<Column> depths;
      std::copy_if(columns.begin(), columns.end(), std::back_inserter(depths),
                   [&](const Column& c) { return c.placement == placement; });
      const Column &shallow = depths.front(), &deep = depths.back();
      const double growth = deep.scale_cost() - shallow.scale_cost();
      const double spread = std::max(deep.spread(), shallow.spread());
      report.claim(
          fmt::format("Its cost grows with depth, {}-norm: from {} to {} layers by more than the "
                      "spread.",
                      placement, shallow.depth, deep.depth),
          fmt::format("from {:.3f} to {:.3f} bits, that is by {:.3f} at a spread of {:.3f}",
                      shallow.scale_cost(), deep.scale_cost(), growth, spread),
          growth > spread);
    }

  report.claim(
      "Detaching the mean costs next to nothing: less than a tenth of the cost of detaching the "
      "scale.",
      listed(columns,
             [](const Column& c) {
               return fmt::format("{:+.3f} ({:+.1f} %)", c.cost("detach_mean"),
                                  100 * c.cost("detach_mean") / c.scale_cost());
             }),
      all([](const Column& c) { return c.cost("detach_mean") < 0.1 * c.scale_cost(); }));

  // The paper compares pre-norm only, and ada behaves otherwise after the residual.
  const auto apart = [](const Column& c) {
    const double layer = std::abs(c.cost("layer"));
    return c.placement == "pre" ? std::max(layer, std::abs(c.cost("ada"))) : layer;
  };
  report.claim(
      "layer and layer_simple are close to each other, and in pre-norm so is ada: they differ by "
      "less than a fifth of what detaching the scale costs.",
      listed(columns,
             [&](const Column& c) {
               return fmt::format("{:.3f} ({:.0f} %)", apart(c), 100 * apart(c) / c.scale_cost());
             }),
      all([&](const Column& c) { return apart(c) < c.scale_cost() / 5; }));
  std::vector<Column> post;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(post),
               [](const Column& c) { return c.placement == "post"; });
  if (!post.empty())
    report.paragraph(fmt::format(
        "Not claimed: that ada is close to layer_simple in post-norm. Against it, it loses, in "
        "bits and in parts of what detaching the scale costs: {}.",
        listed(post, [](const Column& c) {
          return fmt::format("{:+.3f} ({:+.0f} %)", c.cost("ada"),
                             100 * c.cost("ada") / c.scale_cost());
        })));
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("depth", "Measures what detached statistics cost Transformers of several depths.");
  DepthFlags depth;
  Report report;
  depth.add_to(flags);
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    depth.check();
    set_threads(depth.threads);
    report.begin("depth", "What detached statistics cost, shallow and deep",
                 command_line(argc, argv));
    const Corpus corpus = make_corpus(depth);
    report.paragraph(fmt::format(
        "Transformers learn to write, character after character, from {}: {} characters of {} "
        "kinds to train on, {} for validation. {} channels, {} heads, {} steps of {} x {} "
        "characters. Systems of one seed see the same batches from the same initial weights. In "
        "values detach, detach_mean and detach_variance are layer_simple; what differs is the "
        "gradient (Xu et al. 2019, tables 2 and 3).",
        corpus.source, corpus.train.size(), corpus.characters, corpus.rest.size(), depth.channels,
        depth.heads, depth.steps, depth.batch_size, depth.seq_len));

    const auto networks =
        static_cast<Index>(depth.placements.size() * depth.layers.size() * depth.norms.size());
    Laboratory laboratory(depth, corpus, networks * depth.seeds);
    std::vector<Column> columns;
    for (const std::string& placement : depth.placements)
      for (const Index layers : depth.layers) {
        columns.push_back({placement, layers});
        for (const std::string& norm : depth.norms)
          columns.back().outcomes[norm] = laboratory.train(placement, layers, norm);
      }
    tables(report, columns, depth);
    figures(report, columns, depth);

    const auto trained = [&](const char* norm) { return columns.front().outcomes.contains(norm); };
    if (depth.seeds > 1 && trained("layer") && trained("layer_simple") && trained("ada") &&
        trained("detach") && trained("detach_mean") && trained("detach_variance"))
      claims(report, columns, depth);
    else
      report.paragraph("No verdicts: they need two seeds and every norm but none.");
    return report.finish();
  });
}
