#include "server/directory/directory.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sm::directory {

Directory::Claim::Claim(Directory& directory, protocol::Eui64 eui, std::uint64_t epoch)
    : directory_(&directory), eui_(eui), epoch_(epoch) {}

Directory::Claim::Claim(Claim&& other) noexcept
    : directory_(std::exchange(other.directory_, nullptr)), eui_(other.eui_), epoch_(other.epoch_) {}

Directory::Claim& Directory::Claim::operator=(Claim&& other) noexcept {
    if (this != &other) {
        release();
        directory_ = std::exchange(other.directory_, nullptr);
        eui_ = other.eui_;
        epoch_ = other.epoch_;
    }
    return *this;
}

Directory::Claim::~Claim() { release(); }

bool Directory::Claim::current() const {
    if (!directory_) return false;
    auto session = directory_->find(eui_);
    return session && session->epoch() == epoch_;
}

void Directory::Claim::release() {
    if (auto* directory = std::exchange(directory_, nullptr)) directory->give_back(eui_, epoch_);
}

std::uint64_t Directory::next_epoch() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto wall = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
    auto last = epoch_.load(std::memory_order_relaxed);
    // The wall clock keeps epochs growing over a restart; the counter keeps them growing when the clock steps back.
    std::uint64_t next = 0;
    do {
        next = std::max(wall, last + 1);
    } while (!epoch_.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return next;
}

Directory::ClaimResult Directory::claim(std::shared_ptr<SessionHandle> session) {
    const auto eui = session->eui();
    const auto epoch = session->epoch();
    std::shared_ptr<SessionHandle> replaced;
    {
        auto& home = part(eui);
        std::scoped_lock lock(home.mutex);
        auto& slot = home.sessions[eui];
        if (slot && slot->epoch() > epoch) return {};
        if (!slot) size_.fetch_add(1, std::memory_order_relaxed);
        replaced = std::exchange(slot, std::move(session));
    }
    return {Claim(*this, eui, epoch), std::move(replaced)};
}

std::shared_ptr<SessionHandle> Directory::find(protocol::Eui64 eui) const {
    const auto& home = part(eui);
    std::scoped_lock lock(home.mutex);
    auto it = home.sessions.find(eui);
    return it == home.sessions.end() ? nullptr : it->second;
}

std::size_t Directory::size() const noexcept { return size_.load(std::memory_order_relaxed); }

std::vector<std::shared_ptr<SessionHandle>> Directory::list(protocol::Eui64 after, std::size_t limit) const {
    const auto by_eui = [](const auto& a, const auto& b) { return a->eui() < b->eui(); };
    std::vector<std::shared_ptr<SessionHandle>> found;
    for_each([&](const std::shared_ptr<SessionHandle>& session) {
        if (session->eui() <= after && after.value != 0) return;
        if (found.size() < limit) {
            found.push_back(session);
            std::push_heap(found.begin(), found.end(), by_eui);
        } else if (limit != 0 && session->eui() < found.front()->eui()) {
            std::pop_heap(found.begin(), found.end(), by_eui);
            found.back() = session;
            std::push_heap(found.begin(), found.end(), by_eui);
        }
    });
    std::sort_heap(found.begin(), found.end(), by_eui);
    return found;
}

void Directory::for_each(const std::function<void(const std::shared_ptr<SessionHandle>&)>& visit) const {
    std::vector<std::shared_ptr<SessionHandle>> batch;
    for (const auto& home : parts_) {
        {
            // Copied out so that `visit` runs without the lock.
            std::scoped_lock lock(home.mutex);
            batch.reserve(home.sessions.size());
            for (const auto& [eui, session] : home.sessions) batch.push_back(session);
        }
        for (const auto& session : batch) visit(session);
        batch.clear();
    }
}

Directory::Part& Directory::part(protocol::Eui64 eui) noexcept {
    return parts_[std::hash<protocol::Eui64>{}(eui) % kParts];
}

const Directory::Part& Directory::part(protocol::Eui64 eui) const noexcept {
    return parts_[std::hash<protocol::Eui64>{}(eui) % kParts];
}

void Directory::give_back(protocol::Eui64 eui, std::uint64_t epoch) {
    std::shared_ptr<SessionHandle> ended;
    auto& home = part(eui);
    std::scoped_lock lock(home.mutex);
    auto it = home.sessions.find(eui);
    // Only its own epoch: the place may belong to a newer session by now (the-things-stack §5 case 5).
    if (it == home.sessions.end() || it->second->epoch() != epoch) return;
    ended = std::move(it->second);
    home.sessions.erase(it);
    size_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sm::directory
