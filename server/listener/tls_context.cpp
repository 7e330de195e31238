#include "server/listener/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "server/listener/tls_identity.hpp"
#include "server/listener/tls_review.hpp"

namespace sm::listener {
namespace {

/// ChaCha20 first: cheap for gateways without AES instructions. The CBC and CCM suites at the end are for trimmed
/// builds of old mbedTLS; all have forward secrecy.
constexpr const char* kCiphers =
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-AES128-CCM:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:"
    "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA";
constexpr const char* kCiphers13 = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384";

/// P-256 stays in the list although X25519 is first: without it OpenSSL refuses P-256 client certificates in TLS 1.2.
constexpr const char* kGroups = "X25519:P-256";
/// With client certificates also those on P-384; no station prefers that group over X25519 in our order.
constexpr const char* kGroupsForClientCertificates = "X25519:P-256:P-384";

constexpr std::string_view kAlpn = "http/1.1";
using Contexts = std::unordered_map<std::string, SSL_CTX*>;

/// Which certificates go with a name; owned by the SSL_CTX that every connection starts with, which can outlive
/// TlsContext.
struct Names {
    Contexts exact;
    Contexts wildcard;  ///< key: what follows the star, ".example.net"
    std::vector<SSL_CTX*> owned;

    ~Names() {
        for (SSL_CTX* context : owned) SSL_CTX_free(context);
    }
    SSL_CTX* find(const std::string& host) const {
        if (const auto it = exact.find(host); it != exact.end()) return it->second;
        const std::size_t dot = host.find('.');
        if (dot == std::string::npos || dot == 0) return nullptr;
        const auto it = wildcard.find(host.substr(dot));
        return it == wildcard.end() ? nullptr : it->second;
    }
};

void free_names(void*, void* names, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<Names*>(names);
}

int names_index() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_names);
    return index;
}

int choose_by_name(SSL* ssl, int*, void* names) {
    const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (!asked) return SSL_TLSEXT_ERR_NOACK;
    // An unknown name gets the first certificates: a station with TLS_SNI but another trust still decides for itself.
    if (SSL_CTX* context = static_cast<const Names*>(names)->find(plain_host(asked))) SSL_set_SSL_CTX(ssl, context);
    return SSL_TLSEXT_ERR_OK;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
                    void*) {
    for (unsigned at = 0; at < in_size; at += 1U + in[at]) {
        const std::string_view offered(reinterpret_cast<const char*>(in + at + 1), in[at]);
        if (offered != kAlpn) continue;
        *out = in + at + 1;
        *out_size = in[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

void TlsContext::ContextDelete::operator()(ssl_ctx_st* context) const noexcept {
    SSL_CTX_free(context);
}

TlsContext::~TlsContext() = default;

struct TlsContext::Builder {
    const config::Tls& tls;
    Built& built;
    std::vector<TlsIdentity> identities;
    std::vector<X509Ptr> client_cas;
    std::set<const TlsIdentity*> used;

    /// At most one certificate per key type; the first in the order of the configuration wins.
    using Chosen = std::array<const TlsIdentity*, 3>;

    void load() {
        for (const auto& files : tls.certificates) {
            if (auto identity = load_identity(files, built.problems)) identities.push_back(std::move(*identity));
        }
        if (tls.certificates.empty()) built.problems.emplace_back("tls.certificates: empty");
        if (!tls.client_ca.empty()) client_cas = load_certificates(tls.client_ca, built.problems);
    }

    void add(Chosen& chosen, const TlsIdentity& identity) const {
        const TlsIdentity*& place = chosen[static_cast<std::size_t>(identity.type)];
        if (!place) place = &identity;
    }

    /// The certificates for one name (a host or "*.domain"): those that say it, then those whose wildcard covers it.
    Chosen for_name(const std::string& name) const {
        Chosen chosen{};
        for (const bool exact : {true, false}) {
            for (const auto& identity : identities) {
                const auto& names = names_of(identity);
                const bool says = std::find(names.begin(), names.end(), name) != names.end();
                if (exact ? says : !name.starts_with("*") && covers(identity.facts[0], name)) add(chosen, identity);
            }
        }
        return chosen;
    }

    static std::vector<std::string> names_of(const TlsIdentity& identity) {
        const CertificateFacts& own = identity.facts[0];
        if (own.has_alternative_names) return own.dns_names;
        return {plain_host(own.common_name)};
    }

    void fail(const std::string& what) {
        const char* why = ERR_reason_error_string(ERR_peek_last_error());
        built.problems.push_back(what + ": " + (why ? why : "refused by OpenSSL"));
        ERR_clear_error();
    }

    ContextPtr make(const Chosen& chosen) {
        used.insert(chosen.begin(), chosen.end());
        ContextPtr context(SSL_CTX_new(TLS_server_method()));
        SSL_CTX* raw = context.get();
        SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
        SSL_CTX_set_options(
            raw, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        // NO_AUTO_CHAIN: the chain is sent as the file has it, never completed from client_ca.
        SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
        SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(raw, 0);
        static constexpr std::string_view kSessionContext = "stationmaster";
        SSL_CTX_set_session_id_context(raw, reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                       static_cast<unsigned>(kSessionContext.size()));
        const char* groups = client_cas.empty() ? kGroups : kGroupsForClientCertificates;
        if (SSL_CTX_set_cipher_list(raw, kCiphers) != 1 || SSL_CTX_set_ciphersuites(raw, kCiphers13) != 1 ||
            SSL_CTX_set1_groups_list(raw, groups) != 1) {
            fail("tls");
        }
        SSL_CTX_set_alpn_select_cb(raw, &choose_protocol, nullptr);
        for (const TlsIdentity* identity : chosen) {
            if (identity) use(raw, *identity);
        }
        ask_for_client_certificate(raw);
        return context;
    }

    void use(SSL_CTX* context, const TlsIdentity& identity) {
        if (SSL_CTX_use_certificate(context, identity.chain[0].get()) != 1 ||
            SSL_CTX_use_PrivateKey(context, identity.key.get()) != 1) {
            return fail(identity.facts[0].file);
        }
        SSL_CTX_clear_chain_certs(context);
        for (std::size_t i = 1; i < identity.chain.size(); ++i) {
            if (SSL_CTX_add1_chain_cert(context, identity.chain[i].get()) != 1) fail(identity.facts[i].file);
        }
    }

    void ask_for_client_certificate(SSL_CTX* context) {
        if (client_cas.empty()) return;
        X509_STORE* store = SSL_CTX_get_cert_store(context);
        // Whatever the bundle holds is trusted as it stands, also an intermediate without its root.
        X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
        for (const auto& ca : client_cas) {
            X509_STORE_add_cert(store, ca.get());
            SSL_CTX_add_client_CA(context, ca.get());
        }
        SSL_CTX_set_verify(
            context, SSL_VERIFY_PEER | (tls.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
    }

    void build(const std::vector<std::string>& public_hosts, protocol::UtcTime now) {
        load();
        if (!built.problems.empty()) return;
        Chosen by_default{};
        for (const auto& identity : identities) add(by_default, identity);
        std::shared_ptr<TlsContext> result(new TlsContext);
        result->context_ = make(by_default);
        result->asks_ = !client_cas.empty();
        by_name(result->context_.get(), by_default);
        if (!built.problems.empty()) return;
        built.warnings = review(identities, public_hosts, now);
        for (const auto& identity : identities) {
            if (used.contains(&identity)) continue;
            built.warnings.push_back(described(identity.facts[0]) +
                                     " is never served: an earlier one has its names and its kind of key");
        }
        for (auto& identity : identities) {
            std::move(identity.facts.begin(), identity.facts.end(), std::back_inserter(result->certificates_));
        }
        built.context = std::move(result);
    }

    /// One SSL_CTX per distinct set of certificates that some name stands for.
    void by_name(SSL_CTX* first, const Chosen& by_default) {
        std::set<std::string> all;
        for (const auto& identity : identities) {
            for (auto& name : names_of(identity)) all.insert(std::move(name));
        }
        auto names = std::make_unique<Names>();
        std::map<Chosen, SSL_CTX*> made{{by_default, nullptr}};
        for (const auto& name : all) {
            const Chosen chosen = for_name(name);
            auto [it, fresh] = made.try_emplace(chosen, nullptr);
            if (fresh) {
                it->second = make(chosen).release();
                names->owned.push_back(it->second);
            }
            if (!it->second) continue;
            if (name.starts_with("*.")) {
                names->wildcard.emplace(name.substr(1), it->second);
            } else {
                names->exact.emplace(name, it->second);
            }
        }
        SSL_CTX_set_tlsext_servername_callback(first, &choose_by_name);
        SSL_CTX_set_tlsext_servername_arg(first, names.get());
        SSL_CTX_set_ex_data(first, names_index(), names.release());
    }
};

TlsContext::Built TlsContext::build(const config::Tls& tls, const std::vector<std::string>& public_hosts,
                                    protocol::UtcTime now) {
    Built built;
    Builder{tls, built, {}, {}, {}}.build(public_hosts, now);
    return built;
}

runtime::SslPtr TlsContext::make_ssl() const {
    runtime::SslPtr ssl(SSL_new(context_.get()));
    if (ssl) SSL_set_accept_state(ssl.get());
    return ssl;
}

}  // namespace sm::listener
