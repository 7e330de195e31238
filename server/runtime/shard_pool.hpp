#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/runtime/shard.hpp"

namespace sm::runtime {

/// Several shards of one kind, chosen by how many seats are taken on each.
///
/// Owner: `app`. `pick` and `next` are for any thread. Seats end before the pool.
class ShardPool {
  public:
    /// A place on one shard; move-only, given back when destroyed, on any thread.
    class Seat {
      public:
        Seat() = default;
        Seat(Seat&& other) noexcept : shard_(std::exchange(other.shard_, nullptr)) {}
        Seat& operator=(Seat&& other) noexcept;
        ~Seat() { give_back(); }
        explicit operator bool() const noexcept { return shard_ != nullptr; }
        /// Pre: not empty.
        Shard& shard() const noexcept { return *shard_; }

      private:
        friend class ShardPool;
        explicit Seat(Shard& shard) noexcept;
        void give_back() noexcept;
        Shard* shard_ = nullptr;
    };

    /// Threads are called `name`-0, `name`-1, … Pre: count ≥ 1.
    ShardPool(const std::string& name, std::size_t count, int nice, const Clock& clock,
              const Shard::OnException& on_exception);

    void start();
    void stop();
    void join();

    /// The shard with the fewest seats taken; equals take turns.
    Seat pick() noexcept;
    /// Strictly in turn, without a seat: for work that is short and even.
    Shard& next() noexcept;

    std::size_t size() const noexcept { return shards_.size(); }
    Shard& operator[](std::size_t index) noexcept { return *shards_[index]; }
    const Shard& operator[](std::size_t index) const noexcept { return *shards_[index]; }

  private:
    std::vector<std::unique_ptr<Shard>> shards_;
    std::atomic<std::size_t> turn_{0};
};

}  // namespace sm::runtime
