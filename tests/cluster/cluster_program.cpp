// Trains a small net on the processes it is started with, and writes all that the run has left
// to FILE, from process 0. Usage: cluster_program SHARDS FROM TO FILE [FAILURE RANK], with steps
// FROM to TO; FROM > 0 resumes from FILE. The process RANK fails in this place. For "flags" it has
// another number of steps than the others; for "any" it alone lets the others know that it stops.
#include <tapegrad/cluster.h>

#include <csignal>

using namespace tapegrad;

struct Net {
  Sequential layers;
  Net(const std::string& norm, Random& random)
      : layers{Linear(6, 300, random),
               Norm(norm, 300),
               Dropout(0.2),
               [](const Tensor& x) { return relu(x); },
               Linear(300, 300, random),
               Norm(norm, 300),
               Linear(300, 3, random)} {}
  Tensor operator()(const Tensor& x, Mode mode) const { return layers(x, mode); }
  void visit(Fields& field) const { field("layers", layers); }
};

int main(int argc, char** argv) {
  try {
    expect<Error>(argc == 5 || argc == 7, "wrong usage");
    const Index from = std::stoll(argv[2]), to = std::stoll(argv[3]);
    const std::string path = argv[4], failure = argc > 5 ? argv[5] : "";
    Cluster cluster({.shards = std::stoll(argv[1])});
    const auto fails_in = [&](const std::string& place) {
      return failure == place && cluster.rank() == std::stoll(argv[6]);
    };
    const auto fail_in = [&](const std::string& place) {
      if (!fails_in(place)) return;
      if (place == "kill") std::raise(SIGKILL);
      fail<DataError>("process {} fails in {}", cluster.rank(), place);
    };
    Random random(static_cast<std::uint64_t>(cluster.rank()) + 1);  // weights come from process 0
    const Index rows = 19;                                          // not a multiple of the shards
    // Nothing is left of a single row that is normalized by its own mean.
    const Net net(cluster.shards() > rows ? "layer" : "batch", random);
    Adam adam(parameters(net));
    Checkpoint state{.net = fields(net), .optimizer = &adam};
    if (from > 0 && cluster.is_first()) load_checkpoint(path, state);
    if (from > 0) {
      cluster.barrier();
      load_checkpoint(path, state);
    }
    cluster.broadcast(fields(net));
    const std::string steps = fails_in("flags") ? "another" : argv[3];
    cluster.expect_same("the number of steps", steps);

    double loss = 0;
    for (Index step = from; step < to; ++step) {
      Random draw = Random(7).stream(static_cast<std::uint64_t>(step));
      const Tensor x = draw.normal({rows, 6});
      const Indices y = draw.categorical(ones({rows, 3}));
      const auto batch = cluster.gradients(
          fields(net), rows,
          [&](const Shard& shard) {
            fail_in("forward");
            Random masks = draw.stream(static_cast<std::uint64_t>(shard.index));
            std::vector<Index> chosen;
            for (Index row = shard.begin; row < shard.end; ++row) chosen.push_back(row);
            const Tensor logits = net(take_rows(x, chosen), training(masks));
            return cross_entropy(
                probe(logits, {.gradient = [&](const Tensor&) { fail_in("backward"); }}),
                take_rows(y, chosen));
          },
          {.numbers = {1.0}});
      expect<Error>(batch.numbers[0] == static_cast<double>(cluster.size()), "a number is missing");
      adam.step(batch.gradients);
      loss = batch.loss;
      fail_in("between");
      if (step == 1) fail_in("kill");
    }
    const double rows_seen = cluster.sums(rows, 1, [](const Shard& shard) {
      return std::vector{static_cast<double>(shard.count())};
    })[0];
    const Index own = cluster.rank() + 1;  // rows, each with the rank
    const Tensor all = cluster.gather(full({own, 2}, static_cast<double>(cluster.rank())));
    expect<Error>(all.shape() == Shape{cluster.size() * (cluster.size() + 1) / 2, 2} &&
                      all.values().back() == static_cast<real>(cluster.size() - 1),
                  "rows are missing");
    if (cluster.is_first()) {
      fail_in("saving");
      state.notes["loss"] = fmt::format("{:a}", loss);
      save_checkpoint(path, state);
      fmt::print("{} processes, {} rows\n", cluster.size(), rows_seen);
    }
    if (cluster.any(fails_in("any"))) fmt::print("process {} stops\n", cluster.rank());
  } catch (const std::exception& error) {
    fmt::print(stderr, "cluster_program: {}\n", error.what());
    return 3;
  }
}
