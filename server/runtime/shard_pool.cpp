#include "server/runtime/shard_pool.hpp"

#include <utility>

namespace sm::runtime {

ShardPool::Seat::Seat(Shard& shard) noexcept : shard_(&shard) {
    shard.load_.fetch_add(1, std::memory_order_relaxed);
}

ShardPool::Seat& ShardPool::Seat::operator=(Seat&& other) noexcept {
    if (this != &other) {
        give_back();
        shard_ = std::exchange(other.shard_, nullptr);
    }
    return *this;
}

void ShardPool::Seat::give_back() noexcept {
    if (shard_) std::exchange(shard_, nullptr)->load_.fetch_sub(1, std::memory_order_relaxed);
}

ShardPool::ShardPool(const std::string& name, std::size_t count, int nice, const Clock& clock,
                     const Shard::OnException& on_exception) {
    for (std::size_t i = 0; i < count; ++i) {
        shards_.push_back(
            std::make_unique<Shard>(Shard::Options{name + "-" + std::to_string(i), nice}, clock, on_exception));
    }
}

void ShardPool::start() {
    for (auto& shard : shards_) shard->start();
}

void ShardPool::stop() {
    for (auto& shard : shards_) shard->stop();
}

void ShardPool::join() {
    for (auto& shard : shards_) shard->join();
}

ShardPool::Seat ShardPool::pick() noexcept {
    const std::size_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    Shard* best = shards_[turn % shards_.size()].get();
    for (std::size_t i = 1; i < shards_.size(); ++i) {
        Shard* shard = shards_[(turn + i) % shards_.size()].get();
        if (shard->load() < best->load()) best = shard;
    }
    return Seat(*best);
}

Shard& ShardPool::next() noexcept {
    return *shards_[turn_.fetch_add(1, std::memory_order_relaxed) % shards_.size()];
}

}  // namespace sm::runtime
