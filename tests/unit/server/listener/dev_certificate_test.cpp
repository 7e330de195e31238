#include "server/listener/dev_certificate.hpp"

#include <sys/stat.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "server/listener/tls_context.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/mbedtls_client.hpp"
#include "tests/support/run_task.hpp"
#include "tests/support/scratch_directory.hpp"

namespace asio = boost::asio;
using sm::listener::dev_certificate;
using sm::protocol::UtcTime;
using sm::test::ScratchDirectory;

namespace {

using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;

UtcTime now() {
    return {std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count()};
}

/// The stock client's verdict on the files of `directory`.
std::string stock_client(const ScratchDirectory& directory, const sm::config::Certificate& server,
                         const std::string& host) {
    sm::config::Tls tls;
    tls.certificates = {server};
    const auto built = sm::listener::TlsContext::build(tls, {host}, now());
    REQUIRE(built.context);
    CHECK(built.warnings == std::vector<std::string>{});
    sm::test::MbedtlsWish wanted;
    wanted.ca_pem = directory.read("dev-ca.pem");
    wanted.host = host;
    auto [server_fd, client_fd] = sm::test::connected_pair();
    sm::test::MbedtlsResult result;
    std::thread client([&, fd = client_fd] { result = sm::test::mbedtls_connect(fd, wanted); });
    asio::io_context io(1);
    sm::runtime::TlsStream stream(io.get_executor(), server_fd, built.context->make_ssl());
    auto handshake = [&]() -> sm::runtime::Task<> {
        co_await stream.async_handshake(asio::as_tuple(asio::use_awaitable));
    };
    sm::test::run_task(io, handshake());
    client.join();
    return result.error_text;
}

mode_t mode_of(const std::string& path) {
    struct stat facts {};
    REQUIRE(stat(path.c_str(), &facts) == 0);
    return facts.st_mode & 0777U;
}

}  // namespace

TEST_CASE("dev_certificate: a stock client that is given dev-ca.pem accepts it by name and by address", "[listener]") {
    const ScratchDirectory directory;
    const auto made = dev_certificate(directory.path() + "/new", {"LNS.Example.", "10.0.0.5"}, now());
    REQUIRE(made.has_value());
    CHECK(made->generated);
    CHECK(made->authority == directory.path() + "/new/dev-ca.pem");
    CHECK(mode_of(made->server.private_key) == 0600);
    CHECK(mode_of(directory.path() + "/new/dev-ca.key") == 0600);
    const ScratchDirectory clients;
    clients.write("dev-ca.pem", directory.read("new/dev-ca.pem"));
    for (const char* host : {"localhost", "127.0.0.1", "lns.example", "10.0.0.5"}) {
        INFO(host);
        CHECK(stock_client(clients, made->server, host) == "");
    }
}

TEST_CASE("dev_certificate: found again while good, renewed before it ends, under the same authority", "[listener]") {
    const ScratchDirectory directory;
    REQUIRE(dev_certificate(directory.path(), {}, now())->generated);
    const std::string authority = directory.read("dev-ca.pem");
    const std::string server = directory.read("dev-server.pem");
    CHECK_FALSE(dev_certificate(directory.path(), {}, now())->generated);
    CHECK_FALSE(dev_certificate(directory.path(), {}, now() + Days(380))->generated);
    CHECK(directory.read("dev-server.pem") == server);
    CHECK(dev_certificate(directory.path(), {}, now() + Days(392))->generated);
    CHECK(directory.read("dev-server.pem") != server);
    CHECK(directory.read("dev-ca.pem") == authority);
    CHECK(dev_certificate(directory.path(), {"another.example"}, now() + Days(392))->generated);
    CHECK(directory.read("dev-ca.pem") == authority);
    CHECK(dev_certificate(directory.path(), {}, now() + Days(3649))->generated);
    CHECK(directory.read("dev-ca.pem") != authority);
}

TEST_CASE("dev_certificate: torn files are made anew", "[listener]") {
    for (const char* file : {"dev-ca.pem", "dev-ca.key", "dev-server.pem", "dev-server.key"}) {
        const ScratchDirectory directory;
        REQUIRE(dev_certificate(directory.path(), {}, now()).has_value());
        directory.write(file, directory.read(file).substr(0, 60));
        const auto again = dev_certificate(directory.path(), {}, now());
        REQUIRE(again.has_value());
        CHECK(again->generated);
        CHECK(stock_client(directory, again->server, "localhost") == "");
    }
}

TEST_CASE("dev_certificate: says why a directory cannot be used", "[listener]") {
    const ScratchDirectory directory;
    const std::string file = directory.write("file", "not a directory");
    const auto made = dev_certificate(file + "/below", {}, now());
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error() == boost::system::errc::not_a_directory);
}

TEST_CASE("dev_certificate: names that would be taken for syntax are left out", "[listener]") {
    const ScratchDirectory directory;
    const auto made = dev_certificate(directory.path(), {"a,IP:1.2.3.4", "*", "", "good.example"}, now());
    REQUIRE(made.has_value());
    CHECK(stock_client(directory, made->server, "good.example") == "");
    CHECK_FALSE(dev_certificate(directory.path(), {"good.example"}, now())->generated);
}
