#include "server/admin/http.hpp"

#include "server/upstream/json_text.hpp"

namespace sm::admin {

const char* to_string(Verb verb) noexcept {
    switch (verb) {
        case Verb::kGet:
            return "GET";
        case Verb::kHead:
            return "HEAD";
        case Verb::kPost:
            return "POST";
        case Verb::kOther:
            break;
    }
    return "other";
}

Response json_response(std::string body, unsigned status) {
    Response response;
    response.status = status;
    response.body = std::move(body);
    return response;
}

Response error_response(unsigned status, std::string_view code, std::string_view message,
                        const std::vector<FieldProblem>& fields) {
    Response response;
    response.status = status;
    upstream::JsonText json(response.body);
    json.name("error");
    upstream::JsonText error(response.body);
    error.word("code", code);
    error.text("message", message);
    if (!fields.empty()) {
        error.name("fields");
        response.body += '[';
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (i > 0) response.body += ',';
            upstream::JsonText problem(response.body);
            problem.text("field", fields[i].field);
            problem.text("message", fields[i].message);
            problem.close();
        }
        response.body += ']';
    }
    error.close();
    json.close();
    return response;
}

}  // namespace sm::admin
