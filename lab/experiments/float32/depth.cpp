// What detaching the statistics of layer normalization costs Transformers: the comparison of Xu et
// al. 2019, tables 1 to 4, with character-level language models over a grid of initial values,
// placements of the norm, depths, widths, learning rates and steps. All detached systems have the
// forward pass of layer_simple; only gradients differ.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "data/char_text.h"
#include "experiments/char_models.h"
#include "experiments/detaching.h"
#include "experiments/study.h"
#include "support/grammar.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct DepthFlags {
  std::vector<std::string> inits{"library", "paper"};
  std::vector<std::string> placements{"pre"};
  std::vector<Index> layers{2, 6};
  std::vector<Index> channels{16, 32};
  std::vector<double> rates{1e-3, 3e-3};
  std::vector<Index> steps{100, 300};
  std::vector<std::string> norms = paper_norms;
  Index heads = 4;
  Index seq_len = 32;
  Index batch_size = 16;
  Index warmup = 100;

  void add_to(Flags& flags, StudyRun&) {
    flags
        .setting("--init", inits,
                 "Initial values: the library's, N(0, 0.02^2), or the paper's, of order 1")
        .check(one_of({"library", "paper"}));
    flags.setting("--placements", placements, "Norms before sub-layers, or after their residuals")
        .check(one_of({"pre", "post"}));
    flags.setting("--layers", layers, "Depths of the networks").check(between(1, 1000));
    flags.setting("--channels", channels, "Channels of the residual stream")
        .check(between(1, 1 << 16));
    flags.setting("--lr", rates, "Peak learning rates, at the end of the warmup").check(positive());
    flags.training("--steps", steps, "Optimizer steps after which networks are compared")
        .check(between(2, 1 << 30));
    flags.setting("--norms", norms, "Normalizations").check(readable);
    flags.training("--heads", heads, "Attention heads").check(between(1, 1 << 10));
    flags.training("--seq-len", seq_len, "Characters per row of a batch")
        .check(between(1, 1 << 16));
    flags.training("--batch-size", batch_size, "Rows per batch").check(between(1, 1 << 16));
    flags.training("--warmup", warmup, "Warmup steps; then the rate falls as 1 / sqrt(step)")
        .check(between(1, 1 << 30));
    flags.checks([this] { check(); });
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

  /// Throws FlagError for flags that conflict.
  void check() const {
    for (const Index width : channels)
      if (width % heads != 0)
        throw FlagError("--heads", fmt::format("{} do not divide {} channels", heads, width));
  }

  Index last_step() const { return *std::max_element(steps.begin(), steps.end()); }

  TransformerModelOptions model(const Column& column, const std::string& norm) const {
    const bool pre = column.placement == "pre";
    return {.stack = {.layers = column.layers,
                      .heads = heads,
                      .channels = column.channels,
                      .activation = Activation::relu,
                      .norm = NormSpec(norm),
                      .placement = pre ? NormPlacement::pre : NormPlacement::post},
            .positions = column.init == "paper" ? Positions::sinusoidal : Positions::learned,
            .length = seq_len};
  }
};

/// A text to learn, and its source.
struct Corpus {
  std::string source;
  CharText text;
};

Corpus make_corpus(const StudyRun& run, const DepthFlags& flags) {
  Random random = run.random().stream(7);
  const bool drawn = run.data.empty();
  const std::string source =
      drawn ? "sentences that this program draws from a small grammar" : run.data;
  return {source, text_to_learn(source, drawn ? grammar_text(4000, random) : read_text(run.data),
                                flags.seq_len)};
}

std::string to_string(const Spread& spread) {
  return std::isfinite(spread.mean) ? spread.to_string() : "diverges";
}

Outcome train(const DepthFlags& flags, const Column& column, const std::string& norm,
              const Corpus& corpus, const Trial& trial, Progress& progress) {
  Random random = trial.weights(), order = trial.batches();
  const TransformerLm net(corpus.text.characters.count(), random, flags.model(column, norm));
  if (column.init == "paper") initialize_like_paper(parameters(net.stack), random);
  const Learner learner{
      .net = fields(net), .steps = RunSteps::epochs(1, flags.last_step()), .loss = [&](Index) {
        const TextBatch batch =
            random_rows(corpus.text.training, flags.batch_size, flags.seq_len, order);
        return cross_entropy(net(batch.inputs, training(random)), batch.targets);
      }};
  Training updates(
      {.schedule = "warmup", .learning_rate = column.rate, .warmup = flags.warmup, .beta2 = 0.98},
      {}, learner.net, learner.steps.total);
  Outcome outcome;
  tapegrad::train(learner, updates, {.step = [&](Index step, double loss) {
                    outcome.curve.push_back({step, loss / std::log(2.0)});
                    if (std::ranges::find(flags.steps, step) != flags.steps.end())
                      outcome.values[validation_after(step).value] =
                          bits_a_character(net, corpus.text.rest, flags.seq_len);
                    progress.step(trial.number * learner.steps.total + step, loss);
                  }});
  return outcome;
}

/// The settings of the grid. Those that differ in their steps alone share their runs.
std::vector<Column> grid(const DepthFlags& flags) {
  std::vector<Column> columns;
  for (const std::string& init : flags.inits)
    for (const std::string& placement : flags.placements)
      for (const Index layers : flags.layers)
        for (const Index channels : flags.channels)
          for (const double rate : flags.rates)
            for (const Index steps : flags.steps)
              columns.push_back({init, placement, layers, channels, rate, steps});
  return columns;
}

/// Trains all networks of the grid. The bar counts their steps, in the order of the grid.
std::vector<Column> train_all(const StudyRun& run, const DepthFlags& flags, const Corpus& corpus) {
  std::vector<Column> columns = grid(flags);
  const std::size_t looks = flags.steps.size();
  Progress progress =
      run.progress(std::ssize(columns) / std::ssize(flags.steps) * std::ssize(flags.norms) *
                   run.comparison.seeds * flags.last_step());
  std::vector<System> systems;
  for (std::size_t i = 0; i < columns.size(); i += looks)
    for (const std::string& norm : flags.norms) {
      const Column& c = columns[i];
      systems.push_back({.name = fmt::format("{}_{}_{}_{}_{}_{}", c.init, c.placement, c.layers,
                                             c.channels, c.rate, norm),
                         .configuration = training_configuration(*run.flags),
                         .train = [&flags, &corpus, &progress, &c, norm](const Trial& trial) {
                           return train(flags, c, norm, corpus, trial, progress);
                         }});
    }
  const Metric end = validation_after(flags.last_step());
  const std::vector<Results> results = run.train(systems, [&](const Results& trained) {
    progress.line(fmt::format("{}: {} bits per character, {:.0f} s", trained.system,
                              to_string(trained.spread(end)), progress.seconds()));
  });
  for (std::size_t i = 0; i < columns.size(); ++i)
    for (std::size_t norm = 0; norm < flags.norms.size(); ++norm)
      columns[i].results[flags.norms[norm]] = results[i / looks * flags.norms.size() + norm];
  return columns;
}

/// What a norm loses against layer_simple: "+0.38 +- 0.02".
std::string cost(const Column& column, const std::string& norm) {
  const std::string reason = column.better("layer_simple", norm).reason;
  return reason.substr(0, reason.find(" ("));
}

/// What each norm loses against layer_simple, after the most steps at the highest rate.
HeatMap cost_map(const std::vector<Column>& columns, const DepthFlags& flags) {
  const double rate = *std::max_element(flags.rates.begin(), flags.rates.end());
  HeatMap map{.title = "What a norm loses against layer_simple",
              .rows = {},
              .columns = {},
              .values = {},
              .unit = "bits per character",
              .caption = fmt::format("The deeper the blue, the more a norm loses; below 0 it "
                                     "gains. Means over seeds after {} steps at the rate {}.",
                                     flags.last_step(), rate)};
  for (const std::string& norm : flags.norms)
    if (norm != "layer_simple") map.columns.push_back(norm);
  std::vector<Column> shown = columns;
  std::erase_if(shown,
                [&](const Column& c) { return c.rate != rate || c.steps != flags.last_step(); });
  for (const Column& column : shown) {
    map.rows.push_back(column.name(shown));
    map.values.emplace_back();
    for (const std::string& norm : map.columns)
      map.values.back().push_back(column.spread(norm).mean - column.spread("layer_simple").mean);
  }
  return map;
}

/// A row for each setting, since there are more settings than norms.
void tables(StudyRun& run, const std::vector<Column>& columns, const DepthFlags& flags) {
  Table losses{
      fmt::format("Validation loss in bits per character, mean and sample standard deviation "
                  "over {} seeds",
                  run.comparison.seeds),
      {"setting"},
      {}};
  Table costs{
      "What a norm loses against layer_simple, in bits per character: mean of paired seeds and "
      "half the width of its 95 % interval",
      {"setting"},
      {}};
  for (const std::string& norm : flags.norms) {
    losses.columns.push_back(norm);
    if (norm != "layer_simple") costs.columns.push_back(norm);
  }
  losses.columns.push_back("best");
  for (const Column& column : columns) {
    losses.rows.push_back({column.name(columns)});
    costs.rows.push_back({column.name(columns)});
    for (const std::string& norm : flags.norms) {
      losses.rows.back().push_back(to_string(column.spread(norm)));
      if (norm != "layer_simple" && column.results.contains("layer_simple"))
        costs.rows.back().push_back(cost(column, norm));
    }
    losses.rows.back().push_back(best_norm(column));
  }
  run.report.table(losses);
  if (!columns.front().results.contains("layer_simple")) return;
  run.report.table(costs);
  run.report.heat_map("costs", cost_map(columns, flags), Talk::yes);
}

/// Training curves of each network, one figure for all norms.
void figures(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  for (std::size_t i = 0; i < columns.size(); i += flags.steps.size()) {
    const Column& c = columns[i];
    Diagram diagram{fmt::format("Training loss: {}-norm, {} layers, {} channels, rate {}, {} init",
                                c.placement, c.layers, c.channels, c.rate, c.init),
                    "optimizer steps",
                    "bits per character",
                    {},
                    false,
                    "Detached forms compute the values of layer_simple; their gradients differ."};
    for (const std::string& norm : flags.norms) {
      diagram.series.push_back(thinned(mean_training_curve(c.of(norm))));
      diagram.series.back().name = norm;
    }
    report.figure(fmt::format("{}_{}_{}_{}_{}", c.init, c.placement, c.layers, c.channels, c.rate),
                  diagram);
  }
}

void claims(Report& report, const std::vector<Column>& columns, const DepthFlags& flags) {
  std::vector<ByNorm> settings;
  for (const Column& column : columns) settings.push_back(column.results);
  for (const Claim& claim : detaching_claims(settings)) report.claim(claim);
  for (const std::string& init : flags.inits) {
    std::vector<Column> chosen = columns;
    std::erase_if(chosen, [&](const Column& c) { return c.init != init; });
    report.paragraph(init == "library" ? "With the library's initial values:"
                                       : "With the initial values of the paper's code:");
    for (const JudgedClaim& claim : published_claims(chosen)) report.judged(claim);
  }
}

void introduce(Report& report, const Corpus& corpus, const DepthFlags& flags) {
  report.paragraph(
      fmt::format("Transformers learn to write, character by character, from {}: {} characters of "
                  "{} kinds to train on, {} for validation. {} heads, Adam, batches of {} x {} "
                  "characters. Systems with one seed begin with the same weights and see the same "
                  "batches. detach, detach_mean and detach_variance compute the values of "
                  "layer_simple, with other gradients (Xu et al. 2019, tables 2 and 3).",
                  corpus.source, corpus.text.training.size(), corpus.text.characters.count(),
                  corpus.text.rest.size(), flags.heads, flags.batch_size, flags.seq_len));
  report.paragraph(
      "\"library init\": all matrices, embeddings and learned positions are drawn from N(0, "
      "0.02^2), smaller at the ends of branches, as in GPT-2, so s begins at about 0.03. \"paper "
      "init\" follows the paper's code: sinusoids, embeddings of their size, and matrices from "
      "U(+-1/sqrt(inputs)), so s begins at about 1.");
}

void report_depth(StudyRun& run, const DepthFlags& flags) {
  const Corpus corpus = make_corpus(run, flags);
  introduce(run.report, corpus, flags);
  run.ledger.begin(run.name, corpus.text.digest());
  const std::vector<Column> columns = train_all(run, flags, corpus);
  tables(run, columns, flags);
  figures(run.report, columns, flags);
  const auto trained = [&](const std::string& norm) {
    return columns.front().results.contains(norm);
  };
  if (std::all_of(paper_norms.begin(), paper_norms.end(), trained))
    claims(run.report, columns, flags);
  else
    run.report.paragraph(
        fmt::format("No claims: they need the norms {}.", fmt::join(paper_norms, ", ")));
}

const registry::Entry entry([] {
  return with_flags<DepthFlags>(
      {.name = "depth",
       .summary = "Measures what detached statistics cost Transformers of several depths.",
       .title = "What detached statistics cost, shallow and deep",
       .seeds = 5,
       .data = {"Text file, plain or gzipped; without it, draws sentences"}},
      report_depth);
});

}  // namespace
