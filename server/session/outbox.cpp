#include "server/session/outbox.hpp"

#include <cassert>
#include <utility>

namespace sm::session {

namespace {

std::size_t weight(const OutboxItem& item) noexcept {
    if (const auto* text = std::get_if<protocol::SendText>(&item)) return text->text.size();
    if (const auto* binary = std::get_if<protocol::SendBinary>(&item)) return binary->bytes.size();
    return 0;
}

bool urgent(const OutboxItem& item) noexcept {
    const auto* text = std::get_if<protocol::SendText>(&item);
    return text != nullptr && text->kind == protocol::SendKind::kTimesync;
}

}  // namespace

bool Outbox::push(OutboxItem item) {
    if (closed_) return false;
    if (std::holds_alternative<Farewell>(item)) {
        closed_ = true;
        items_.push_back(std::move(item));
        return true;
    }
    const auto bytes = weight(item);
    if (items_.size() >= max_messages_ || bytes_ + bytes > max_bytes_) return false;
    bytes_ += bytes;
    if (urgent(item)) {
        items_.push_front(std::move(item));
    } else {
        items_.push_back(std::move(item));
    }
    return true;
}

OutboxItem Outbox::pop() {
    assert(!items_.empty());
    OutboxItem item = std::move(items_.front());
    items_.pop_front();
    bytes_ -= weight(item);
    return item;
}

void Outbox::close() noexcept {
    closed_ = true;
    items_.clear();
    bytes_ = 0;
}

}  // namespace sm::session
