#include "server/admin/status_page.hpp"

#include "server/upstream/json_text.hpp"

namespace sm::admin {
namespace {

using upstream::JsonText;

/// Calls write(item) for each item of a JSON array.
template <class Items, class Write>
void array(JsonText& json, std::string_view key, const Items& items, Write write) {
    json.name(key);
    json.out() += '[';
    bool first = true;
    for (const auto& item : items) {
        if (!first) json.out() += ',';
        first = false;
        write(item);
    }
    json.out() += ']';
}

void sentences(JsonText& json, std::string_view key, const std::vector<std::string>& sentences) {
    array(json, key, sentences, [&json](const std::string& sentence) { json.quoted(sentence); });
}

void listeners(JsonText& json, const std::vector<ListenerStatus>& listeners) {
    array(json, "listeners", listeners, [&json](const ListenerStatus& listener) {
        JsonText item(json.out());
        item.text("address", listener.address);
        item.number("port", listener.port);
        item.boolean("tls", listener.tls);
        item.text("lane", listener.lane);
        if (listener.patience) item.number("patience_s", std::chrono::duration<double>(*listener.patience).count());
        item.close();
    });
}

void admission(JsonText& json, const AdmissionStatus& admission) {
    json.name("admission");
    JsonText item(json.out());
    array(item, "lanes", admission.lanes, [&item](const LaneStatus& lane) {
        JsonText inner(item.out());
        inner.text("lane", lane.lane);
        inner.number("waiting", lane.waiting);
        inner.number("oldest_s", lane.oldest_s);
        inner.close();
    });
    item.number("in_flight", admission.in_flight);
    item.number("tickets_outstanding", admission.tickets_outstanding);
    item.number("rate_per_s", admission.rate_per_s);
    item.number("load_share", admission.load_share);
    if (admission.predicted_recovery_s) item.number("predicted_recovery_s", *admission.predicted_recovery_s);
    item.number("short_patience", admission.short_patience);
    item.close();
}

}  // namespace

const char* to_string(ServiceState state) noexcept {
    switch (state) {
        case ServiceState::kStarting:
            return "starting";
        case ServiceState::kRunning:
            return "running";
        case ServiceState::kDraining:
            return "draining";
        case ServiceState::kStopping:
            break;
    }
    return "stopping";
}

std::string status_page(const ServiceStatus& status, std::size_t gateways_connected, protocol::UtcTime now) {
    std::string out;
    JsonText json(out);
    json.text("service", status.service);
    json.text("instance", status.instance);
    json.text("version", status.version);
    json.word("state", to_string(status.state));
    json.time("started_at", status.started_at);
    json.number("uptime_s", std::chrono::duration<double>(now - status.started_at).count());
    json.number("gateways_connected", gateways_connected);
    listeners(json, status.listeners);
    admission(json, status.admission);
    json.name("upstream");
    JsonText upstream(out);
    upstream.text("kind", status.upstream.kind);
    upstream.boolean("connected", status.upstream.connected);
    upstream.number("backlog", status.upstream.backlog);
    upstream.close();
    array(json, "loops", status.loops, [&json](const LoopStatus& loop) {
        JsonText item(json.out());
        item.text("thread", loop.thread);
        item.number("lag_s", loop.lag_s);
        item.close();
    });
    sentences(json, "problems", status.problems);
    sentences(json, "warnings", status.warnings);
    json.close();
    return out;
}

}  // namespace sm::admin
