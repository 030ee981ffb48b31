#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include "tapegrad/cluster/internal/communicator.h"

namespace tapegrad::testing {

/// Threads that talk to each other like the processes of a cluster.
class Processes {
 public:
  explicit Processes(Index size) : size_(size) {}

  /// Runs f once for each process, all at a time.
  void run(const std::function<void(Communicator&)>& f) {
    std::vector<std::thread> threads;
    for (Index rank = 0; rank < size_; ++rank)
      threads.emplace_back([&, rank] {
        Process process(*this, rank);
        f(process);
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  using Address = std::tuple<Index, Index, int>;  // from, to, tag

  class Process;
  class Arrival final : public Transfer {
   public:
    Arrival(Processes& processes, Index rank, int tag, std::vector<Communicator::Received> received)
        : processes_(processes), rank_(rank), tag_(tag), received_(std::move(received)) {}
    // Some messages are late, others come at once, so that steps of several sums mix.
    bool done() override {
      if (++asked_ <= (5 * tag_ + 3 * rank_) % 4) return wait_a_little();
      for (; arrived_ < received_.size(); ++arrived_) {
        const auto& [from, bytes] = received_[arrived_];
        const auto message = processes_.take({from, rank_, tag_});
        if (!message) return wait_a_little();
        std::memcpy(bytes.data(), message->data(), bytes.size());
      }
      return true;
    }

   private:
    static bool wait_a_little() {
      std::this_thread::yield();
      return false;
    }

    Processes& processes_;
    Index rank_;
    int tag_;
    std::vector<Communicator::Received> received_;
    std::size_t arrived_ = 0;
    Index asked_ = 0;
  };

  class Process final : public Communicator {
   public:
    Process(Processes& processes, Index rank) : processes_(processes), rank_(rank) {}
    Index rank() const override { return rank_; }
    Index size() const override { return processes_.size_; }
    std::unique_ptr<Transfer> start(int tag, const std::vector<Sent>& sent,
                                    const std::vector<Received>& received) override {
      for (const auto& [to, bytes] : sent) processes_.put({rank_, to, tag}, bytes);
      return std::make_unique<Arrival>(processes_, rank_, tag, received);
    }
    void broadcast(std::span<std::byte>) override {}
    std::vector<std::string> gather(const std::string& text) override { return {text}; }
    void barrier() override {}
    void abandon() override {}

   private:
    Processes& processes_;
    Index rank_;
  };

  void put(const Address& address, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    messages_[address].emplace_back(bytes.begin(), bytes.end());
  }
  // The next message; none if it has not been sent.
  std::optional<std::vector<std::byte>> take(const Address& address) {
    const std::lock_guard lock(mutex_);
    std::deque<std::vector<std::byte>>& messages = messages_[address];
    if (messages.empty()) return std::nullopt;
    std::vector<std::byte> message = std::move(messages.front());
    messages.pop_front();
    return message;
  }

  Index size_;
  std::mutex mutex_;
  std::map<Address, std::deque<std::vector<std::byte>>> messages_;
};

}  // namespace tapegrad::testing
