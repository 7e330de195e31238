#include "server/gateways/postgres_source.hpp"

#include <fmt/core.h>
#include <libpq-fe.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "server/gateways/token_list.hpp"
#include "server/runtime/timeout.hpp"

namespace sm::gateways {

namespace asio = boost::asio;
using protocol::Eui64;

namespace {

constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{60};

std::vector<SourceAnswer> errors(std::size_t count, const std::string& why) {
    return std::vector<SourceAnswer>(count, SourceAnswer{SourceAnswer::Kind::kError, nullptr, why});
}

/// One row, read by the names of its columns. Throws a text: why the row is no record.
class Row {
  public:
    Row(const PGresult& rows, int row) : rows_(rows), row_(row) {}

    std::optional<std::string_view> get(const char* column) const {
        const int index = PQfnumber(&rows_, column);
        if (index < 0 || PQgetisnull(&rows_, row_, index) == 1) return std::nullopt;
        return std::string_view(PQgetvalue(&rows_, row_, index),
                                static_cast<std::size_t>(PQgetlength(&rows_, row_, index)));
    }
    std::string text(const char* column) const { return std::string(get(column).value_or("")); }
    bool flag(const char* column) const {
        const auto value = get(column);
        return value && (*value == "t" || *value == "true" || *value == "1");
    }
    std::optional<double> number(const char* column, double least, double most) const {
        const auto value = get(column);
        if (!value) return std::nullopt;
        const std::string text(*value);
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        if (text.empty() || *end != '\0' || !(number >= least && number <= most)) {
            throw fmt::format("{} is not a number in range", column);
        }
        return number;
    }
    std::vector<std::string> list(const char* column) const {
        const auto value = get(column);
        if (!value) return {};
        auto list = parse_pg_array(*value);
        if (!list) throw fmt::format("{} is not an array of texts", column);
        return std::move(*list);
    }

  private:
    const PGresult& rows_;
    const int row_;
};

void read_credential(const Row& row, const KeyRing& keys, CredentialRule& rule) {
    // A missing answer must not open the door.
    if (!parse_kind(row.text("credential"), rule.kind))
        throw std::string("credential is none of none, token, certificate, both");
    for (const std::string& token : row.list("tokens")) {
        if (!add_token(rule, token, keys)) throw std::string("tokens has something that is no token or digest");
    }
    for (const std::string& digest : row.list("token_digests")) {
        if (!add_token(rule, digest.starts_with("$") ? digest : "blake2b:" + digest, keys)) {
            throw std::string("token_digests has something that is no digest");
        }
    }
}

void read_tags(const Row& row, Record& record) {
    const auto text = row.get("tags");
    if (!text) return;
    boost::system::error_code ec;
    const auto json = boost::json::parse(*text, ec);
    if (ec || !json.is_object()) throw std::string("tags is not a JSON object");
    for (const auto& tag : json.get_object()) {
        if (!tag.value().is_string()) throw std::string("tags has a value that is not a text");
        record.tags.emplace_back(tag.key(), tag.value().get_string());
    }
}

RecordPtr read_record(const Row& row, Eui64 eui, const KeyRing& keys, const std::string& default_tenant) {
    auto record = std::make_shared<Record>();
    record->eui = eui;
    record->tenant = row.text("tenant");
    if (record->tenant.empty()) record->tenant = default_tenant;
    record->plan = row.text("plan");
    record->antenna_gain_db = static_cast<float>(row.number("antenna_gain", -30, 60).value_or(0));
    const auto latitude = row.number("latitude", -90, 90), longitude = row.number("longitude", -180, 180);
    if (latitude && longitude) {
        record->position = Record::Position{*latitude, *longitude, row.number("altitude", -1000, 20000).value_or(0)};
    }
    record->allow_rmtsh = row.flag("allow_rmtsh");
    record->allow_runcmd = row.flag("allow_runcmd");
    read_credential(row, keys, record->credential);
    read_tags(row, *record);
    return record;
}

}  // namespace

const char* PostgresSource::default_query() noexcept {
    return "SELECT eui, tenant, plan, antenna_gain, latitude, longitude, altitude, allow_rmtsh, allow_runcmd, "
           "credential, "
           "tokens, token_digests, tags FROM stationmaster_gateways WHERE eui = ANY($1::text[])";
}

PostgresSource::PostgresSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor,
                               log::Logger log)
    : dsn_(settings.dsn.value),
      query_(settings.query.empty() ? default_query() : settings.query),
      default_tenant_(settings.default_tenant),
      timeout_(settings.timeout),
      listens_(settings.max_concurrent > 1),
      keys_(std::move(keys)),
      executor_(executor),
      log_(log),
      tasks_(executor, [](std::exception_ptr) {}) {}

PostgresSource::~PostgresSource() = default;

void PostgresSource::start() {
    if (listens_) tasks_.spawn(listen());
}

void PostgresSource::close() {
    closed_ = true;
    idle_.clear();
    tasks_.cancel();
}

runtime::Task<std::vector<SourceAnswer>> PostgresSource::find(std::vector<Eui64> euis) {
    const std::size_t count = euis.size();
    if (closed_) co_return errors(count, "closed");
    // A call that is cut closes its connection: that ends the query at the server too, and nothing late is left on it.
    auto asking = ask(std::move(euis));
    auto answers = co_await runtime::timeout(std::move(asking), timeout_);
    if (answers) co_return std::move(*answers);
    co_return errors(count, fmt::format("no answer within {} ms", timeout_.count()));
}

runtime::Task<std::vector<SourceAnswer>> PostgresSource::ask(std::vector<Eui64> euis) {
    std::string parameter = "{";
    for (const Eui64 eui : euis) parameter += (parameter.size() > 1 ? "," : "") + protocol::to_hex(eui);
    parameter += "}";
    for (;;) {
        const bool reused = !idle_.empty();
        std::unique_ptr<PgConnection> connection;
        if (reused) {
            connection = std::move(idle_.front());
            idle_.pop_front();
        } else {
            auto opened = co_await PgConnection::open(executor_, dsn_);
            if (!opened) co_return errors(euis.size(), opened.error());
            connection = std::move(*opened);
        }
        auto query = connection->query(query_, parameter);
        const auto rows = co_await std::move(query);
        const bool usable = connection->usable();
        if (usable && !closed_) idle_.push_front(std::move(connection));
        if (rows) co_return read(**rows, euis);
        // The server was restarted since this connection was used last: all idle ones are as dead.
        if (reused && !usable) {
            idle_.clear();
            continue;
        }
        co_return errors(euis.size(), rows.error());
    }
}

PostgresSource::Answers PostgresSource::read(const pg_result& rows, const std::vector<Eui64>& euis) const {
    for (const char* column : {"eui", "credential"}) {
        if (PQfnumber(&rows, column) < 0)
            return errors(euis.size(), fmt::format("the query gives no column {}", column));
    }
    std::unordered_map<Eui64, SourceAnswer> found;
    for (int i = 0; i < PQntuples(&rows); ++i) {
        const Row row(rows, i);
        const auto eui = protocol::parse_eui(row.text("eui"));
        if (!eui) return errors(euis.size(), "the query gives an eui that is none");
        SourceAnswer answer;
        try {
            answer = {SourceAnswer::Kind::kFound, read_record(row, *eui, *keys_, default_tenant_), {}};
        } catch (const std::string& why) {
            answer.error = why;
        }
        if (!found.emplace(*eui, std::move(answer)).second)
            found[*eui] = {SourceAnswer::Kind::kError, nullptr, "two rows of one EUI"};
    }
    Answers out;
    out.reserve(euis.size());
    for (const Eui64 eui : euis) {
        const auto it = found.find(eui);
        out.push_back(it != found.end() ? it->second : SourceAnswer{SourceAnswer::Kind::kUnknown, nullptr, {}});
    }
    return out;
}

runtime::Task<> PostgresSource::listen() {
    asio::steady_timer timer(executor_);
    for (std::chrono::seconds pause = kFirstPause; !closed_; pause = std::min(pause * 2, kLongestPause)) {
        const auto began = std::chrono::steady_clock::now();
        co_await listen_once();
        if (std::chrono::steady_clock::now() - began > kLongestPause) pause = kFirstPause;
        timer.expires_after(pause);
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

/// Until the connection is lost.
runtime::Task<> PostgresSource::listen_once() {
    auto opening = PgConnection::open(executor_, dsn_);
    auto opened = co_await runtime::timeout(std::move(opening), timeout_);
    if (!opened || !*opened) {
        log_.debug("registry_listen", {{"error", opened ? opened->error() : std::string("no answer")}});
        co_return;
    }
    const std::unique_ptr<PgConnection> connection = std::move(**opened);
    auto asking = connection->query("LISTEN stationmaster_gateways", std::nullopt);
    const auto listening = co_await runtime::timeout(std::move(asking), timeout_);
    if (!listening || !*listening) {
        log_.warn("registry_listen", {{"error", listening ? listening->error() : std::string("no answer")}});
        co_return;
    }
    for (bool open = true; open;) {
        std::vector<Eui64> euis;
        for (const std::string& payload : connection->notifications()) {
            if (const auto eui = protocol::parse_eui(payload)) euis.push_back(*eui);
        }
        if (!euis.empty() && changed_) changed_(std::move(euis));
        open = co_await connection->wait_for_input();
    }
}

}  // namespace sm::gateways
