#include "config/plan_sections.hpp"

namespace sm::config {

namespace {

constexpr double kAnyEirp = 1000;

void walk_lora_std(Section& s, StdText& c) {
    s.text("frequency", c.frequency, "Centre of the single-rate LoRa channel.");
    s.text("bandwidth", c.bandwidth, "125kHz, 250kHz or 500kHz.");
    s.integer("spreading_factor", c.spreading_factor, 5, 12, "", "Its one spreading factor.");
}

void walk_fsk(Section& s, FskText& c) {
    s.text("frequency", c.frequency, "Centre of the FSK channel.");
    s.integer("bitrate", c.bitrate, 1, 1000000, "bit/s", "Its bit rate.");
}

void walk_board(Section& s, BoardText& c) {
    s.text_list("radios", c.radios, "Radio centres; left out = computed.");
    s.text_list("channels", c.channels, "Up to eight 125 kHz channels, every spreading factor.");
    s.section("lora_std", c.lora_std, walk_lora_std, "The single-rate LoRa channel.");
    s.section("fsk", c.fsk, walk_fsk, "The FSK channel.");
}

void walk_filters(Section& s, FilterText& c) {
    s.text_list("net_ids", c.net_ids, "Networks whose data frames are wanted.");
    s.text_list("dev_addr_prefixes", c.dev_addr_prefixes, "Device addresses that are wanted.");
    s.text_list("join_euis", c.join_euis, "Join requests that are wanted.");
    s.text_list("dev_eui_deny", c.dev_eui_deny, "Devices whose join requests are not wanted.");
}

}  // namespace

void walk_plan(Section& s, PlanText& c) {
    using protocol::DutyCyclePolicy;
    s.text("name", c.name, "What gateway records and `plans.default` call it.");
    s.text("region", c.region, "Regional parameters: EU868, US915, AS923-1, ...");
    s.text("topic_prefix", c.topic_prefix, "First level of the upstream topics.");
    s.text_list("frequency_range", c.frequency_range, "Where stations may transmit; left out = the region's.");
    s.number("max_eirp", c.max_eirp, -kAnyEirp, kAnyEirp, "dBm; left out = the region's.");
    s.list("boards", c.boards, walk_board, "One entry per concentrator board.");
    s.section("filters", c.filters, walk_filters, "Which uplinks are wanted.");
    s.flag("beaconing", c.beaconing, "Class B beacons (stations with PPS and position).");
    s.flag("nocca", c.nocca, "Development builds: no listen-before-talk.");
    s.flag("nodc", c.nodc, "Development builds: no duty cycle.");
    s.flag("nodwell", c.nodwell, "Development builds: no dwell time.");
    s.text("station_region", c.station_region, "The region text to send, instead of the region's own.");
    s.choice("duty_cycle", c.duty_cycle,
             {{"auto", DutyCyclePolicy::kAuto}, {"client", DutyCyclePolicy::kClient}, {"off", DutyCyclePolicy::kOff}},
             "Whose duty-cycle limits refuse downlinks here.");
}

}  // namespace sm::config
