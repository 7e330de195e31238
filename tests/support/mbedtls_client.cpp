#include "tests/support/mbedtls_client.hpp"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include <array>

namespace sm::test {
namespace {

std::string text_of(int error) {
    std::array<char, 256> text{};
    mbedtls_strerror(error, text.data(), text.size());
    return text.data();
}

const unsigned char* bytes_of(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.c_str());
}

/// Everything mbedTLS wants initialised before and freed after.
struct Client {
    explicit Client(int fd) {
        mbedtls_ssl_init(&ssl);
        mbedtls_ssl_config_init(&config);
        mbedtls_x509_crt_init(&trust);
        mbedtls_x509_crt_init(&own);
        mbedtls_pk_init(&key);
        mbedtls_ctr_drbg_init(&random);
        mbedtls_entropy_init(&entropy);
        net.fd = fd;
    }
    ~Client() {
        mbedtls_net_free(&net);
        mbedtls_ssl_free(&ssl);
        mbedtls_ssl_config_free(&config);
        mbedtls_x509_crt_free(&trust);
        mbedtls_x509_crt_free(&own);
        mbedtls_pk_free(&key);
        mbedtls_ctr_drbg_free(&random);
        mbedtls_entropy_free(&entropy);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    int set_up(const MbedtlsWish& wish) {
        int error = mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, nullptr, 0);
        if (error == 0) {
            error = mbedtls_ssl_config_defaults(&config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                                MBEDTLS_SSL_PRESET_DEFAULT);
        }
        if (error == 0) error = mbedtls_x509_crt_parse(&trust, bytes_of(wish.ca_pem), wish.ca_pem.size() + 1);
        if (error == 0 && !wish.identity.certificate.empty()) {
            const PemPair& identity = wish.identity;
            error = mbedtls_x509_crt_parse(&own, bytes_of(identity.certificate), identity.certificate.size() + 1);
            if (error == 0) {
                error = mbedtls_pk_parse_key(&key, bytes_of(identity.private_key), identity.private_key.size() + 1,
                                             nullptr, 0);
            }
            if (error == 0) error = mbedtls_ssl_conf_own_cert(&config, &own, &key);
        }
        if (error != 0) return error;
        mbedtls_ssl_conf_ca_chain(&config, &trust, nullptr);
        mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_REQUIRED);
        mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
        mbedtls_ssl_conf_max_version(&config, MBEDTLS_SSL_MAJOR_VERSION_3, wish.max_minor_version);
        error = mbedtls_ssl_setup(&ssl, &config);
        if (error == 0 && !wish.host.empty()) error = mbedtls_ssl_set_hostname(&ssl, wish.host.c_str());
        mbedtls_ssl_set_bio(&ssl, &net, mbedtls_net_send, mbedtls_net_recv, nullptr);
        return error;
    }

    mbedtls_ssl_context ssl;
    mbedtls_ssl_config config;
    mbedtls_x509_crt trust;
    mbedtls_x509_crt own;
    mbedtls_pk_context key;
    mbedtls_ctr_drbg_context random;
    mbedtls_entropy_context entropy;
    mbedtls_net_context net;
};

std::string subjects(const mbedtls_x509_crt* certificate) {
    std::string text;
    for (; certificate; certificate = certificate->next) {
        std::array<char, 256> name{};
        mbedtls_x509_dn_gets(name.data(), name.size(), &certificate->subject);
        text += std::string(name.data()) + "\n";
    }
    return text;
}

}  // namespace

MbedtlsResult mbedtls_connect(int fd, const MbedtlsWish& wish) {
    MbedtlsResult result;
    Client client(fd);
    result.error = client.set_up(wish);
    if (result.error == 0) result.error = mbedtls_ssl_handshake(&client.ssl);
    if (result.error != 0) {
        result.error_text = text_of(result.error);
        mbedtls_ssl_send_alert_message(&client.ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                       MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
        return result;
    }
    result.cipher = mbedtls_ssl_get_ciphersuite(&client.ssl);
    result.version = mbedtls_ssl_get_version(&client.ssl);
    result.chain = subjects(mbedtls_ssl_get_peer_cert(&client.ssl));
    if (!wish.say.empty()) {
        mbedtls_ssl_write(&client.ssl, bytes_of(wish.say), wish.say.size());
        std::array<unsigned char, 256> answer{};
        const int size = mbedtls_ssl_read(&client.ssl, answer.data(), std::min(answer.size(), wish.say.size()));
        if (size > 0) result.answer.assign(answer.begin(), answer.begin() + size);
    }
    mbedtls_ssl_close_notify(&client.ssl);
    return result;
}

}  // namespace sm::test
