#include "server/admin/gateway_pages.hpp"

#include <algorithm>

#include "server/upstream/json_text.hpp"

namespace sm::admin {
namespace {

using directory::SessionHandle;
using upstream::JsonText;

/// One gateway in a list: what is connected, what is remembered, or both.
struct Entry {
    protocol::Eui64 eui;
    std::shared_ptr<SessionHandle> session;
    std::optional<KnownGateway> known;
};

/// How many are read at once while filtering: `list` walks the whole directory each time.
constexpr std::size_t kChunk = 4096;

struct Sessions {
    std::vector<std::shared_ptr<SessionHandle>> list;
    bool cut = false;  ///< there may be more behind the last
};

Sessions sessions_after(const AdminBackend& backend, std::optional<protocol::Eui64> after) {
    Sessions out;
    out.list = backend.directory->list(after.value_or(protocol::Eui64{}), kChunk);
    out.cut = out.list.size() >= kChunk;
    // For the directory "after 0" is everything; a gateway whose EUI is 0 belongs to the first page only.
    if (after) std::erase_if(out.list, [&](const auto& session) { return session->eui() <= *after; });
    return out;
}

/// The next entries after `after`, ascending; fewer than asked for only at the end. `more` tells whether there may be
/// others.
std::vector<Entry> next_entries(const AdminBackend& backend, std::optional<protocol::Eui64> after, bool& more) {
    const auto [sessions, cut] = sessions_after(backend, after);
    const auto known = backend.known ? backend.known(after, kChunk) : std::vector<KnownGateway>{};
    // Beyond the end of a list that was cut, the other one may not go on: entries would be missed.
    std::optional<protocol::Eui64> end;
    if (cut) end = sessions.back()->eui();
    if (known.size() >= kChunk) end = std::min(end.value_or(known.back().eui), known.back().eui);
    more = end.has_value();

    std::vector<Entry> out;
    auto session = sessions.begin();
    auto remembered = known.begin();
    while (session != sessions.end() || remembered != known.end()) {
        const bool take_session =
            session != sessions.end() && (remembered == known.end() || (*session)->eui() <= remembered->eui);
        const bool take_known =
            remembered != known.end() && (session == sessions.end() || remembered->eui <= (*session)->eui());
        Entry entry;
        entry.eui = take_session ? (*session)->eui() : remembered->eui;
        if (end && entry.eui > *end) break;
        if (take_session) entry.session = *session++;
        if (take_known) entry.known = *remembered++;
        out.push_back(std::move(entry));
    }
    return out;
}

bool matches(const Entry& entry, const GatewayQuery& query) {
    if (query.connected && *query.connected != (entry.session != nullptr)) return false;
    if (query.tenant) {
        const std::string tenant = entry.session ? entry.session->facts()->tenant : entry.known->tenant;
        if (tenant != *query.tenant) return false;
    }
    if (query.patience_below) {
        if (!entry.known || !entry.known->patience_at_most || *entry.known->patience_at_most >= *query.patience_below)
            return false;
    }
    return true;
}

void times(JsonText& json, std::string_view key, std::int64_t utc_micros) {
    if (utc_micros > 0) json.time(key, protocol::UtcTime{utc_micros});
}

void write_session(JsonText& json, const SessionHandle& session) {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const auto facts = session.facts();
    const auto& counters = session.counters;
    json.text("tenant", facts->tenant);
    json.text("address", facts->address);
    json.text("plan", facts->plan);
    json.text("station", facts->station);
    json.text("firmware", facts->firmware);
    json.text("package", facts->package);
    json.text("model", facts->model);
    json.name("features");
    json.out() += '[';
    for (std::size_t i = 0; i < facts->features.size(); ++i) {
        if (i > 0) json.out() += ',';
        json.quoted(facts->features[i]);
    }
    json.out() += ']';
    json.boolean("tls", facts->tls);
    json.boolean("configured", counters.configured.load(kRelaxed));
    json.number("epoch", session.epoch());
    times(json, "connected_at", facts->connected_utc);
    json.number("connect_s", static_cast<double>(facts->connect_us) / 1e6);
    if (const auto rtt = counters.rtt_us.load(kRelaxed); rtt >= 0) json.number("rtt_s", static_cast<double>(rtt) / 1e6);
    times(json, "last_received_at", counters.last_received_utc.load(kRelaxed));
    times(json, "last_uplink_at", counters.last_uplink_utc.load(kRelaxed));
    json.number("uplinks", counters.uplinks.load(kRelaxed));
    json.number("downlinks", counters.downlinks.load(kRelaxed));
    json.number("downlinks_sent", counters.downlinks_sent.load(kRelaxed));
    json.number("frames_received", counters.frames_in.load(kRelaxed));
    json.number("frames_dropped", counters.frames_dropped.load(kRelaxed));
    json.number("bytes_received", counters.bytes_in.load(kRelaxed));
    json.number("bytes_sent", counters.bytes_out.load(kRelaxed));
}

void write_patience(JsonText& json, const KnownGateway& known) {
    if (!known.patience_at_least && !known.patience_at_most) return;
    const auto seconds = [](std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); };
    json.name("patience");
    JsonText patience(json.out());
    if (known.patience_at_least) patience.number("at_least_s", seconds(*known.patience_at_least));
    if (known.patience_at_most) patience.number("at_most_s", seconds(*known.patience_at_most));
    patience.boolean("certain", known.patience_certain);
    patience.number("abandons", known.abandons);
    patience.close();
}

void write_known(JsonText& json, const KnownGateway& known, bool connected) {
    if (!connected) {
        json.text("tenant", known.tenant);
        json.text("address", known.address);
        json.text("station", known.station);
        json.text("model", known.model);
    }
    times(json, "last_seen_at", known.last_seen.micros);
    if (!known.last_end.empty()) json.text("last_end", known.last_end);
    write_patience(json, known);
}

void write_entry(JsonText& json, const Entry& entry) {
    json.hex64("eui", entry.eui.value);
    json.text("id6", protocol::to_id6(entry.eui));
    json.boolean("connected", entry.session != nullptr);
    if (entry.session) write_session(json, *entry.session);
    if (entry.known) write_known(json, *entry.known, entry.session != nullptr);
}

void write_connects(JsonText& json, const std::vector<ConnectStory>& stories) {
    json.name("connects");
    json.out() += '[';
    for (std::size_t i = 0; i < stories.size(); ++i) {
        const ConnectStory& story = stories[i];
        if (i > 0) json.out() += ',';
        JsonText item(json.out());
        item.time("at", story.at);
        item.text("address", story.address);
        item.name("stages");
        JsonText stages(json.out());
        for (const auto& stage : story.stages)
            stages.number(stage.name + "_s", std::chrono::duration<double>(stage.took).count());
        stages.close();
        if (!story.end.empty()) item.text("end", story.end);
        if (story.close_code != 0) item.number("close_code", story.close_code);
        item.close();
    }
    json.out() += ']';
}

}  // namespace

std::string gateways_page(const AdminBackend& backend, const GatewayQuery& query) {
    std::string out;
    JsonText json(out);
    json.name("gateways");
    out += '[';
    std::size_t written = 0;
    std::optional<protocol::Eui64> after = query.after;
    std::optional<protocol::Eui64> next;
    std::optional<protocol::Eui64> last_written;
    for (bool more = true; more && !next;) {
        const auto entries = next_entries(backend, after, more);
        for (const Entry& entry : entries) {
            if (!matches(entry, query)) continue;
            if (written == query.limit) {
                next = last_written;
                break;
            }
            if (written++ > 0) out += ',';
            JsonText item(out);
            write_entry(item, entry);
            item.close();
            last_written = entry.eui;
        }
        if (!entries.empty()) after = entries.back().eui;
        if (entries.empty()) break;
    }
    out += ']';
    if (next) json.hex64("next", next->value);
    json.close();
    return out;
}

std::optional<std::string> gateway_page(const AdminBackend& backend, protocol::Eui64 eui) {
    Entry entry;
    entry.eui = eui;
    entry.session = backend.directory->find(eui);
    if (backend.find_known) entry.known = backend.find_known(eui);
    if (!entry.session && !entry.known) return std::nullopt;
    std::string out;
    JsonText json(out);
    write_entry(json, entry);
    if (backend.recent_connects) write_connects(json, backend.recent_connects(eui));
    json.close();
    return out;
}

}  // namespace sm::admin
