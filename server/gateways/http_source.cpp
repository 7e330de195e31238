#include "server/gateways/http_source.hpp"

#include <fmt/core.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <stdexcept>

#include "config/address.hpp"
#include "server/gateways/client_tls.hpp"
#include "server/gateways/record_json.hpp"
#include "server/runtime/timeout.hpp"

namespace sm::gateways {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using protocol::Eui64;
using Answers = std::vector<SourceAnswer>;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxBatch = 500;
constexpr std::uint64_t kMaxBody = 16U << 20U;
constexpr std::uint32_t kMaxHeader = 32U << 10U;
/// Servers and balancers close idle connections after a minute or so; a younger one is worth a try.
constexpr std::chrono::seconds kIdleFor{30};
constexpr std::chrono::minutes kTryBatchAgain{10};

Answers errors(std::size_t count, const std::string& why) {
    return Answers(count, SourceAnswer{SourceAnswer::Kind::kError, nullptr, why});
}

struct Response {
    unsigned status = 0;
    bool html = false;
    bool keep_alive = false;
    std::string body;
};

/// What one try on one connection came to.
struct Attempt {
    std::optional<Response> response;
    std::string error;
    bool silent = true;  ///< not one byte came back: safe to ask again on another connection
};

}  // namespace

struct HttpSource::Impl {
    struct Connection {
        runtime::TlsStream stream;
        Clock::time_point idle_since;
        bool used = false;
    };
    using Connections = std::list<Connection>;

    Impl(const config::Registry& settings, KeyRingPtr ring, runtime::Executor runs_on, log::Logger logger)
        : keys(std::move(ring)),
          executor(runs_on),
          log(logger),
          default_tenant(settings.default_tenant),
          timeout(settings.timeout) {
        const auto uri = config::parse_uri(settings.http.url);
        if (!uri || (uri->scheme != "http" && uri->scheme != "https")) {
            throw std::runtime_error("registry.http.url: not an http or https URL");
        }
        if (uri->scheme == "https") tls.emplace(settings.http.ca);
        const std::uint16_t usual = tls ? 443 : 80;
        host = uri->host;
        port = uri->port.value_or(usual);
        host_header = uri->host.find(':') == std::string::npos ? uri->host : "[" + uri->host + "]";
        if (port != usual) host_header += fmt::format(":{}", port);
        base = uri->path;
        while (base.ends_with('/')) base.pop_back();
        if (!settings.http.token.empty()) authorization = "Bearer " + settings.http.token.value;
    }

    http::request<http::string_body> request(http::verb verb, const std::string& path, std::string body = {}) const {
        http::request<http::string_body> made(verb, base + path, 11);
        made.set(http::field::host, host_header);
        made.set(http::field::user_agent, "stationmaster");
        made.set(http::field::accept, "application/json");
        if (!authorization.empty()) made.set(http::field::authorization, authorization);
        if (verb == http::verb::post) {
            made.set(http::field::content_type, "application/json");
            made.body() = std::move(body);
        }
        made.prepare_payload();
        return made;
    }

    runtime::Task<Attempt> attempt(Connection& connection, http::request<http::string_body>& question) {
        Attempt out;
        const auto [write_error, written] = co_await http::async_write(connection.stream, question, kTuple);
        boost::beast::flat_buffer buffer;
        http::response_parser<http::string_body> parser;
        parser.body_limit(kMaxBody);
        parser.header_limit(kMaxHeader);
        // Read even if the write failed: the registry may have said why before it closed.
        const auto [read_error, got] = co_await http::async_read(connection.stream, buffer, parser, kTuple);
        out.silent = !parser.got_some();
        if (read_error) {
            out.error = fmt::format("{}: {}", write_error ? "sending" : "receiving",
                                    (write_error ? write_error : read_error).message());
            co_return out;
        }
        auto message = parser.release();
        const std::string_view type = message[http::field::content_type];
        out.response = Response{message.result_int(), type.find("html") != std::string_view::npos, message.keep_alive(),
                                std::move(message.body())};
        co_return out;
    }

    /// One question, on an idle connection if there is one; once more on a new one if that had died meanwhile.
    runtime::Task<Attempt> ask(http::request<http::string_body> question) {
        for (;;) {
            Connections mine;
            while (!idle.empty() && Clock::now() - idle.back().idle_since > kIdleFor) idle.pop_back();
            if (!idle.empty()) mine.splice(mine.begin(), idle, idle.begin());
            if (mine.empty()) {
                auto stream = co_await connect(executor, host, port, tls ? &*tls : nullptr);
                if (!stream) co_return Attempt{std::nullopt, "connecting: " + stream.error().message(), true};
                mine.push_back({std::move(*stream), {}, false});
            }
            Connection& connection = mine.front();
            Attempt out = co_await attempt(connection, question);
            if (out.response && out.response->keep_alive && !closed) {
                connection.used = true;
                connection.idle_since = Clock::now();
                idle.splice(idle.begin(), mine);
            }
            if (out.response || !connection_was_stale(out, connection)) co_return out;
        }
    }
    static bool connection_was_stale(const Attempt& attempt, const Connection& connection) {
        return attempt.silent && connection.used;
    }

    runtime::Task<Answers> find_one(Eui64 eui) {
        auto question = request(http::verb::get, "/gateways/" + protocol::to_hex(eui));
        const Attempt attempt = co_await ask(std::move(question));
        if (!attempt.response) co_return errors(1, attempt.error);
        const Response& response = *attempt.response;
        if (response.status == 200) co_return Answers{read_single(response.body, eui, *keys, default_tenant)};
        // An error page of a proxy on the way is no answer of the registry.
        if ((response.status == 404 || response.status == 410) && !response.html) {
            co_return Answers{{SourceAnswer::Kind::kUnknown, nullptr, {}}};
        }
        co_return errors(1, fmt::format("HTTP status {}", response.status));
    }

    runtime::Task<Answers> find_batch(std::vector<Eui64> euis) {
        auto question = request(http::verb::post, "/gateways/lookup", batch_question(euis));
        const Attempt attempt = co_await ask(std::move(question));
        if (!attempt.response) co_return errors(euis.size(), attempt.error);
        const unsigned status = attempt.response->status;
        if (status == 200) co_return read_batch(attempt.response->body, euis, *keys, default_tenant);
        if (status == 404 || status == 405 || status == 501) {
            log.warn("registry_without_batch", {{"status", status}});
            no_batch_until = Clock::now() + kTryBatchAgain;
            co_return co_await one_by_one(std::move(euis));
        }
        co_return errors(euis.size(), fmt::format("HTTP status {}", status));
    }

    runtime::Task<Answers> one_by_one(std::vector<Eui64> euis) {
        const auto until = Clock::now() + timeout * 3 / 4;
        Answers all;
        for (const Eui64 eui : euis) {
            // What the time does not allow is asked again.
            if (Clock::now() > until) break;
            Answers one = co_await find_one(eui);
            all.push_back(std::move(one.front()));
        }
        while (all.size() < euis.size())
            all.push_back({SourceAnswer::Kind::kError, nullptr, "no time left in this call"});
        co_return all;
    }

    const KeyRingPtr keys;
    const runtime::Executor executor;
    const log::Logger log;
    const std::string default_tenant;
    const std::chrono::milliseconds timeout;
    std::uint16_t port = 0;
    std::string host, host_header, base, authorization;
    std::optional<ClientTls> tls;
    Connections idle;  ///< most recently used first
    std::optional<Clock::time_point> no_batch_until;
    bool closed = false;
};

HttpSource::HttpSource(const config::Registry& settings, KeyRingPtr keys, runtime::Executor executor, log::Logger log)
    : impl_(std::make_unique<Impl>(settings, std::move(keys), executor, log)) {}

HttpSource::~HttpSource() = default;

std::size_t HttpSource::max_batch() const noexcept {
    return kMaxBatch;
}

void HttpSource::close() {
    impl_->closed = true;
    impl_->idle.clear();
}

runtime::Task<Answers> HttpSource::find(std::vector<Eui64> euis) {
    const std::size_t count = euis.size();
    if (impl_->closed) co_return errors(count, "closed");
    const bool batch = count > 1 && !(impl_->no_batch_until && Clock::now() < *impl_->no_batch_until);
    auto question = count == 1 ? impl_->find_one(euis.front())
                    : batch    ? impl_->find_batch(std::move(euis))
                               : impl_->one_by_one(std::move(euis));
    auto answers = co_await runtime::timeout(std::move(question), impl_->timeout);
    if (answers) co_return std::move(*answers);
    co_return errors(count, fmt::format("no answer within {} ms", impl_->timeout.count()));
}

}  // namespace sm::gateways
