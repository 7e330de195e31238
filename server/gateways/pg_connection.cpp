#include "server/gateways/pg_connection.hpp"

#include <libpq-fe.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sm::gateways {

namespace asio = boost::asio;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

std::string one_line(const char* text) {
    std::string line = text != nullptr ? text : "";
    for (char& c : line) {
        if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line.empty() ? "no reason given" : line;
}

struct Options {
    PQconninfoOption* list = nullptr;
    ~Options() { PQconninfoFree(list); }
    std::string value(std::string_view name) const {
        for (const PQconninfoOption* option = list; option != nullptr && option->keyword != nullptr; ++option) {
            if (name == option->keyword && option->val != nullptr) return option->val;
        }
        return {};
    }
};

}  // namespace

void PgResultDelete::operator()(pg_result* result) const noexcept {
    PQclear(result);
}

runtime::Task<boost::system::result<std::unique_ptr<PgConnection>, PgConnection::Failure>> PgConnection::open(
    runtime::Executor executor, std::string dsn) {
    char* parse_error = nullptr;
    const Options options{PQconninfoParse(dsn.c_str(), &parse_error)};
    if (options.list == nullptr) {
        // The message would repeat a part of the connection string.
        PQfreemem(parse_error);
        co_return Failure("the connection string cannot be read");
    }
    std::string host = options.value("host"), hosts, addresses;
    const bool name = !host.empty() && host.front() != '/' && host.front() != '@' &&
                      host.find(',') == std::string::npos && options.value("hostaddr").empty();
    if (name) {
        asio::ip::basic_resolver<asio::ip::tcp, runtime::Executor> resolver(executor);
        const auto [error, found] = co_await resolver.async_resolve(host, "", kTuple);
        if (error) co_return Failure("resolving " + host + ": " + error.message());
        for (const auto& entry : found) {
            if (!hosts.empty()) hosts += ',', addresses += ',';
            hosts += host;
            addresses += entry.endpoint().address().to_string();
        }
    }
    std::vector<const char*> keys{"dbname", "fallback_application_name"}, values{dsn.c_str(), "stationmaster"};
    if (name) {
        keys.insert(keys.end(), {"host", "hostaddr"});
        values.insert(values.end(), {hosts.c_str(), addresses.c_str()});
    }
    keys.push_back(nullptr);
    values.push_back(nullptr);
    pg_conn* conn = PQconnectStartParams(keys.data(), values.data(), 1);
    if (conn == nullptr) co_return Failure("out of memory");
    std::unique_ptr<PgConnection> made(new PgConnection(executor, conn));
    if (PQstatus(conn) == CONNECTION_BAD) co_return made->failure();
    for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK; state = PQconnectPoll(conn)) {
        if (state == PGRES_POLLING_FAILED) co_return made->failure();
        // libpq may have gone on to the next address, on another descriptor.
        made->attach();
        const bool ready = co_await made->wait(state == PGRES_POLLING_READING ? Wait::kRead : Wait::kWrite);
        if (!ready) {
            co_return Failure("the connection was given up");
        }
        made->detach();
    }
    PQsetnonblocking(conn, 1);
    made->attach();
    co_return made;
}

PgConnection::~PgConnection() {
    detach();
    PQfinish(conn_);
}

void PgConnection::attach() {
    socket_.emplace(executor_, PQsocket(conn_));
}

/// The descriptor is libpq's: it is only lent to the reactor.
void PgConnection::detach() {
    if (socket_ && socket_->is_open()) socket_->release();
    socket_.reset();
}

PgConnection::Failure PgConnection::failure() const {
    return one_line(PQerrorMessage(conn_));
}

bool PgConnection::usable() const noexcept {
    return PQstatus(conn_) == CONNECTION_OK && PQtransactionStatus(conn_) == PQTRANS_IDLE;
}

runtime::Task<bool> PgConnection::wait(Wait what) {
    using Base = asio::posix::descriptor_base;
    const auto [error] = co_await socket_->async_wait(what == Wait::kRead ? Base::wait_read : Base::wait_write, kTuple);
    co_return !error;
}

runtime::Task<bool> PgConnection::wait_for_input() {
    const bool ready = co_await wait(Wait::kRead);
    if (!ready) co_return false;
    co_return PQconsumeInput(conn_) == 1;
}

runtime::Task<boost::system::result<PgResult, PgConnection::Failure>> PgConnection::query(
    std::string sql, std::optional<std::string> parameter) {
    const char* value = parameter ? parameter->c_str() : nullptr;
    const int sent = PQsendQueryParams(conn_, sql.c_str(), parameter ? 1 : 0, nullptr, parameter ? &value : nullptr,
                                       nullptr, nullptr, 0);
    if (sent != 1) co_return failure();
    for (int left = PQflush(conn_); left != 0; left = PQflush(conn_)) {
        if (left < 0) co_return failure();
        const bool ready = co_await wait(Wait::kWrite);
        if (!ready) co_return Failure("the connection was given up");
    }
    PgResult last;
    for (;;) {
        while (PQisBusy(conn_) == 1) {
            const bool come = co_await wait_for_input();
            if (!come) co_return failure();
        }
        PgResult next(PQgetResult(conn_));
        if (!next) break;
        const auto status = PQresultStatus(next.get());
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            const Failure why = one_line(PQresultErrorMessage(next.get()));
            // Read on until libpq says that the query is over, so that the connection can be used again.
            while (next) {
                while (PQisBusy(conn_) == 1) {
                    const bool come = co_await wait_for_input();
                    if (!come) co_return why;
                }
                next.reset(PQgetResult(conn_));
            }
            co_return why;
        }
        last = std::move(next);
    }
    if (!last) co_return Failure("no result");
    co_return last;
}

std::vector<std::string> PgConnection::notifications() {
    std::vector<std::string> out;
    while (PGnotify* note = PQnotifies(conn_)) {
        out.emplace_back(note->extra != nullptr ? note->extra : "");
        PQfreemem(note);
    }
    return out;
}

std::optional<std::vector<std::string>> parse_pg_array(std::string_view text) {
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::string> out;
    if (text.empty()) return out;
    std::size_t i = 0;
    for (;;) {
        std::string element;
        const bool quoted = i < text.size() && text[i] == '"';
        if (quoted) ++i;
        for (;; ++i) {
            if (i >= text.size()) {
                if (quoted) return std::nullopt;
                break;
            }
            if (quoted ? text[i] == '"' : text[i] == ',') break;
            if (!quoted && (text[i] == '{' || text[i] == '}' || text[i] == '"')) return std::nullopt;
            if (text[i] == '\\' && ++i >= text.size()) return std::nullopt;
            element += text[i];
        }
        if (quoted) ++i;
        if (quoted || element != "NULL") out.push_back(std::move(element));
        if (i >= text.size()) return out;
        if (text[i] != ',') return std::nullopt;
        ++i;
    }
}

}  // namespace sm::gateways
