#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/gateways/keys.hpp"
#include "server/gateways/source.hpp"

namespace sm::gateways {

/// One gateway as the HTTP registry writes it (deploy/registry/openapi.yaml, schema Gateway). kFound, or kError with
/// what is wrong; never a token in it. Unknown members are ignored, known ones of a wrong type are errors.
SourceAnswer read_record(const boost::json::value& json, const KeyRing& keys, const std::string& default_tenant);

/// The body of GET /gateways/{eui}.
SourceAnswer read_single(std::string_view body, protocol::Eui64 asked, const KeyRing& keys,
                         const std::string& default_tenant);

/// The body of POST /gateways/lookup: one answer per EUI asked, in order. An EUI that is neither among `gateways` nor
/// among `unknown` got no answer (kError): half a body must not make gateways unknown.
std::vector<SourceAnswer> read_batch(std::string_view body, const std::vector<protocol::Eui64>& asked,
                                     const KeyRing& keys, const std::string& default_tenant);

/// {"euis":["02abc0fffe102030",...]}
std::string batch_question(const std::vector<protocol::Eui64>& euis);

}  // namespace sm::gateways
