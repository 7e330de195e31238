#include "server/listener/tls_context.hpp"

#include <openssl/ssl.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "server/listener/tls_identity.hpp"
#include "server/runtime/tls_error.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/mbedtls_client.hpp"
#include "tests/support/run_task.hpp"
#include "tests/support/scratch_directory.hpp"

namespace asio = boost::asio;
using sm::listener::TlsContext;
using sm::listener::TlsContexts;
using sm::protocol::UtcTime;
using sm::runtime::ErrorCode;
using sm::runtime::Task;
using sm::runtime::TlsErrc;
using sm::runtime::TlsStream;
using sm::test::CertificateWish;
using sm::test::KeyKind;
using sm::test::MbedtlsResult;
using sm::test::MbedtlsWish;
using sm::test::PemPair;
using sm::test::ScratchDirectory;
using sm::test::ThrowawayCa;

namespace {

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

UtcTime now() {
    return {std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                .count()};
}

const ThrowawayCa& ca() {
    static const ThrowawayCa instance;
    return instance;
}

CertificateWish wish(const std::string& name, KeyKind key = KeyKind::kP256) {
    CertificateWish wanted;
    wanted.common_name = name;
    wanted.dns_names = {name};
    wanted.key = key;
    return wanted;
}

/// Files of a configuration in the making.
struct Files {
    ScratchDirectory directory;
    sm::config::Tls tls;

    Files& add(const PemPair& identity) {
        const std::string name = std::to_string(tls.certificates.size());
        tls.certificates.push_back({directory.write(name + ".pem", identity.certificate),
                                    directory.write(name + ".key", identity.private_key)});
        return *this;
    }
    Files& trust(const std::string& pem, bool required) {
        tls.client_ca = directory.write("client-ca.pem", pem);
        tls.require_client_certificate = required;
        return *this;
    }
    sm::listener::TlsContextPtr build() const {
        auto built = TlsContext::build(tls, {}, now());
        CHECK(built.problems == std::vector<std::string>{});
        CHECK(built.warnings == std::vector<std::string>{});
        REQUIRE(built.context);
        return built.context;
    }
};

/// How one visit went, seen from the server.
struct Visit {
    ErrorCode error;
    sm::runtime::TlsFacts facts;
    std::vector<int> offered_groups;
    MbedtlsResult client;
};

Task<> serve(TlsStream& stream, Visit& visit) {
    auto [error] = co_await stream.async_handshake(kTuple);
    visit.error = error;
    visit.offered_groups.resize(static_cast<std::size_t>(std::max(SSL_get1_groups(stream.ssl(), nullptr), 0L)));
    SSL_get1_groups(stream.ssl(), visit.offered_groups.data());
    if (error) {
        // As the listener does: the alert must not be overtaken by a reset.
        stream.shutdown();
        co_await stream.async_drain(kTuple);
        co_return;
    }
    visit.facts = stream.tls_facts();
    std::array<char, 256> text{};
    auto [read_error, size] = co_await stream.async_read_some(asio::buffer(text), kTuple);
    if (!read_error) co_await asio::async_write(stream, asio::buffer(text.data(), size), kTuple);
    stream.shutdown();
    co_await stream.async_drain(kTuple);
}

Visit visit_by_mbedtls(const TlsContext& context, MbedtlsWish wanted) {
    if (wanted.ca_pem.empty()) wanted.ca_pem = ca().pem();
    wanted.say = "hello";
    Visit visit;
    auto [server_fd, client_fd] = sm::test::connected_pair();
    std::thread client([&visit, &wanted, fd = client_fd] { visit.client = sm::test::mbedtls_connect(fd, wanted); });
    asio::io_context io(1);
    TlsStream stream(io.get_executor(), server_fd, context.make_ssl());
    sm::test::run_task(io, serve(stream, visit));
    client.join();
    if (visit.client.error == 0) CHECK(visit.client.answer == "hello");
    return visit;
}

/// What an OpenSSL client saw.
struct OpensslVisit {
    ErrorCode server_error;
    ErrorCode client_error;
    sm::runtime::TlsFacts facts;
    std::string common_name;
    bool resumable = false;
};

OpensslVisit visit_by_openssl(const TlsContext& context, const std::function<void(SSL*)>& prepare,
                              const std::function<Task<>(TlsStream&)>& then = {}) {
    static const auto client_context = sm::test::client_context(ca().pem());
    OpensslVisit result;
    Visit visit;
    auto [server_fd, client_fd] = sm::test::connected_pair();
    asio::io_context io(1);
    sm::runtime::SslPtr ssl(SSL_new(client_context.get()));
    SSL_set_connect_state(ssl.get());
    prepare(ssl.get());
    TlsStream server(io.get_executor(), server_fd, context.make_ssl());
    TlsStream client(io.get_executor(), client_fd, std::move(ssl));
    auto ask = [&]() -> Task<> {
        auto [error] = co_await client.async_handshake(kTuple);
        result.client_error = error;
        if (!error) {
            const sm::listener::X509Ptr certificate(SSL_get1_peer_certificate(client.ssl()));
            result.common_name = sm::listener::read_certificate(*certificate, "", 0).common_name;
            if (then) co_await then(client);
            co_await asio::async_write(client, asio::buffer("hello", 5), kTuple);
            std::array<char, 5> answer{};
            auto [read_error, size] = co_await asio::async_read(client, asio::buffer(answer), kTuple);
            if (!then) CHECK(std::string(answer.data(), size) == "hello");
            // After reading: TLS 1.3 would send its tickets with the first data.
            const SSL_SESSION* session = SSL_get0_session(client.ssl());
            result.resumable = session && SSL_SESSION_is_resumable(session) == 1;
        }
        client.close();
    };
    asio::co_spawn(io, ask(), [](std::exception_ptr error) {
        if (error) std::rethrow_exception(error);
    });
    sm::test::run_task(io, serve(server, visit));
    io.restart();
    io.run_for(std::chrono::seconds(10));
    result.server_error = visit.error;
    result.facts = visit.facts;
    return result;
}

auto asking_for(const char* name) {
    return [name](SSL* ssl) { SSL_set_tlsext_host_name(ssl, name); };
}

}  // namespace

TEST_CASE("tls_context: a stock client that lists P-521 first gets X25519", "[listener]") {
    for (const KeyKind key : {KeyKind::kP256, KeyKind::kRsa2048}) {
        const auto context = Files().add(ca().issue(wish("localhost", key))).build();
        const Visit visit = visit_by_mbedtls(*context, {});
        CHECK(visit.client.error_text == "");
        REQUIRE_FALSE(visit.error);
        REQUIRE(visit.offered_groups.size() > 1);
        CHECK(visit.offered_groups.front() == NID_secp521r1);
        CHECK(visit.facts.group == "x25519");
        CHECK(visit.facts.version == "TLSv1.2");
        CHECK(visit.facts.cipher ==
              (key == KeyKind::kP256 ? "ECDHE-ECDSA-CHACHA20-POLY1305" : "ECDHE-RSA-CHACHA20-POLY1305"));
        CHECK(visit.facts.server_name == "localhost");
    }
}

TEST_CASE("tls_context: ECDSA and RSA side by side, ECDSA for who can verify it", "[listener]") {
    const auto context = Files()
                             .add(ca().issue(wish("localhost", KeyKind::kRsa2048)))
                             .add(ca().issue(wish("localhost", KeyKind::kP256)))
                             .build();
    const Visit modern = visit_by_mbedtls(*context, {});
    CHECK(modern.facts.cipher == "ECDHE-ECDSA-CHACHA20-POLY1305");
    const auto rsa_only = visit_by_openssl(*context, [](SSL* ssl) {
        SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
        SSL_set_cipher_list(ssl, "ECDHE-RSA-AES128-GCM-SHA256");
    });
    CHECK_FALSE(rsa_only.server_error);
    CHECK(rsa_only.facts.cipher == "ECDHE-RSA-AES128-GCM-SHA256");
    CHECK(rsa_only.facts.group == "x25519");
}

TEST_CASE("tls_context: P-256, P-384 and RSA client certificates are verified", "[listener]") {
    const ThrowawayCa gateways("gateways");
    for (const bool required : {false, true}) {
        const auto context = Files().add(ca().issue()).trust(gateways.pem(), required).build();
        CHECK(context->asks_for_client_certificates());
        for (const KeyKind key : {KeyKind::kP256, KeyKind::kP384, KeyKind::kRsa2048}) {
            MbedtlsWish wanted;
            wanted.identity = gateways.issue(wish("0016c001ff10a235", key));
            const Visit visit = visit_by_mbedtls(*context, wanted);
            CHECK(visit.client.error_text == "");
            CHECK_FALSE(visit.error);
            CHECK(visit.facts.group == "x25519");
        }
        MbedtlsWish stranger;
        stranger.identity = ThrowawayCa("stranger").issue(wish("0016c001ff10a235"));
        CHECK(visit_by_mbedtls(*context, stranger).error == TlsErrc::kClientCertificateRefused);
        const Visit without = visit_by_mbedtls(*context, {});
        if (required) {
            CHECK(without.error == TlsErrc::kNoClientCertificate);
        } else {
            CHECK_FALSE(without.error);
        }
    }
}

TEST_CASE("tls_context: an intermediate alone is enough as client_ca", "[listener]") {
    const ThrowawayCa root("root");
    const ThrowawayCa intermediate = root.issue_ca("intermediate");
    const auto context = Files().add(ca().issue()).trust(intermediate.pem(), true).build();
    MbedtlsWish wanted;
    wanted.identity = intermediate.issue(wish("gateway"));
    CHECK_FALSE(visit_by_mbedtls(*context, wanted).error);
}

TEST_CASE("tls_context: TLS 1.3 is spoken, TLS 1.1 and 1.0 are refused", "[listener]") {
    const auto context = Files().add(ca().issue()).build();
    const auto modern = visit_by_openssl(*context, asking_for("localhost"));
    CHECK_FALSE(modern.server_error);
    CHECK(modern.facts.version == "TLSv1.3");
    CHECK(modern.facts.group == "x25519");
    CHECK(modern.facts.cipher == "TLS_CHACHA20_POLY1305_SHA256");
    for (const int minor : {1, 2}) {
        MbedtlsWish old;
        old.max_minor_version = minor;
        const Visit visit = visit_by_mbedtls(*context, old);
        CHECK(visit.error == TlsErrc::kProtocolVersion);
        CHECK(visit.client.error != 0);
    }
}

TEST_CASE("tls_context: nothing is kept for resumption", "[listener]") {
    const auto context = Files().add(ca().issue()).build();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        const auto visit = visit_by_openssl(*context, [version](SSL* ssl) { SSL_set_max_proto_version(ssl, version); });
        CHECK_FALSE(visit.server_error);
        CHECK_FALSE(visit.resumable);
    }
}

TEST_CASE("tls_context: a client may not renegotiate", "[listener]") {
    const auto context = Files().add(ca().issue()).build();
    ErrorCode error;
    const auto again = [&error](TlsStream& stream) -> Task<> {
        REQUIRE(SSL_renegotiate(stream.ssl()) == 1);
        auto [e] = co_await stream.async_handshake(kTuple);
        error = e;
    };
    const auto visit = visit_by_openssl(
        *context, [](SSL* ssl) { SSL_set_max_proto_version(ssl, TLS1_2_VERSION); }, again);
    CHECK_FALSE(visit.server_error);
    CHECK(error);
}

TEST_CASE("tls_context: groups beyond ours are refused", "[listener]") {
    const auto context = Files().add(ca().issue()).build();
    const auto tls13 = visit_by_openssl(*context, [](SSL* ssl) { SSL_set1_groups_list(ssl, "P-521"); });
    CHECK(tls13.server_error == TlsErrc::kNoSharedGroup);
    const auto tls12 = visit_by_openssl(*context, [](SSL* ssl) {
        SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
        SSL_set1_groups_list(ssl, "P-521:P-384");
    });
    CHECK(tls12.server_error == TlsErrc::kNoSharedCipher);
    const auto without_x25519 = visit_by_openssl(*context, [](SSL* ssl) { SSL_set1_groups_list(ssl, "P-521:P-256"); });
    CHECK(without_x25519.facts.group == "prime256v1");
}

TEST_CASE("tls_context: SNI chooses among names, unknown ones get the first", "[listener]") {
    const auto context = Files()
                             .add(ca().issue(wish("first.example")))
                             .add(ca().issue(wish("second.example")))
                             .add(ca().issue(wish("*.wild.example")))
                             .add(ca().issue(wish("exact.wild.example")))
                             .add(ca().issue(wish("192.0.2.7")))
                             .build();
    const auto served = [&](const char* name) { return visit_by_openssl(*context, asking_for(name)).common_name; };
    CHECK(served("first.example") == "first.example");
    CHECK(served("second.example") == "second.example");
    CHECK(served("SECOND.Example") == "second.example");
    CHECK(served("a.wild.example") == "*.wild.example");
    CHECK(served("a.b.wild.example") == "first.example");
    CHECK(served("exact.wild.example") == "exact.wild.example");
    CHECK(served("192.0.2.7") == "192.0.2.7");
    CHECK(served("unknown.example") == "first.example");
    CHECK(visit_by_openssl(*context, [](SSL*) {}).common_name == "first.example");
}

TEST_CASE("tls_context: each name has its own ECDSA and RSA certificate", "[listener]") {
    const auto context = Files()
                             .add(ca().issue(wish("first.example")))
                             .add(ca().issue(wish("second.example")))
                             .add(ca().issue(wish("second.example", KeyKind::kRsa2048)))
                             .build();
    const auto served = [&](const char* ciphers) {
        return visit_by_openssl(*context, [ciphers](SSL* ssl) {
            SSL_set_tlsext_host_name(ssl, "second.example");
            SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
            SSL_set_cipher_list(ssl, ciphers);
        });
    };
    const auto ecdsa = served("ECDHE-ECDSA-AES256-GCM-SHA384");
    CHECK(ecdsa.common_name == "second.example");
    const auto rsa = served("ECDHE-RSA-AES256-GCM-SHA384");
    CHECK(rsa.common_name == "second.example");
    CHECK(rsa.facts.cipher == "ECDHE-RSA-AES256-GCM-SHA384");
}

TEST_CASE("tls_context: only http/1.1 by ALPN", "[listener]") {
    const auto context = Files().add(ca().issue()).build();
    const auto offer = [&](std::string protocols) {
        return visit_by_openssl(*context, [protocols](SSL* ssl) {
            SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(protocols.data()),
                                static_cast<unsigned>(protocols.size()));
        });
    };
    CHECK(offer("\x02h2\x08http/1.1").facts.alpn == "http/1.1");
    CHECK(offer("\x08http/1.1").facts.alpn == "http/1.1");
    CHECK(offer("\x02h2").server_error == TlsErrc::kNoApplicationProtocol);
    CHECK(visit_by_openssl(*context, [](SSL*) {}).facts.alpn.empty());
}

TEST_CASE("tls_context: the chain is served exactly as its file gives it", "[listener]") {
    const ThrowawayCa root("root");
    const ThrowawayCa intermediate = root.issue_ca("intermediate");
    PemPair identity = intermediate.issue(wish("localhost"));
    identity.certificate += intermediate.pem();
    // The root is trusted for clients: it must not slip into what is sent.
    const auto context = Files().add(identity).trust(root.pem(), false).build();
    CHECK(context->certificates().size() == 2);
    MbedtlsWish wanted;
    wanted.ca_pem = root.pem();
    const Visit visit = visit_by_mbedtls(*context, wanted);
    CHECK(visit.client.error_text == "");
    CHECK(visit.client.chain == "CN=localhost\nCN=intermediate\n");
}

TEST_CASE("tls_context: connections outlive the context that a reload replaces", "[listener]") {
    Files files;
    files.add(ca().issue(wish("old.example"))).add(ca().issue(wish("localhost")));
    TlsContexts contexts(files.build());
    sm::runtime::SslPtr started = contexts.make_ssl();
    files.tls.certificates.clear();
    contexts.replace(files.add(ca().issue(wish("new.example"))).build());
    CHECK(visit_by_openssl(*contexts.current(), [](SSL*) {}).common_name == "new.example");

    Visit visit;
    auto [server_fd, client_fd] = sm::test::connected_pair();
    MbedtlsWish wanted;
    wanted.ca_pem = ca().pem();
    wanted.say = "hello";
    std::thread client([&, fd = client_fd] { visit.client = sm::test::mbedtls_connect(fd, wanted); });
    asio::io_context io(1);
    TlsStream stream(io.get_executor(), server_fd, std::move(started));
    sm::test::run_task(io, serve(stream, visit));
    client.join();
    CHECK(visit.client.chain == "CN=localhost\n");
}

TEST_CASE("tls_context: every fault is reported at once and names its file", "[listener]") {
    Files files;
    const PemPair good = ca().issue();
    files.add({"no certificate here", good.private_key});
    files.add({good.certificate, ca().issue().private_key});
    files.add({good.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", good.private_key});
    files.add({good.certificate, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"});
    files.tls.certificates.push_back({"/nowhere/a.pem", "/nowhere/a.key"});
    files.trust("", false);
    const auto built = TlsContext::build(files.tls, {}, now());
    CHECK_FALSE(built.context);
    REQUIRE(built.problems.size() == 7);
    const auto says = [&](std::size_t i, const std::string& file, const std::string& what) {
        INFO(built.problems[i]);
        CHECK(built.problems[i].starts_with(file));
        CHECK(built.problems[i].find(what) != std::string::npos);
    };
    says(0, files.tls.certificates[0].certificate, "no certificate in PEM form");
    says(1, files.tls.certificates[1].private_key, "is not the key of the first certificate");
    says(2, files.tls.certificates[2].certificate, "certificate 2 cannot be read");
    says(3, files.tls.certificates[3].private_key, "no private key in PEM form");
    says(4, "/nowhere/a.pem", "No such file");
    says(5, "/nowhere/a.key", "No such file");
    says(6, files.tls.client_ca, "no certificate in PEM form");
}

TEST_CASE("tls_context: a key with a pass phrase is refused without asking for it", "[listener]") {
    Files files;
    PemPair identity = ca().issue();
    identity.private_key = R"(-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAguIt/xNOt0yAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHVMdaKYgPY8pHdbmEMXY+MEgZCP
kClocSIBgSfN593F2NLg5Vd9JaOYAvXu3Dq/hrKD/KxNJe22245mIWau8JINgHYE
Q95S+bzNhCwUlmB9VZZyx02biwLV+V5fgNv7tdagXoXihpPIsJ3hYBO7bUC/HOu/
IWlxLo6qB62IYH3La06G+mTzUOB7NtukuWwASM53QeeXZAiCIv25o0TSWlWP7uI=
-----END ENCRYPTED PRIVATE KEY-----
)";
    files.add(identity);
    const auto built = TlsContext::build(files.tls, {}, now());
    REQUIRE(built.problems.size() == 1);
    CHECK(built.problems[0].find("pass phrase") != std::string::npos);
}

TEST_CASE("tls_context: warns of what stations will refuse", "[listener]") {
    const auto warnings = [](const CertificateWish& wanted, const std::vector<std::string>& hosts) {
        Files files;
        files.add(ca().issue(wanted));
        auto built = TlsContext::build(files.tls, hosts, now());
        REQUIRE(built.context);
        std::string all;
        for (const auto& line : built.warnings) all += line + "\n";
        return all;
    };
    CertificateWish expired = wish("a.example");
    expired.valid_until_days = 0;
    expired.valid_from_days = -10;
    CHECK(warnings(expired, {}).find("expired on") != std::string::npos);
    CertificateWish soon = wish("a.example");
    soon.valid_until_days = 10;
    CHECK(warnings(soon, {}).find("expires on") != std::string::npos);
    CertificateWish early = wish("a.example");
    early.valid_from_days = 2;
    CHECK(warnings(early, {}).find("not valid before") != std::string::npos);
    CHECK(warnings(wish("a.example"), {"a.example"}).empty());
    CHECK(warnings(wish("a.example"), {"b.example"}).find("no certificate covers b.example") != std::string::npos);
    CHECK(warnings(wish("*.example.net"), {"lns.example.net"}).empty());
    CHECK_FALSE(warnings(wish("*.example.net"), {"a.lns.example.net"}).empty());
    CHECK(warnings(wish("192.0.2.1"), {"192.0.2.1"}).empty());
    CertificateWish address = wish("a.example");
    address.ip_names = {"192.0.2.1"};
    CHECK(warnings(address, {"192.0.2.1"}).find("iPAddress") != std::string::npos);
    CertificateWish bare = wish("b.example");
    bare.dns_names.clear();
    CHECK(warnings(bare, {"b.example"}).empty());
    CHECK(warnings(wish("a.example", KeyKind::kEd25519), {}).find("no station can verify") != std::string::npos);
}

TEST_CASE("tls_context: warns of a chain out of order and of a certificate that is never served", "[listener]") {
    const ThrowawayCa root("root");
    const ThrowawayCa intermediate = root.issue_ca("intermediate");
    PemPair identity = intermediate.issue(wish("localhost"));
    identity.certificate += root.pem() + intermediate.pem();
    Files files;
    files.add(identity).add(ca().issue(wish("localhost")));
    const auto built = TlsContext::build(files.tls, {}, now());
    REQUIRE(built.context);
    REQUIRE(built.warnings.size() == 3);
    CHECK(built.warnings[0].find("certificate 2 (CN=root) did not issue") != std::string::npos);
    CHECK(built.warnings[1].find("certificate 3 (CN=intermediate) did not issue") != std::string::npos);
    CHECK(built.warnings[2].starts_with(files.tls.certificates[1].certificate));
    CHECK(built.warnings[2].find("never served") != std::string::npos);
}
