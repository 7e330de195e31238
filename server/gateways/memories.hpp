#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>

#include "server/gateways/memory.hpp"
#include "server/runtime/clock.hpp"

namespace sm::gateways {

class Store;

/// What we learned about every gateway: in memory, behind it the store. Owned by app next to the cache; thread-safe,
/// every critical section is a map operation on one of 64 parts. Not for the path of a frame: a change copies the
/// memory.
class Memories {
  public:
    static constexpr std::size_t kParts = 64;

    /// `store` may be nullptr (memory only). The least recently used memory leaves RAM when there are more than
    /// `limit`.
    Memories(const runtime::Clock& clock, Store* store, std::size_t limit = 262144)
        : clock_(clock), store_(store), limit_(limit) {}

    /// nullptr when nothing is known. Never waits.
    MemoryPtr recall(protocol::Eui64 eui);
    /// Applies `change` to what is known (or to an empty memory) and keeps the result, here and soon on disk.
    void learn(protocol::Eui64 eui, const std::function<void(Memory&)>& change);
    /// A memory from another host: kept when it is newer than ours.
    void merge(protocol::Eui64 eui, Memory memory);
    /// Everything in RAM into the store again.
    void save_all();

    /// Called after every learn(), any thread: for the memory that instances share. Before the first learn().
    void on_learned(std::function<void(protocol::Eui64, const MemoryPtr&)> callback) { learned_ = std::move(callback); }

  private:
    struct Entry {
        MemoryPtr memory;
        std::list<protocol::Eui64>::iterator place;
    };
    struct Part {
        std::mutex mutex;
        std::unordered_map<protocol::Eui64, Entry> memories;
        std::list<protocol::Eui64> order;  ///< least recently used first
    };
    Part& part(protocol::Eui64 eui) noexcept { return parts_[std::hash<protocol::Eui64>{}(eui) % kParts]; }
    MemoryPtr look(Part& part, protocol::Eui64 eui);
    void set(Part& part, protocol::Eui64 eui, MemoryPtr memory);

    const runtime::Clock& clock_;
    Store* const store_;
    const std::size_t limit_;
    std::function<void(protocol::Eui64, const MemoryPtr&)> learned_;
    std::array<Part, kParts> parts_;
};

}  // namespace sm::gateways
