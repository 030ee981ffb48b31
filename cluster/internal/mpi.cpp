// The processes that mpirun or srun has started together.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "tapegrad/cluster/internal/alone.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::size_t largest_message = std::size_t{1} << 30;  // MPI counts bytes as int

class MpiTransfer final : public Transfer {
 public:
  explicit MpiTransfer(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}
  bool done() override {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
    return done != 0;
  }

 private:
  std::vector<MPI_Request> requests_;
};

// Calls f(bytes, count) for parts that MPI can count.
template <class Byte, class F>
void for_each_message(std::span<Byte> bytes, const F& f) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += largest_message) {
    const std::size_t count = std::min(largest_message, bytes.size() - begin);
    f(bytes.data() + begin, static_cast<int>(count));
  }
}

// The exit code of the program becomes the exit code of the whole job.
void end_job(int status, void*) { MPI_Abort(MPI_COMM_WORLD, status == 0 ? 1 : status); }

class Mpi final : public Communicator {
 public:
  Mpi() {
    int begun = 0;
    MPI_Initialized(&begun);
    expect<Error>(begun == 0, "cluster: a process has only one");
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() override {
    if (!abandoned_) MPI_Finalize();
  }
  Index rank() const override { return rank_; }
  Index size() const override { return size_; }

  std::unique_ptr<Transfer> start(int tag, const std::vector<Sent>& sent,
                                  const std::vector<Received>& received) override {
    std::vector<MPI_Request> requests;
    for (const auto& [from, bytes] : received)
      for_each_message(bytes, [&, process = static_cast<int>(from)](std::byte* data, int count) {
        MPI_Irecv(data, count, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests.emplace_back());
      });
    for (const auto& [to, bytes] : sent)
      for_each_message(bytes, [&, process = static_cast<int>(to)](const std::byte* data,
                                                                  int count) {
        MPI_Isend(data, count, MPI_BYTE, process, tag, MPI_COMM_WORLD, &requests.emplace_back());
      });
    return std::make_unique<MpiTransfer>(std::move(requests));
  }

  void broadcast(std::span<std::byte> bytes) override {
    for_each_message(bytes, [](std::byte* data, int count) {
      MPI_Bcast(data, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    });
  }

  std::vector<std::string> gather(const std::string& text) override {
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(size_), begins(size_ + 1);
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size_; ++i) begins[i + 1] = begins[i] + lengths[i];
    std::string all(begins.back(), '\0');
    MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), begins.data(),
                   MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (int i = 0; i < size_; ++i) texts.push_back(all.substr(begins[i], lengths[i]));
    return texts;
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  // Not at once: first the program prints what has happened.
  void abandon() override {
    abandoned_ = true;
    ::on_exit(end_job, nullptr);
  }

 private:
  int rank_ = 0, size_ = 1;
  bool abandoned_ = false;
};

}  // namespace

bool others_wait() {
  int begun = 0;
  return started_together() && MPI_Initialized(&begun) == MPI_SUCCESS && begun == 0;
}

std::unique_ptr<Communicator> make_communicator() {
  if (started_together()) return std::make_unique<Mpi>();
  return std::make_unique<Alone>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
