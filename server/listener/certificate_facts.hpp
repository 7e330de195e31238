#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/time.hpp"

struct x509_st;

namespace sm::listener {

/// One certificate in words, for checks, logs, metrics and the dashboard.
struct CertificateFacts {
    std::string file;
    int position = 0;         ///< in its file; 0 = the server's own, then the chain as given
    std::string common_name;  ///< of the subject
    std::string subject;      ///< whole, one line (RFC 2253)
    std::string issuer;
    std::string serial;                  ///< upper-case hex
    std::string key;                     ///< "EC prime256v1", "RSA 2048", "ED25519"
    std::vector<std::string> dns_names;  ///< dNSName SANs in lower case
    std::vector<std::string> ip_names;   ///< iPAddress SANs as text; stock stations ignore them
    bool has_alternative_names = false;  ///< any SAN at all: then the common name does not count
    protocol::UtcTime not_before, not_after;
};

CertificateFacts read_certificate(x509_st& certificate, std::string file, int position);

/// Does a station that asks for `host` accept the name? mbedTLS 2.28: dNSName SANs only, `*.` for one label, the common
/// name only without any SAN; an IP literal is compared as text (station-protocol §3.4). `host` in any case, brackets
/// allowed.
bool covers(const CertificateFacts& certificate, std::string_view host);

/// `host` as names are compared: lower case, no final dot, no brackets.
std::string plain_host(std::string_view host);

}  // namespace sm::listener
