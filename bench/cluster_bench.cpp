// What training with several processes costs: sums over processes beside MPI_Allreduce, how much of
// them the backward sweep hides, and shards on one process. bench/cluster.py starts it, with mpirun
// for what takes several processes. Process 0 prints a JSON object for each measurement.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cluster_workloads.h"
#include "tapegrad/cluster.h"
#include "tapegrad/cluster/internal/shard_sum.h"
#include "timing.h"

using namespace tapegrad;
using namespace tapegrad::bench;

namespace {

// Cluster::gradients uses the same size.
constexpr std::size_t range_size = (1 << 20) / sizeof(real);

double milliseconds(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Something to measure: `prepare` is not part of its time.
struct Candidate {
  std::string name;
  std::function<void()> prepare, run;
};

// The median time of each candidate on the slowest process. They take turns, so that all see the
// same machine; the first rounds only warm up.
nlohmann::ordered_json medians(const std::vector<Candidate>& candidates, int rounds,
                               Communicator& communicator) {
  const int warm = 2;
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < warm + rounds; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      candidates[i].prepare();
      communicator.barrier();
      const double time = milliseconds(candidates[i].run);
      if (round >= warm) times[i].push_back(time);
    }
  nlohmann::ordered_json line;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (communicator.size() > 1)
      MPI_Allreduce(MPI_IN_PLACE, times[i].data(), rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    line[candidates[i].name] = median(times[i]);
  }
  return line;
}

void print(const nlohmann::ordered_json& line, Communicator& communicator) {
  if (communicator.rank() == 0) fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

// The sum of a list of numbers over all processes, each with one shard.
void measure_all_reduce(const std::vector<double>& sizes, int rounds, Communicator& communicator) {
  for (const double megabytes : sizes) {
    const auto size = static_cast<std::size_t>(megabytes * 1e6) / sizeof(real);
    std::vector<real> list(size);
    std::unique_ptr<ShardSum<real>> sum;
    const Candidate ours{"tapegrad",
                         [&] {
                           sum.reset();  // its memory is used again
                           sum = std::make_unique<ShardSum<real>>(communicator, communicator.size(),
                                                                  size);
                           std::ranges::fill(sum->next(), real{1});
                         },
                         [&] {
                           for (std::size_t begin = 0; begin < size; begin += range_size)
                             sum->ready(begin, std::min(begin + range_size, size));
                           sum->wait();
                         }};
    const Candidate mpi{"mpi", [&] { std::ranges::fill(list, real{1}); },
                        [&] {
                          MPI_Allreduce(MPI_IN_PLACE, list.data(), static_cast<int>(size),
                                        MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                        }};
    nlohmann::ordered_json line{{"megabytes", megabytes}};
    line.update(medians({ours, mpi}, rounds, communicator));
    print(line, communicator);
  }
}

enum class Communication { none, after, overlapped };

// A step as in Cluster::gradients, where gradients leave when they are final, after the sweep, or
// never. Each process computes the whole batch.
class Step {
 public:
  Step(const Workload& workload, Communicator& communicator)
      : workload_(workload), communicator_(communicator) {
    for (const auto& [name, parameter] : workload.net.parameters())
      parameters_.push_back(parameter);
    std::ranges::reverse(parameters_);  // the last are final first
    for (const Parameter& parameter : parameters_)
      ends_.push_back(size() + static_cast<std::size_t>(parameter.shape().size()));
  }
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  void run(Communication communication) const {
    ShardSum<real> sum(communicator_, communicator_.size(), size());
    const std::span<real> list = sum.next();
    std::vector<bool> final(parameters_.size());
    std::size_t next = 0, begin = 0;  // what has not left yet
    const auto leave = [&] {
      const std::size_t end = ends_[next++];
      if (end - begin >= range_size || end == size()) sum.ready(std::exchange(begin, end), end);
    };
    const Tape tape;
    grad(workload_.loss(0, workload_.rows), parameters_,
         {.ready = [&](std::size_t i, const Tensor& gradient) {
           const std::span<const real> values = gradient.values();
           std::ranges::copy(values, list.subspan(ends_[i] - values.size()).begin());
           final[i] = true;
           if (communication != Communication::overlapped) return;
           while (next < final.size() && final[next]) leave();
           sum.advance();
         }});
    if (communication == Communication::none) return;
    while (next < final.size()) leave();
    sum.wait();
  }

 private:
  const Workload& workload_;
  Communicator& communicator_;
  std::vector<Parameter> parameters_;
  std::vector<std::size_t> ends_;  // of their gradients in the list
};

void measure_overlap(const std::vector<std::string>& rows, int rounds, Communicator& communicator) {
  for (const std::string& row : rows) {
    const Workload work = workload(row);
    const Step step(work, communicator);
    const auto candidate = [&](const char* name, Communication communication) {
      return Candidate{name, [] {}, [&step, communication] { step.run(communication); }};
    };
    nlohmann::ordered_json line{
        {"row", row}, {"megabytes", static_cast<double>(step.size() * sizeof(real)) / 1e6}};
    line.update(
        medians({candidate("none", Communication::none), candidate("after", Communication::after),
                 candidate("overlapped", Communication::overlapped)},
                rounds, communicator));
    print(line, communicator);
  }
}

// The gradients of a batch on this process alone: at once, and over 1, 2, ... shards.
void measure_shards(const std::vector<std::string>& rows, int rounds, Communicator& communicator) {
  for (const std::string& row : rows) {
    const Workload work = workload(row);
    std::vector<Parameter> parameters;
    for (const auto& [name, parameter] : work.net.parameters()) parameters.push_back(parameter);
    std::vector<Candidate> candidates{{"plain", [] {},
                                       [&] {
                                         const Tape tape;
                                         grad(work.loss(0, work.rows), parameters);
                                       }}};
    for (Index shards = 1; shards <= std::min<Index>(8, work.rows); shards *= 2)
      candidates.push_back(
          {std::to_string(shards), [] {},
           [&work, cluster = std::make_shared<Cluster>(ClusterOptions{.shards = shards})] {
             cluster->gradients(work.net, work.rows, [&](const Shard& shard) {
               return work.loss(shard.begin, shard.end);
             });
           }});
    nlohmann::ordered_json line{{"row", row}};
    line.update(medians(candidates, rounds, communicator));
    print(line, communicator);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures training with several processes."};
  app.require_subcommand(1);
  std::vector<double> sizes;
  std::vector<std::string> rows;
  int rounds = 20;
  CLI::App* sum = app.add_subcommand("sum", "sums over processes beside MPI_Allreduce");
  sum->add_option("megabytes", sizes)->required()->check(CLI::Range(0.0, 4096.0));
  CLI::App* overlap = app.add_subcommand("overlap", "what the backward sweep hides");
  CLI::App* shards = app.add_subcommand("shards", "shards on one process");
  for (CLI::App* command : {overlap, shards})
    command->add_option("rows", rows)->required()->check(CLI::IsMember(workload_names()));
  for (CLI::App* command : {sum, overlap, shards})
    command->add_option("--rounds", rounds, "times that each is measured")
        ->check(CLI::Range(1, 1000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const std::unique_ptr<Communicator> communicator = make_communicator();
  if (*sum) measure_all_reduce(sizes, rounds, *communicator);
  if (*overlap) measure_overlap(rows, rounds, *communicator);
  if (*shards) measure_shards(rows, rounds, *communicator);
}
