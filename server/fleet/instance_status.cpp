#include "server/fleet/instance_status.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

namespace sm::fleet {
namespace {

std::string text_of(const boost::json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

double number_of(const boost::json::object& object, std::string_view key, double otherwise) {
    const auto* value = object.if_contains(key);
    if (value == nullptr || !value->is_number()) return otherwise;
    const double number = value->to_number<double>();
    return std::isfinite(number) && number >= 0 ? number : otherwise;
}

std::uint64_t count_of(const boost::json::object& object, std::string_view key) {
    return static_cast<std::uint64_t>(std::min(number_of(object, key, 0), 1e15));
}

}  // namespace

const char* to_string(InstanceState state) noexcept {
    switch (state) {
        case InstanceState::kReady:
            return "ready";
        case InstanceState::kDraining:
            return "draining";
        case InstanceState::kStarting:
            break;
    }
    return "starting";
}

std::string to_text(const InstanceStatus& status) {
    return boost::json::serialize(boost::json::object{{"id", status.id},
                                                      {"uri", status.uri},
                                                      {"state", to_string(status.state)},
                                                      {"gateways", status.gateways},
                                                      {"limit", status.limit},
                                                      {"waiting", status.waiting},
                                                      {"rate", status.rate},
                                                      {"share", status.share}});
}

std::optional<InstanceStatus> parse_instance_status(std::string_view text) {
    boost::system::error_code error;
    const auto value = boost::json::parse(text, error);
    if (error || !value.is_object()) return std::nullopt;
    const auto& object = value.get_object();
    InstanceStatus out;
    out.id = text_of(object, "id");
    if (out.id.empty()) return std::nullopt;
    out.uri = text_of(object, "uri");
    const auto state = text_of(object, "state");
    // A state that only a newer version knows is none in which to send gateways there.
    out.state = state == "ready"      ? InstanceState::kReady
                : state == "draining" ? InstanceState::kDraining
                                      : InstanceState::kStarting;
    out.gateways = count_of(object, "gateways");
    out.limit = count_of(object, "limit");
    out.waiting = count_of(object, "waiting");
    out.rate = number_of(object, "rate", 0);
    out.share = std::min(1.0, number_of(object, "share", 1));
    return out;
}

}  // namespace sm::fleet
