#include "protocol/station/dntxed.hpp"

namespace sm::protocol {

Result<Dntxed> decode_dntxed(const JsonObject& message) {
    Dntxed dntxed;
    auto diid = optional_integer(message.find("diid"));
    if (!diid) diid = optional_integer(message.find("seqno"));
    if (!diid) return Errc::kMissingField;
    dntxed.diid = *diid;
    dntxed.dr = optional_integer(message.find("DR"));
    dntxed.frequency_hz = optional_integer(message.find("Freq"));
    dntxed.xtime = optional_integer(message.find("xtime")).value_or(0);
    return dntxed;
}

}  // namespace sm::protocol
