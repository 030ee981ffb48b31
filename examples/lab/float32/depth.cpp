// What detaching the statistics of layer normalization costs shallow and deep Transformers: the
// comparison of Xu et al. 2019, tables 2 and 3, with character-level language models. All detached
// systems have the forward pass of layer_simple; only gradients differ.

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/comparison.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "support/char_text.h"
#include "support/grammar.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct DepthFlags {
  std::vector<Index> layers{2, 6, 12};
  std::vector<std::string> placements{"pre", "post"};
  std::vector<std::string> norms{"none",        "layer",           "layer_simple", "detach",
                                 "detach_mean", "detach_variance", "ada"};
  ComparisonFlags comparison{.seeds = 2};
  Index steps = 120;
  Index channels = 32;
  Index heads = 4;
  Index seq_len = 32;
  Index batch_size = 16;
  double rate = 2e-3;
  Index warmup = 100;
  std::string data;
  bool quiet = false;

  void add_to(Flags& flags) {
    flags.setting("--layers", layers, "Depths of the networks")->check(between(1, 1000));
    flags.setting("--placements", placements, "Norms before sub-layers, or after their residuals")
        ->check(CLI::IsMember({"pre", "post"}));
    flags.setting("--norms", norms, "Normalizations")->check(readable);
    comparison.add_to(flags, 1);
    flags.training("--steps", steps, "Optimizer steps per training")->check(between(1, 1 << 30));
    flags.training("--channels", channels, "Channels of the residual stream")
        ->check(between(1, 1 << 16));
    flags.training("--heads", heads, "Attention heads")->check(between(1, 1 << 10));
    flags.training("--seq-len", seq_len, "Characters per row of a batch")
        ->check(between(1, 1 << 16));
    flags.training("--batch-size", batch_size, "Rows per batch")->check(between(1, 1 << 16));
    flags.training("--lr", rate, "Peak learning rate, at the end of the warmup")->check(positive());
    flags.training("--warmup", warmup, "Warmup steps; then the rate falls as 1 / sqrt(step)")
        ->check(between(1, 1 << 30));
    flags.setting("--data", data, "Text file, plain or gzipped; without it, draws sentences")
        ->check(file_name());
    flags.setting("--quiet", quiet, "No progress on standard error");
  }

  /// "" for a normalization that suits a Transformer, otherwise what is wrong.
  static std::string readable(const std::string& norm) {
    try {
      expect_transformer_norm(NormSpec(norm));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// Throws CLI::ValidationError for flags that conflict.
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

/// A text to learn, and its source.
struct Corpus {
  std::string source;
  CharText text;
};

Corpus make_corpus(const DepthFlags& flags) {
  Random random = Random(flags.comparison.seed).stream(7);
  const bool drawn = flags.data.empty();
  const std::string source =
      drawn ? "sentences that this program draws from a small grammar" : flags.data;
  const std::string text = drawn ? grammar_text(4000, random) : read_text(flags.data);
  expect<DataError>(!text.empty(), "{}: it is empty", source);
  Corpus corpus{source, CharText(text)};
  expect<DataError>(corpus.text.training.size() > flags.seq_len && corpus.text.rest.size() >= 2,
                    "{}: {} characters are too few for --seq-len {}", source, text.size(),
                    flags.seq_len);
  return corpus;
}

const Metric validation{.value = "validation"};  // the loss, in bits a character

std::string to_string(const Results& results) {
  const Spread spread = results.spread(validation);
  if (!std::isfinite(spread.mean)) return "diverges";
  return results.trainings.size() == 1 ? fmt::format("{:.3f}", spread.mean) : spread.to_string();
}

double validation_loss(const TransformerLm& net, const Indices& text, Index length) {
  constexpr Index rows = 64;
  double total = 0;
  for (const auto& group : text_blocks(text, rows, length))
    for (const auto& [inputs, targets] : group)
      total += cross_entropy(net(inputs), targets).item() * static_cast<double>(targets.size());
  return bits(total / static_cast<double>(text.size() - 1));
}

/// Initializes matrices as U(+-1/sqrt(inputs)), like the paper's code. Values are then of order 1
/// from the start, so the detached scale is not tiny.
TransformerLm make_net(Index vocabulary, const TransformerModelOptions& model, Random& random) {
  const TransformerLm net(vocabulary, random, model);
  for (Parameter& parameter : parameters(net.stack)) {
    if (parameter.shape().rank() != 2) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(parameter.shape()[0]));
    parameter.set(random.uniform(parameter.shape(), -bound, bound));
  }
  return net;
}

/// A column of the table: the placement of a network's norms, and its depth.
struct Column {
  std::string placement;
  Index depth;
  std::map<std::string, Results> results = {};  // by norm

  std::string name() const { return fmt::format("{}, {} layers", placement, depth); }
  double mean(const std::string& norm) const { return results.at(norm).spread(validation).mean; }
  /// What a norm loses against layer_simple, in bits a character.
  double cost(const std::string& norm) const { return mean(norm) - mean("layer_simple"); }
  /// The least cost of detaching the scale, with or without the mean.
  double scale_cost() const { return std::min(cost("detach"), cost("detach_variance")); }
  /// The root of the mean variance over seeds, for all systems that converge.
  double spread() const {
    double sum = 0, count = 0;
    for (const auto& [norm, found] : results)
      if (const Spread spread = found.spread(validation); std::isfinite(spread.mean))
        sum += std::pow(spread.deviation, 2), ++count;
    return std::sqrt(sum / count);
  }
};

Outcome train(const TransformerModelOptions& model, const DepthFlags& flags, const Corpus& corpus,
              const Trial& trial, Progress& progress) {
  Random random = trial.weights(), order = trial.batches();
  const TransformerLm net = make_net(corpus.text.characters.count(), model, random);
  Adam adam(parameters(net), {.beta2 = 0.98});
  const Schedule rate = warmup_inverse_sqrt(flags.rate, flags.warmup);
  Outcome outcome;
  for (Index step = 1; step <= flags.steps; ++step) {
    const auto [inputs, targets] =
        random_rows(corpus.text.training, flags.batch_size, flags.seq_len, order);
    const Tape tape;
    const Tensor loss = cross_entropy(net(inputs, training(random)), targets);
    adam.set_learning_rate(rate(adam.steps()));
    adam.step(grad(loss, adam.parameters()));
    outcome.curve.push_back({step, bits(loss.item())});
    progress.step(trial.number * flags.steps + step, loss.item());
  }
  outcome.values[validation.value] = validation_loss(net, corpus.text.rest, flags.seq_len);
  return outcome;
}

/// Trains all networks. The bar counts their steps, in the order of the table.
std::vector<Column> train_all(const DepthFlags& flags, const Corpus& corpus,
                              const Comparison& comparison, const Json& configuration) {
  const auto networks =
      static_cast<Index>(flags.placements.size() * flags.layers.size() * flags.norms.size());
  Progress progress(networks * flags.comparison.seeds * flags.steps, 0,
                    flags.quiet || !comparison.is_first());
  std::vector<Column> columns;
  std::vector<System> systems;
  for (const std::string& placement : flags.placements)
    for (const Index layers : flags.layers) {
      columns.push_back({placement, layers});
      for (const std::string& norm : flags.norms) {
        const TransformerModelOptions model = flags.model(placement, layers, norm);
        systems.push_back({.name = fmt::format("{}_{}_{}", placement, layers, norm),
                           .configuration = configuration,
                           .train = [&, model](const Trial& trial) {
                             return train(model, flags, corpus, trial, progress);
                           }});
      }
    }
  const std::vector<Results> results = comparison.train(systems, [&](const Results& trained) {
    progress.line(fmt::format("{}: {} bits a character, {:.0f} s", trained.system,
                              to_string(trained), progress.seconds()));
  });
  auto next = results.begin();
  for (Column& column : columns)
    for (const std::string& norm : flags.norms) column.results[norm] = *next++;
  return columns;
}

void tables(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  const Index seeds = flags.comparison.seeds;
  const std::string over =
      seeds == 1 ? "one seed"
                 : fmt::format("mean and spread over {} seeds (sample standard deviation)", seeds);
  Table losses{"Validation loss in bits a character, " + over, {"norm"}, {}};
  Table costs{"What a norm loses against layer_simple, in bits a character", {"norm"}, {}};
  for (const Column& column : columns) {
    losses.columns.push_back(column.name());
    costs.columns.push_back(column.name());
  }
  for (const std::string& norm : flags.norms) {
    losses.rows.push_back({norm});
    costs.rows.push_back({norm});
    for (const Column& column : columns) {
      losses.rows.back().push_back(to_string(column.results.at(norm)));
      if (column.results.contains("layer_simple"))
        costs.rows.back().push_back(fmt::format("{:+.3f}", column.cost(norm)));
    }
  }
  report.table(losses);
  if (columns.front().results.contains("layer_simple")) report.table(costs);
}

/// The columns with one placement.
std::vector<Column> placed(std::vector<Column> columns, const std::string& placement) {
  std::erase_if(columns, [&](const Column& c) { return c.placement != placement; });
  return columns;
}

void figures(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  for (const std::string& placement : flags.placements) {
    const std::string title = fmt::format("Validation loss and depth, {}-norm", placement);
    Diagram diagram{title, "layers", "bits a character", {}};
    for (const std::string& norm : flags.norms) {
      Series series{norm, {}};
      for (const Column& column : placed(columns, placement)) {
        const Spread spread = column.results.at(norm).spread(validation);
        series.points.emplace_back(column.depth, spread.mean);
        if (flags.comparison.seeds > 1) series.deviations.push_back(spread.deviation);
      }
      diagram.series.push_back(series);
    }
    report.figure(placement + "_depth", diagram);
  }
  for (const Column& column : columns) {
    const std::string title =
        fmt::format("Training loss, {}-norm, {} layers", column.placement, column.depth);
    Diagram diagram{title, "optimizer steps", "bits a character", {}};
    for (const std::string& norm : flags.norms) {
      diagram.series.push_back(thinned(mean_training_curve(column.results.at(norm))));
      diagram.series.back().name = norm;
    }
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

// depths: the columns of one placement, from shallow to deep
void growth_claim(Report& report, const std::string& placement, const std::vector<Column>& depths) {
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

void not_claimed(Report& report, const std::vector<Column>& post) {
  if (post.empty()) return;
  report.paragraph(fmt::format(
      "Not claimed: that ada is close to layer_simple in post-norm. Against it, it loses, in "
      "bits and in parts of what detaching the scale costs: {}.",
      listed(post, [](const Column& c) {
        return fmt::format("{:+.3f} ({:+.0f} %)", c.cost("ada"),
                           100 * c.cost("ada") / c.scale_cost());
      })));
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
    for (const std::string& placement : flags.placements)
      growth_claim(report, placement, placed(columns, placement));
  report.claim(
      "Detaching the mean costs next to nothing: less than a tenth of the cost of detaching the "
      "scale.",
      listed(columns,
             [](const Column& c) {
               return fmt::format("{:+.3f} ({:+.1f} %)", c.cost("detach_mean"),
                                  100 * c.cost("detach_mean") / c.scale_cost());
             }),
      all([](const Column& c) { return c.cost("detach_mean") < 0.1 * c.scale_cost(); }));

  // The paper compares pre-norm only, and ada behaves differently after the residual.
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
  not_claimed(report, placed(columns, "post"));
}

void introduce(Report& report, const Corpus& corpus, const DepthFlags& flags) {
  report.paragraph(fmt::format(
      "Transformers learn to write, character after character, from {}: {} characters of {} "
      "kinds to train on, {} for validation. {} channels, {} heads, {} steps of {} x {} "
      "characters. Systems of one seed see the same batches from the same initial weights. In "
      "values detach, detach_mean and detach_variance are layer_simple; what differs is the "
      "gradient (Xu et al. 2019, tables 2 and 3).",
      corpus.source, corpus.text.training.size(), corpus.text.characters.count(),
      corpus.text.rest.size(), flags.channels, flags.heads, flags.steps, flags.batch_size,
      flags.seq_len));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  DepthFlags depth;
  Report report;
  Ledger ledger;
  depth.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    depth.check();
    set_threads(depth.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "What detached statistics cost, shallow and deep",
                 command_line(argc, argv), cluster.is_first());
    const Corpus corpus = make_corpus(depth);
    introduce(report, corpus, depth);
    ledger.begin(self.name, corpus.text.digest());
    const Comparison comparison(cluster, ledger, depth.comparison);
    const std::vector<Column> columns =
        train_all(depth, corpus, comparison, training_configuration(flags));
    tables(report, columns, depth);
    figures(report, columns, depth);
    const auto trained = [&](const char* norm) { return columns.front().results.contains(norm); };
    if (depth.comparison.seeds > 1 && trained("layer") && trained("layer_simple") &&
        trained("ada") && trained("detach") && trained("detach_mean") && trained("detach_variance"))
      claims(report, columns, depth);
    else
      report.paragraph("No claims: they need two seeds and every norm but none.");
    return report.finish();
  });
}

const registry::Entry entry({"depth",
                             "Measures what detached statistics cost Transformers of several "
                             "depths.",
                             run, true});

}  // namespace
