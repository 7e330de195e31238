#include "server/gateways/memories.hpp"

#include <algorithm>

#include "server/gateways/store.hpp"

namespace sm::gateways {

using protocol::Eui64;

MemoryPtr Memories::recall(Eui64 eui) {
    Part& p = part(eui);
    {
        const std::lock_guard lock(p.mutex);
        if (MemoryPtr memory = look(p, eui)) return memory;
    }
    MemoryPtr stored = store_ != nullptr ? store_->memory(eui) : nullptr;
    if (!stored) return nullptr;
    const std::lock_guard lock(p.mutex);
    // Somebody may have learned something since.
    if (MemoryPtr memory = look(p, eui)) return memory;
    set(p, eui, stored);
    return stored;
}

void Memories::learn(Eui64 eui, const std::function<void(Memory&)>& change) {
    recall(eui);  // from the store, outside the lock
    const protocol::UtcTime now = clock_.now().utc;
    Part& p = part(eui);
    MemoryPtr result;
    {
        const std::lock_guard lock(p.mutex);
        const MemoryPtr before = look(p, eui);
        auto memory = before ? std::make_shared<Memory>(*before) : std::make_shared<Memory>();
        change(*memory);
        memory->updated = now;
        result = std::move(memory);
        set(p, eui, result);
        if (store_ != nullptr) store_->save(eui, result);
    }
    if (learned_) learned_(eui, result);
}

void Memories::merge(Eui64 eui, Memory memory) {
    const MemoryPtr known = recall(eui);
    if (known && known->updated >= memory.updated) return;
    auto merged = std::make_shared<const Memory>(std::move(memory));
    Part& p = part(eui);
    const std::lock_guard lock(p.mutex);
    if (const MemoryPtr ours = look(p, eui); ours && ours->updated >= merged->updated) return;
    set(p, eui, merged);
    if (store_ != nullptr) store_->save(eui, merged);
}

void Memories::save_all() {
    if (store_ == nullptr) return;
    for (Part& p : parts_) {
        const std::lock_guard lock(p.mutex);
        for (const auto& [eui, entry] : p.memories) store_->save(eui, entry.memory);
    }
}

MemoryPtr Memories::look(Part& p, Eui64 eui) {
    const auto it = p.memories.find(eui);
    if (it == p.memories.end()) return nullptr;
    p.order.splice(p.order.end(), p.order, it->second.place);
    return it->second.memory;
}

void Memories::set(Part& p, Eui64 eui, MemoryPtr memory) {
    if (const auto it = p.memories.find(eui); it != p.memories.end()) {
        it->second.memory = std::move(memory);
        return;
    }
    while (!p.order.empty() && p.memories.size() >= std::max<std::size_t>(1, limit_ / kParts)) {
        p.memories.erase(p.order.front());
        p.order.pop_front();
    }
    p.order.push_back(eui);
    p.memories.emplace(eui, Entry{std::move(memory), std::prev(p.order.end())});
}

}  // namespace sm::gateways
