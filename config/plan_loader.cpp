#include "config/plan_loader.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "config/embedded_plans.hpp"
#include "config/plan_text.hpp"
#include "config/reader.hpp"
#include "config/suggest.hpp"
#include "config/units.hpp"
#include "protocol/eui.hpp"

namespace sm::config {

namespace {

using protocol::ChannelPlan;
using protocol::PlanFinding;

/// The file as it is written: texts, so that every one of them can be complained about at its place.
struct StdText {
    std::string frequency;
    std::string bandwidth = "250kHz";
    int spreading_factor = 7;
};
struct FskText {
    std::string frequency;
    int bitrate = 50000;
};
struct BoardText {
    std::vector<std::string> radios;
    std::vector<std::string> channels;
    StdText lora_std;
    FskText fsk;
};
struct FilterText {
    std::vector<std::string> net_ids;
    std::vector<std::string> dev_addr_prefixes;
    std::vector<std::string> join_euis;
    std::vector<std::string> dev_eui_deny;
};
struct PlanText {
    std::string name;
    std::string region;
    std::string topic_prefix;
    std::vector<std::string> frequency_range;
    double max_eirp = 0;
    std::vector<BoardText> boards;
    FilterText filters;
    bool beaconing = false;
    bool nocca = false;
    bool nodc = false;
    bool nodwell = false;
    std::string station_region;
    protocol::DutyCyclePolicy duty_cycle = protocol::DutyCyclePolicy::kAuto;
};

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

std::string stem(const std::string& file) {
    return std::filesystem::path(file).stem().string();
}

/// One plan file: text → PlanText → ChannelPlan → check. Lives on the stack.
class PlanReader {
  public:
    PlanReader(const std::string& file, Problems& errors, Problems& warnings) : errors_(errors), warnings_(warnings) {
        walk_.file = file;
    }

    ChannelPlanPtr read(const YAML::Node& root, const Environment& environment) {
        const std::size_t before = errors_.size();
        walk_.environment = environment;
        Section section(walk_, "", root);
        walk_plan(section, text_);
        section.finish();
        for (const UnknownKey& unknown : walk_.unknown) report_unknown(unknown);
        errors_.insert(errors_.end(), walk_.problems.begin(), walk_.problems.end());
        auto plan = std::make_shared<ChannelPlan>(convert());
        // A plan with unreadable parts would only draw further complaints about what is missing.
        if (errors_.size() == before) report(protocol::check_channel_plan(*plan));
        if (errors_.size() != before) return nullptr;
        return plan;
    }

  private:
    Position place(std::string path) const {
        while (!path.empty()) {
            if (const auto found = walk_.places.find(path); found != walk_.places.end()) return found->second;
            const auto cut = path.find_last_of(".[");
            path.resize(cut == std::string::npos ? 0 : cut);
        }
        return {};
    }
    bool written(const std::string& path) const { return walk_.places.contains(path); }

    void error(const std::string& path, const std::string& message, std::string remedy) {
        const Position at = place(path);
        errors_.push_back({walk_.file, at.line, at.column, path + ": " + message, std::move(remedy)});
    }

    void report_unknown(const UnknownKey& unknown) {
        const std::string path = unknown.section.empty() ? unknown.key : unknown.section + "." + unknown.key;
        const std::string near = nearest(unknown.key, unknown.known);
        std::string list;
        for (const std::string& key : unknown.known) list += (list.empty() ? "" : ", ") + key;
        errors_.push_back({walk_.file, unknown.at.line, unknown.at.column, path + ": there is no such key",
                           near.empty() ? "known here: " + list : "did you mean " + near + "?"});
    }

    /// The message of a finding reads "what is wrong: what to do".
    void report(const std::vector<PlanFinding>& findings) {
        for (const PlanFinding& finding : findings) {
            const Position at = place(finding.field);
            Problem problem{walk_.file, at.line, at.column, finding.field + ": " + finding.message, ""};
            (finding.severity == PlanFinding::Severity::kError ? errors_ : warnings_).push_back(std::move(problem));
        }
    }

    std::uint32_t frequency(const std::string& path, const std::string& text) {
        if (const auto hz = parse_frequency(text)) return *hz;
        error(path, text.empty() ? "is missing" : "\"" + text + "\" is not a frequency",
              "write it as 868.1MHz or in Hz as 868100000");
        return 0;
    }

    std::vector<std::uint32_t> frequencies(const std::string& path, const std::vector<std::string>& texts) {
        std::vector<std::uint32_t> out;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            out.push_back(frequency(path + "[" + std::to_string(i) + "]", texts[i]));
        }
        return out;
    }

    protocol::BoardPlan board(const std::string& path, const BoardText& text) {
        protocol::BoardPlan out;
        out.radios_hz = frequencies(path + ".radios", text.radios);
        out.multi_sf_hz = frequencies(path + ".channels", text.channels);
        if (written(path + ".lora_std")) {
            protocol::LoraStdChannel channel;
            channel.frequency_hz = frequency(path + ".lora_std.frequency", text.lora_std.frequency);
            channel.spreading_factor = static_cast<std::uint8_t>(text.lora_std.spreading_factor);
            if (const auto hz = parse_bandwidth(text.lora_std.bandwidth)) {
                channel.bandwidth_hz = *hz;
            } else {
                error(path + ".lora_std.bandwidth", "\"" + text.lora_std.bandwidth + "\" is not a bandwidth",
                      "write 125kHz, 250kHz or 500kHz");
            }
            out.lora_std = channel;
        }
        if (written(path + ".fsk")) {
            out.fsk = protocol::FskChannel{frequency(path + ".fsk.frequency", text.fsk.frequency),
                                           static_cast<std::uint32_t>(text.fsk.bitrate)};
        }
        return out;
    }

    protocol::Filters filters() {
        protocol::Filters out;
        const auto each = [this](const char* list, const std::vector<std::string>& texts, const auto& take,
                                 const char* what, const char* remedy) {
            for (std::size_t i = 0; i < texts.size(); ++i) {
                if (take(texts[i])) continue;
                error("filters." + std::string(list) + "[" + std::to_string(i) + "]",
                      "\"" + texts[i] + "\" is not " + what, remedy);
            }
        };
        const auto keep = [](auto& list, const auto& value) {
            if (!value) return false;
            list.push_back(*value);
            return true;
        };
        each(
            "net_ids", text_.filters.net_ids, [&](const std::string& t) { return keep(out.net_ids, parse_net_id(t)); },
            "a NetID", "write six hex digits as 000013, or a short decimal number");
        each(
            "dev_addr_prefixes", text_.filters.dev_addr_prefixes,
            [&](const std::string& t) { return keep(out.dev_addr_prefixes, protocol::parse_dev_addr_prefix(t)); },
            "a DevAddr prefix", "write it as 26011F00/24, with zeros behind the prefix");
        each(
            "join_euis", text_.filters.join_euis,
            [&](const std::string& t) { return keep(out.join_euis, parse_join_euis(t)); }, "a range of JoinEUIs",
            "write FIRST..LAST, one EUI, or 70B3D57ED0000000/40");
        each(
            "dev_eui_deny", text_.filters.dev_eui_deny,
            [&](const std::string& t) { return keep(out.dev_eui_deny, protocol::parse_eui(t)); }, "a DevEUI",
            "write 16 hex digits");
        return out;
    }

    ChannelPlan convert() {
        ChannelPlan plan;
        plan.name = text_.name.empty() ? stem(walk_.file) : text_.name;
        plan.topic_prefix = text_.topic_prefix.empty() ? plan.name : text_.topic_prefix;
        if (const protocol::Region* region = protocol::find_region(text_.region)) {
            plan.region = region->id;
        } else {
            std::string known;
            for (const protocol::Region& r : protocol::all_regions())
                known += (known.empty() ? "" : ", ") + std::string(r.name);
            error("region", text_.region.empty() ? "is missing" : "there is no region \"" + text_.region + "\"",
                  "write one of " + known);
        }
        if (written("frequency_range")) {
            const auto range = frequencies("frequency_range", text_.frequency_range);
            if (range.size() == 2) {
                plan.frequencies = protocol::FrequencyRange{range[0], range[1]};
            } else {
                error("frequency_range", "needs two frequencies",
                      "write [863MHz, 870MHz], or remove the line for the region's own");
            }
        }
        if (written("max_eirp")) plan.max_eirp_dbm = static_cast<float>(text_.max_eirp);
        for (std::size_t i = 0; i < text_.boards.size(); ++i) {
            plan.boards.push_back(board("boards[" + std::to_string(i) + "]", text_.boards[i]));
        }
        plan.filters = filters();
        plan.beaconing = text_.beaconing;
        plan.no_cca = text_.nocca;
        plan.no_duty_cycle = text_.nodc;
        plan.no_dwell = text_.nodwell;
        plan.station_region = text_.station_region;
        plan.duty_cycle = text_.duty_cycle;
        return plan;
    }

    Problems& errors_;
    Problems& warnings_;
    Walk walk_;
    PlanText text_;
};

/// Dot files are what editors and ConfigMap mounts leave behind.
bool is_plan_file(const std::filesystem::path& path) {
    if (path.filename().string().starts_with(".")) return false;
    return path.extension() == ".yaml" || path.extension() == ".yml";
}

void load_directory(const std::string& directory, PlanMap& plans, Problems& errors, Problems& warnings,
                    const Environment& environment) {
    namespace fs = std::filesystem;
    std::error_code ec;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(directory, ec), end; !ec && it != end; it.increment(ec)) {
        if (is_plan_file(it->path())) files.push_back(it->path());
    }
    if (ec) {
        errors.push_back({directory, 0, 0, "the folder with channel plans cannot be read: " + ec.message(),
                          "correct plans.directory, or remove it to use the built-in plans"});
        return;
    }
    std::sort(files.begin(), files.end());
    std::map<std::string, std::string> owners;
    for (const fs::path& path : files) {
        std::ifstream in(path, std::ios::binary);
        if (!in || fs::is_directory(path, ec)) {
            errors.push_back({path.string(), 0, 0, "cannot be read", "check the permissions, or remove it"});
            continue;
        }
        const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        const ChannelPlanPtr plan = parse_plan(text, path.string(), errors, warnings, environment);
        if (!plan) continue;
        const auto [owner, fresh] = owners.emplace(plan->name, path.string());
        if (!fresh) {
            errors.push_back({path.string(), 0, 0, "the plan " + plan->name + " is already in " + owner->second,
                              "give one of the two another name"});
            continue;
        }
        plans[plan->name] = plan;
    }
}

}  // namespace

ChannelPlanPtr parse_plan(std::string_view text, const std::string& file, Problems& errors, Problems& warnings,
                          const Environment& environment) {
    std::vector<YAML::Node> documents;
    try {
        documents = YAML::LoadAll(std::string(text));
    } catch (const YAML::Exception& error) {
        const Position at = error.mark.is_null() ? Position{} : Position{error.mark.line + 1, error.mark.column + 1};
        errors.push_back({file, at.line, at.column, "this is not YAML: " + error.msg, "check indentation and quotes"});
        return nullptr;
    }
    if (documents.size() != 1 || documents[0].IsNull()) {
        errors.push_back({file, 0, 0, documents.size() > 1 ? "there is a second YAML document" : "the file is empty",
                          "write one plan; copy a built-in one to begin with"});
        return nullptr;
    }
    return PlanReader(file, errors, warnings).read(documents[0], environment);
}

PlanMap load_plans(const std::string& directory, Problems& errors, Problems* warnings, const Environment& environment) {
    PlanMap plans;
    Problems unheard;
    for (const EmbeddedPlan& embedded : embedded_plans()) {
        if (const auto plan =
                parse_plan(embedded.text, "built-in " + std::string(embedded.file), errors, unheard, environment)) {
            plans[plan->name] = plan;
        }
    }
    if (!directory.empty()) load_directory(directory, plans, errors, warnings ? *warnings : unheard, environment);
    return plans;
}

Problems plan_warnings(const ChannelPlan& plan) {
    Problems out;
    for (const PlanFinding& finding : protocol::check_channel_plan(plan)) {
        if (finding.severity != PlanFinding::Severity::kWarning) continue;
        out.push_back({"", 0, 0, "plan " + plan.name + ", " + finding.field + ": " + finding.message, ""});
    }
    return out;
}

std::string_view built_in_plan_text(std::string_view name) {
    for (const EmbeddedPlan& embedded : embedded_plans()) {
        if (embedded.file.substr(0, embedded.file.rfind('.')) == name) return embedded.text;
    }
    return {};
}

}  // namespace sm::config
