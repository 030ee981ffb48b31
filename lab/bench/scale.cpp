// Measures how cost grows: time with length, width, batch and threads, memory of the tape with
// length and depth. What can be exact is claimed and checked.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/report.h"
#include "scale_measures.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::bench;
using namespace tapegrad::lab;

namespace {

struct ScaleFlags {
  Index length = 1024;
  Index width = 1024;
  Index depth = 32;
  Index batch = 1024;
  double seconds = 0.6;
  int threads = tapegrad::threads();

  void add_to(Flags& flags) {
    flags.setting("--length", length, "Longest sequence").check(between(64, 1 << 14));
    flags.setting("--width", width, "Most hidden units and channels").check(between(128, 1 << 12));
    flags.setting("--depth", depth, "Most blocks of a Transformer").check(between(2, 1 << 10));
    flags.setting("--batch", batch, "Largest batch").check(between(2, 1 << 16));
    flags.setting("--seconds", seconds, "Time for each point of a curve").check(between(0.0, 60.0));
    flags
        .setting("--threads", threads,
                 "Threads to use, and most of those that are compared: 1, 2, 4, ...")
        .check(between(1, 1024));
  }
};

// first, 2 first, 4 first, ... up to last.
std::vector<Index> doublings(Index first, Index last) {
  std::vector<Index> values;
  for (Index value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

// The exponent p of the curve c x^p that lies closest, on logarithmic axes.
double slope(const Series& series) {
  double x_mean = 0, y_mean = 0, product = 0, square = 0;
  const double count = series.points.size();
  for (const auto& [x, y] : series.points)
    x_mean += std::log(x) / count, y_mean += std::log(y) / count;
  for (const auto& [x, y] : series.points) {
    product += (std::log(x) - x_mean) * (std::log(y) - y_mean);
    square += (std::log(x) - x_mean) * (std::log(x) - x_mean);
  }
  return product / square;
}

class ScaleMeasurements {
 public:
  ScaleMeasurements(const ScaleFlags& flags, Report& report) : flags_(flags), report_(report) {}

  void time_by_length() {
    constexpr Index batch = 8;
    Series lstm{"LSTM", {}}, transformer{"Transformer", {}};
    const CharRnn recurrent = make_lstm(256);
    const TransformerLm attentive = make_transformer(128, flags_.length);
    for (const Index length : doublings(16, flags_.length)) {
      add(lstm, length, gradients_of(recurrent, {length, batch}), length * batch);
      add(transformer, length, gradients_of(attentive, {batch, length}), length * batch);
    }
    show("length", {"Time against length", "length", "microseconds per token", {lstm, transformer}},
         "Forward, loss and backward of an LSTM with 256 hidden units and of a Transformer with 4 "
         "layers and 128 channels, batch 8.");
  }

  void time_by_width() {
    constexpr Index length = 64, batch = 16;
    Series lstm{"LSTM", {}}, transformer{"Transformer", {}};
    for (const Index width : doublings(64, flags_.width)) {
      add(lstm, width, gradients_of(make_lstm(width), {length, batch}), length * batch);
      add(transformer, width, gradients_of(make_transformer(width, length), {batch, length}),
          length * batch);
    }
    show("width",
         {"Time against width",
          "hidden units or channels",
          "microseconds per token",
          {lstm, transformer}},
         "The same networks, 64 tokens, batch 16.");
  }

  void time_by_batch() {
    Series step{"training step", {}}, gradients{"gradients", {}}, values{"values", {}};
    for (const Index batch : doublings(1, flags_.batch)) {
      const Mlp net = make_mlp();
      const Tensor images = Random(2).uniform({batch, 784});
      const Indices labels({batch}, std::vector<Index>(batch, 3));
      add(step, batch, run_on_images(net, batch).step, batch);
      const auto sweep = [=, weights = parameters(net)] {
        const Tape tape;
        grad(cross_entropy(net(images), labels), weights);
      };
      add(gradients, batch, sweep, batch);
      add(
          values, batch, [=] { net(images); }, batch);
    }
    show("batch",
         {"Time against batch", "batch", "microseconds per example", {step, gradients, values}},
         "An MLP 784-1024-1024-10 with layer normalization: a training step with Adam, its "
         "gradients without the optimizer, and the values alone.");
  }

  void time_by_threads() {
    const auto workloads = runs();
    std::set<Index> counts{1, 2, flags_.threads};
    for (const Index count : doublings(1, flags_.threads)) counts.insert(count);
    Diagram diagram{"Time against threads", "threads", "milliseconds per step", {}, true};
    Table table{"A training step with 1, 2, ... threads, milliseconds", {"network"}, {}};
    for (const Index count : counts) table.columns.push_back(fmt::format("{}", count));
    table.columns.push_back("speed-up");
    table.columns.push_back("weights after three steps");
    std::vector<std::string> differing;
    for (const auto& [name, make] : workloads) {
      const auto [series, digests] = with_threads(name, make, counts);
      std::vector<std::string> row{name};
      for (const auto& [count, time] : series.points) row.push_back(number(time));
      double best = INFINITY;
      for (const auto& [count, time] : series.points) best = std::min(best, time);
      row.push_back(fmt::format("{:.2f}", series.points.front().second / best));
      row.push_back(fmt::format("{}", fmt::join(digests, " or ")));
      if (digests.size() > 1) differing.push_back(name);
      table.rows.push_back(row);
      diagram.series.push_back(series);
    }
    set_threads(flags_.threads);
    report_.table(table);
    keep("threads", diagram);
    report_.claim("any number of threads gives the same bits",
                  differing.empty()
                      ? fmt::format("one digest for each of {} networks, with {} threads",
                                    workloads.size(), fmt::join(counts, ", "))
                      : fmt::format("several digests of: {}", fmt::join(differing, ", ")),
                  differing.empty());
  }

  void memory_by_length() {
    constexpr Index batch = 8;
    const CharRnn net = make_lstm(256);
    Series whole{"whole", {}}, chunks{"in chunks", {}};
    bool same = true;
    for (const Index length : doublings(16, flags_.length)) {
      Random random(2);
      const Indices ids = random_ids({length, batch}, random);
      const Index chunk = chunk_of(length);
      const Swept again = sweep_chunks(net, ids, chunk, true);
      whole.points.emplace_back(length, sweep_chunks(net, ids, length, false).megabytes);
      chunks.points.emplace_back(length, again.megabytes);
      same = same && again.gradients == sweep_chunks(net, ids, chunk, false).gradients;
    }
    show("memory_lstm",
         {"Memory of an LSTM against length", "length", "MB at most", {whole, chunks}},
         "The most that the tape holds beside the weights, forward and backward: an LSTM with 256 "
         "hidden units, batch 8, over the whole sequence, and in chunks of about the root of its "
         "length under `recompute`.");
    claim_slope("an LSTM keeps memory in proportion to the length", whole, 1, 0.05);
    claim_slope("in recomputed chunks it keeps memory like the root of the length", chunks, 0.5,
                0.1);
    report_.claim("recomputed chunks give the same gradients, bit for bit",
                  same ? "equal digests at every length" : "other digests", same);
  }

  void memory_of_attention() {
    constexpr Index layers = 4, heads = 4;
    Series kept{"kept", {}}, recomputed{"recompute", {}}, definition{"definition", {}};
    for (const Index length : doublings(16, flags_.length)) {
      const StackSize size{layers, length, 1};
      kept.points.emplace_back(length, size.kept(false));
      recomputed.points.emplace_back(length, size.kept(true));
      definition.points.emplace_back(length, size.kept(false, true));
    }
    show("memory_attention",
         {"Memory of attention against length",
          "length",
          "MB after the forward pass",
          {kept, recomputed, definition}},
         "What the tape keeps beside the weights of a Transformer's 4 layers, 128 channels, 4 "
         "heads, one sequence: fused, with `recompute`, and by the definitions that the fused "
         "operations are tested against.");
    claim_slope("attention keeps memory in proportion to the length", kept, 1, 0.05);
    // In f(T) - 2 f(T/2) what is linear cancels; a matrix leaves half of its T x T numbers.
    const auto matrices = [](const Series& series) {
      const auto& [length, whole] = series.points.back();
      const double matrix = sizeof(real) * layers * heads * length * length / 1e6;
      return (whole - 2 * series.points[series.points.size() - 2].second) / (matrix / 2);
    };
    const double fused = matrices(kept), readable = matrices(definition);
    report_.claim("no T x T matrix is kept, where the definition keeps several",
                  fmt::format("{:.2f} a head, of the definition {:.2f}", std::abs(fused), readable),
                  std::abs(fused) < 0.1 && readable > 1);
  }

  void memory_by_depth() {
    constexpr Index length = 128, batch = 8;
    Series kept{"kept", {}}, recomputed{"recompute", {}}, most{"recompute, at most", {}};
    const StackSize one{1, length, batch}, two{2, length, batch};
    // What a block leaves on the tape while it is computed again, beside its input.
    const double inside = two.kept(false) - one.kept(false) - (two.kept(true) - one.kept(true));
    for (const Index layers : doublings(1, flags_.depth)) {
      const StackSize size{layers, length, batch};
      kept.points.emplace_back(layers, size.kept(false));
      recomputed.points.emplace_back(layers, size.kept(true));
      most.points.emplace_back(layers, recomputed.points.back().second + inside);
    }
    show("memory_depth", {"Memory against depth", "blocks", "MB", {kept, recomputed, most}},
         "What the tape keeps beside the weights after the forward pass of Transformer blocks with "
         "128 channels, 128 tokens, batch 8; with `recompute` also at most, while one block is "
         "computed again.");
    const auto& [layers, whole] = recomputed.points.back();
    const double input = sizeof(real) * 128 * length * batch / 1e6;
    const double each = (whole - recomputed.points.front().second) / (layers - 1) / input;
    report_.claim("a recomputed block keeps its input and nothing else",
                  fmt::format("{:.2f} times its input", each), std::abs(each - 1) < 0.05);

    const auto gradients = [](bool again) {
      Random random(3);
      const TransformerLm net = make_transformer(128, 64, 0.1, again);
      const Indices ids = random_ids({4, 64}, random);
      const Tape tape;
      return digest(grad(loss_of(net, ids, training(random)), parameters(net)));
    };
    const std::string plain = gradients(false), again = gradients(true);
    report_.claim("recomputed blocks give the same gradients, bit for bit, with dropout",
                  fmt::format("digests {} and {}", plain, again), plain == again);
  }

  void time_of_recomputing() {
    constexpr Index batch = 8;
    const Index length = flags_.length, chunk = chunk_of(length);
    Random random(2);
    const Indices ids = random_ids({length, batch}, random);
    const CharRnn lstm = make_lstm(256);
    const auto chunks = [=](bool again) { return [=] { sweep_chunks(lstm, ids, chunk, again); }; };
    const auto blocks = [=](bool again) {
      return gradients_of(make_transformer(128, length, 0, again), {batch, length});
    };
    Table table{
        "What recomputing costs, milliseconds", {"network", "kept", "recompute", "ratio"}, {}};
    const auto row = [&](const std::string& name, const Step& plain, const Step& again) {
      const double kept = microseconds(plain, flags_.seconds) / 1000;
      const double recomputed = microseconds(again, flags_.seconds) / 1000;
      table.rows.push_back(
          {name, number(kept), number(recomputed), fmt::format("{:.2f}", recomputed / kept)});
    };
    row(fmt::format("LSTM in chunks of {}", chunk), chunks(false), chunks(true));
    row("Transformer", blocks(false), blocks(true));
    report_.paragraph(fmt::format(
        "Forward, loss and backward of the same networks, {} tokens, batch {}.", length, batch));
    report_.table(table);
  }

  // All points of all curves, one per line.
  std::string csv() const { return csv_; }

 private:
  struct WithThreads {
    Series series;                  // milliseconds per step
    std::set<std::string> digests;  // of the weights after three steps
  };
  WithThreads with_threads(const std::string& name, const std::function<MeasuredRun()>& make,
                           const std::set<Index>& counts) const {
    WithThreads found{{name, {}}, {}};
    for (const Index count : counts) {
      set_threads(static_cast<int>(count));
      const MeasuredRun run = make();
      for (int i = 0; i < 3; ++i) run.step();
      found.digests.insert(run.weights());
      found.series.points.emplace_back(count, microseconds(run.step, flags_.seconds) / 1000);
    }
    return found;
  }

  void add(Series& series, Index x, const Step& step, Index tokens) const {
    series.points.emplace_back(x, microseconds(step, flags_.seconds) / tokens);
  }

  void keep(const std::string& name, const Diagram& diagram) {
    report_.figure(name, diagram);
    for (const Series& series : diagram.series)
      for (const auto& [x, y] : series.points)
        csv_ += csv_line(std::vector<std::string>{name, series.name, diagram.x_label,
                                                  fmt::format("{}", x), diagram.y_label,
                                                  fmt::format("{}", y)});
  }

  // A table of curves that have all x in common, with the exponents of their growth, and a figure.
  void show(const std::string& name, Diagram diagram, const std::string& method) {
    diagram.logarithmic = true;
    diagram.caption = "A power law is a straight line here; the table has its exponent.";
    Table table{fmt::format("{}, {}", diagram.title, diagram.y_label), {diagram.x_label}, {}};
    std::vector<std::string> slopes{"slope"};
    for (const Series& series : diagram.series) {
      table.columns.push_back(series.name);
      slopes.push_back(fmt::format("{:.2f}", slope(series)));
    }
    for (std::size_t i = 0; i < diagram.series[0].points.size(); ++i) {
      table.rows.push_back({fmt::format("{:.0f}", diagram.series[0].points[i].first)});
      for (const Series& series : diagram.series)
        table.rows.back().push_back(number(series.points[i].second));
    }
    table.rows.push_back(slopes);
    report_.paragraph(method);
    report_.table(table);
    keep(name, diagram);
    std::fflush(stdout);
  }

  void claim_slope(const std::string& statement, const Series& series, double expected,
                   double margin) {
    const double found = slope(series);
    report_.claim(statement, fmt::format("T^{:.3f}, of T^{} +- {}", found, expected, margin),
                  std::abs(found - expected) <= margin);
  }

  const ScaleFlags& flags_;
  Report& report_;
  std::string csv_ = "measurement,curve,by,x,unit,y\n";
};

}  // namespace

int main(int argc, char** argv) {
  Flags flags("scale",
              "Measures how time and memory grow with length, width, depth, batch, threads.");
  ScaleFlags settings;
  Report report;
  settings.add_to(flags);
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    set_threads(settings.threads);
    report.begin("scale", "How cost grows", command_line(argc, argv));
    report.paragraph(fmt::format(
        "tapegrad {}, {} threads. Times are medians over {} s; a slope is the exponent of the "
        "power of the first column that fits a curve best.",
        TAPEGRAD_VERSION, settings.threads, settings.seconds));
    ScaleMeasurements scale(settings, report);
    scale.memory_by_length();
    scale.memory_of_attention();
    scale.memory_by_depth();
    scale.time_by_threads();
    scale.time_by_length();
    scale.time_of_recomputing();
    scale.time_by_width();
    scale.time_by_batch();
    report.file("scale.csv", scale.csv());
    return report.finish();
  });
}
