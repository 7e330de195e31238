#include "server/admin/event_hub.hpp"

#include <algorithm>

namespace sm::admin {
namespace {

bool wants(const EventFilter& filter, upstream::EventKind kind, protocol::Eui64 gateway) {
    if (filter.gateway && *filter.gateway != gateway) return false;
    const bool all = std::none_of(filter.kinds.begin(), filter.kinds.end(), [](bool wanted) { return wanted; });
    return all || filter.kinds[static_cast<std::size_t>(kind)];
}

/// The data is one line of JSON, so that one `data:` line holds it.
EventFrame make_frame(upstream::EventKind kind, const std::string& json) {
    auto frame = std::make_shared<std::string>("event: ");
    frame->append(upstream::to_string(kind)).append("\ndata: ").append(json).append("\n\n");
    return frame;
}

}  // namespace

EventHub::Subscription::~Subscription() {
    const std::lock_guard lock(hub_.mutex_);
    hub_.places_.erase(place_);
    hub_.subscribers_.store(hub_.places_.size(), std::memory_order_relaxed);
    hub_.probe_.subscriber_left();
}

bool EventHub::Subscription::take(std::vector<EventFrame>& out) {
    const std::lock_guard lock(hub_.mutex_);
    out.insert(out.end(), std::make_move_iterator(place_->frames.begin()),
               std::make_move_iterator(place_->frames.end()));
    place_->frames.clear();
    place_->bytes = 0;
    place_->woken = false;
    return !place_->cut_off;
}

std::unique_ptr<EventHub::Subscription> EventHub::subscribe(const EventFilter& filter, std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    if (places_.size() >= limits_.subscribers) return nullptr;
    places_.push_back({filter, std::move(wake), {}, 0, false, false});
    subscribers_.store(places_.size(), std::memory_order_relaxed);
    probe_.subscriber_came();
    return std::unique_ptr<Subscription>(new Subscription(*this, std::prev(places_.end())));
}

void EventHub::on_event(upstream::EventKind kind, protocol::Eui64 gateway, std::string json) {
    EventFrame frame;
    const std::lock_guard lock(mutex_);
    for (auto& place : places_) {
        if (place.cut_off || !wants(place.filter, kind, gateway)) continue;
        if (!frame) frame = make_frame(kind, json);
        if (place.frames.size() >= limits_.queued_events || place.bytes + frame->size() > limits_.queued_bytes) {
            place.cut_off = true;
            place.frames.clear();
            place.bytes = 0;
            probe_.subscriber_cut_off();
        } else {
            place.frames.push_back(frame);
            place.bytes += frame->size();
        }
        if (!std::exchange(place.woken, true)) place.wake();
    }
}

EventHub::Expectation::~Expectation() {
    const std::lock_guard lock(hub_.mutex_);
    const auto [begin, end] = hub_.expectations_.equal_range(key_);
    const auto it = std::find_if(begin, end, [this](const auto& entry) { return entry.second == this; });
    if (it != end) hub_.expectations_.erase(it);
    hub_.waiting_.store(hub_.expectations_.size(), std::memory_order_relaxed);
}

std::optional<protocol::DownlinkResult> EventHub::Expectation::result() const {
    const std::lock_guard lock(hub_.mutex_);
    return result_;
}

void EventHub::Expectation::when_ready(std::function<void()> wake) {
    const std::lock_guard lock(hub_.mutex_);
    if (result_) {
        wake();
    } else {
        wake_ = std::move(wake);
    }
}

std::unique_ptr<EventHub::Expectation> EventHub::expect(protocol::Eui64 gateway, std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    if (expectations_.size() >= limits_.waiting_requests) return nullptr;
    std::unique_ptr<Expectation> expectation(new Expectation(*this, {gateway.value, id}));
    expectations_.emplace(expectation->key_, expectation.get());
    waiting_.store(expectations_.size(), std::memory_order_relaxed);
    return expectation;
}

void EventHub::on_result(const protocol::DownlinkResult& result) {
    const std::lock_guard lock(mutex_);
    const auto it = expectations_.lower_bound({result.gateway.value, result.id});
    if (it == expectations_.end() || it->first != Expectation::Key{result.gateway.value, result.id}) return;
    Expectation& expectation = *it->second;
    expectations_.erase(it);
    waiting_.store(expectations_.size(), std::memory_order_relaxed);
    expectation.result_ = result;
    if (const auto wake = std::exchange(expectation.wake_, {})) wake();
}

}  // namespace sm::admin
