#include "server/admin/downlink_parser.hpp"

#include <limits>

#include "server/admin/json_fields.hpp"
#include "server/upstream/context_token.hpp"

namespace sm::admin {
namespace {

using protocol::DeviceClass;
using protocol::DownlinkWindow;
using protocol::Modulation;

constexpr std::int64_t kMaxFrequency = std::numeric_limits<std::uint32_t>::max();

std::optional<DeviceClass> parse_class(JsonFields& fields) {
    const auto word = fields.text("class");
    if (!word) {
        if (!fields.has("class")) fields.problem("class", "is required: \"A\", \"B\" or \"C\"");
        return std::nullopt;
    }
    if (*word == "A" || *word == "a") return DeviceClass::kA;
    if (*word == "B" || *word == "b") return DeviceClass::kB;
    if (*word == "C" || *word == "c") return DeviceClass::kC;
    fields.problem("class", "must be \"A\", \"B\" or \"C\"");
    return std::nullopt;
}

protocol::PhyPayload parse_payload(JsonFields& fields, std::string_view name, bool required) {
    const auto hex = fields.text(name);
    if (!hex) {
        if (required && !fields.has(name)) fields.problem(name, "is required: the PHYPayload in hex");
        return {};
    }
    auto payload = protocol::from_hex(*hex);
    if (!payload || payload->empty()) {
        fields.problem(name, "must be 1 to 255 bytes in hex");
        return {};
    }
    return *payload;
}

std::optional<Modulation> parse_modulation(JsonFields& fields) {
    Modulation out;
    const auto word = fields.text("modulation");
    if (!word) return std::nullopt;
    if (*word == "LORA") {
        const auto sf = fields.integer("sf", 5, 12);
        const auto bandwidth = fields.integer("bandwidth", 1, kMaxFrequency);
        if (!fields.has("sf")) fields.problem("sf", "is required with modulation LORA");
        if (!fields.has("bandwidth")) fields.problem("bandwidth", "is required with modulation LORA, in Hz");
        if (fields.has("bitrate")) fields.problem("bitrate", "does not go with modulation LORA");
        out.kind = Modulation::Kind::kLora;
        out.spreading_factor = static_cast<std::uint8_t>(sf.value_or(0));
        out.bandwidth_hz = static_cast<std::uint32_t>(bandwidth.value_or(0));
        return out;
    }
    if (*word == "FSK") {
        const auto bitrate = fields.integer("bitrate", 1, kMaxFrequency);
        if (!fields.has("bitrate")) fields.problem("bitrate", "is required with modulation FSK, in bit/s");
        for (const char* name : {"sf", "bandwidth"}) {
            if (fields.has(name)) fields.problem(name, "does not go with modulation FSK");
        }
        out.kind = Modulation::Kind::kFsk;
        out.bitrate = static_cast<std::uint32_t>(bitrate.value_or(0));
        return out;
    }
    fields.problem("modulation", "must be \"LORA\" or \"FSK\"");
    return std::nullopt;
}

std::optional<DownlinkWindow> parse_window(JsonFields& outer, std::string_view name,
                                           std::vector<FieldProblem>& problems) {
    const auto* object = outer.inner(name);
    if (object == nullptr) return std::nullopt;
    JsonFields fields(*object, outer.full_name(name) + ".", problems);
    fields.only({"dr", "modulation", "sf", "bandwidth", "bitrate", "frequency"});
    DownlinkWindow window;
    if (fields.has("dr")) {
        for (const char* other : {"modulation", "sf", "bandwidth", "bitrate"}) {
            if (fields.has(other)) fields.problem(other, "does not go with dr: give one or the other");
        }
        window.rate = static_cast<std::uint8_t>(fields.integer("dr", 0, 15).value_or(0));
    } else if (fields.has("modulation")) {
        window.rate = parse_modulation(fields).value_or(Modulation{});
    } else {
        fields.problem("dr", "is required (0 to 15), or modulation with its parameters");
    }
    window.frequency_hz = static_cast<std::uint32_t>(fields.integer("frequency", 1, kMaxFrequency).value_or(0));
    if (!fields.has("frequency")) fields.problem("frequency", "is required, in Hz");
    return window;
}

std::optional<protocol::UplinkContext> parse_context(JsonFields& outer, std::vector<FieldProblem>& problems) {
    const auto* value = outer.find("context");
    if (value == nullptr) return std::nullopt;
    if (const auto* token = value->if_string()) {
        auto context = upstream::from_token({token->data(), token->size()});
        if (!context) outer.problem("context", "must be an uplink's token: 48 hex digits, or 32 without the epoch");
        return context;
    }
    const auto* object = value->if_object();
    if (object == nullptr) {
        outer.problem("context", "must be an uplink's token, or an object with rctx and xtime");
        return std::nullopt;
    }
    constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    JsonFields fields(*object, outer.full_name("context") + ".", problems);
    fields.only({"rctx", "xtime", "epoch"});
    protocol::UplinkContext context;
    context.rctx = fields.integer("rctx", kMin, kMax).value_or(0);
    context.xtime = fields.integer("xtime", kMin, kMax).value_or(0);
    context.epoch = fields.unsigned_integer("epoch").value_or(0);
    for (const char* name : {"rctx", "xtime"}) {
        if (!fields.has(name)) fields.problem(name, "is required: the uplink's own, every digit");
    }
    return context;
}

/// What each class cannot do without.
void check_class(JsonFields& fields, DeviceClass device_class) {
    const bool window = fields.has("rx1") || fields.has("rx2");
    switch (device_class) {
        case DeviceClass::kA:
            if (!window) fields.problem("rx1", "is required for class A, or rx2, or both");
            if (!fields.has("context")) fields.problem("context", "is required for class A");
            break;
        case DeviceClass::kB:
            if (!fields.has("rx1"))
                fields.problem("rx1", "is required for class B: the ping slot's data rate and frequency");
            if (!fields.has("gps_time")) fields.problem("gps_time", "is required for class B");
            break;
        case DeviceClass::kC:
            if (!fields.has("rx2")) fields.problem("rx2", "is required for class C");
            if (fields.has("rx1") && !fields.has("context"))
                fields.problem("context", "is required for class C with rx1");
            break;
    }
}

}  // namespace

std::optional<ParsedDownlink> parse_downlink(std::string_view body, std::vector<FieldProblem>& problems) {
    const auto object = parse_object(body, problems);
    if (!object) return std::nullopt;
    JsonFields fields(*object, "", problems);
    fields.only({"id", "class", "pdu", "rx2_pdu", "dev_eui", "rx_delay", "rx1", "rx2", "prefer_rx2", "context",
                 "gps_time", "priority"});

    ParsedDownlink out;
    auto& request = out.request;
    out.has_id = fields.has("id");
    request.id = fields.unsigned_integer("id").value_or(0);
    const auto device_class = parse_class(fields);
    request.device_class = device_class.value_or(DeviceClass::kA);
    request.pdu = parse_payload(fields, "pdu", true);
    request.rx2_pdu = parse_payload(fields, "rx2_pdu", false);
    if (const auto text = fields.text("dev_eui")) {
        if (const auto eui = protocol::parse_eui(*text)) {
            request.dev_eui = *eui;
        } else {
            fields.problem("dev_eui", "must be an EUI, e.g. 02-DE-77-00-00-00-00-2A");
        }
    }
    request.rx_delay_s = static_cast<int>(fields.integer("rx_delay", 0, 15).value_or(1));
    request.rx1 = parse_window(fields, "rx1", problems);
    request.rx2 = parse_window(fields, "rx2", problems);
    request.prefer_rx2 = fields.boolean("prefer_rx2").value_or(false);
    request.context = parse_context(fields, problems);
    if (const auto micros = fields.integer("gps_time", 1, std::numeric_limits<std::int64_t>::max()))
        request.gps_time = protocol::GpsTime{*micros};
    request.priority = static_cast<int>(fields.integer("priority", 0, 255).value_or(0));
    if (device_class) check_class(fields, *device_class);
    if (!problems.empty()) return std::nullopt;
    return out;
}

}  // namespace sm::admin
