#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sm::admin {

enum class Verb : std::uint8_t { kGet, kHead, kPost, kOther };
const char* to_string(Verb verb) noexcept;

/// One request as a value: what the routes decide on. Texts are the client's.
struct Request {
    Verb verb = Verb::kGet;
    std::string target;         ///< path and query as sent
    std::string authorization;  ///< the header's value; a secret
    std::string host;
    std::string origin;
    std::string body;
    std::string peer;  ///< address without port
};

struct Response {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::string allow;         ///< for 405
    unsigned retry_after = 0;  ///< seconds, for 429 and 503; 0 = not said
};

Response json_response(std::string body, unsigned status = 200);

/// What is wrong with one field of a request, for people: `field` as the client wrote it ("rx1.frequency").
struct FieldProblem {
    std::string field;
    std::string message;
};

/// {"error":{"code":…,"message":…[,"fields":[{"field":…,"message":…}]]}}
Response error_response(unsigned status, std::string_view code, std::string_view message,
                        const std::vector<FieldProblem>& fields = {});

}  // namespace sm::admin
