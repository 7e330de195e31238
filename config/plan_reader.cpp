#include "config/plan_reader.hpp"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/plan_sections.hpp"
#include "config/plan_text.hpp"
#include "config/reader.hpp"
#include "config/suggest.hpp"
#include "protocol/eui.hpp"

namespace sm::config {

namespace {

using protocol::ChannelPlan;
using protocol::PlanFinding;

std::string stem(const std::string& file) {
    return std::filesystem::path(file).stem().string();
}

/// One plan file: text → PlanText → ChannelPlan → check. Lives on the stack.
class PlanReader {
  public:
    explicit PlanReader(const std::string& file) { walk_.file = file; }

    ChannelPlanPtr read(const YAML::Node& root, const Environment& environment) {
        walk_.environment = environment;
        Section section(walk_, "", root);
        walk_plan(section, text_);
        section.finish();
        errors_ = walk_.problems;
        for (const UnknownKey& unknown : walk_.unknown) report_unknown(unknown);
        auto plan = std::make_shared<ChannelPlan>(convert());
        // A plan with unreadable parts would only draw further complaints about what is missing.
        if (errors_.empty()) report(protocol::check_channel_plan(*plan));
        sort_by_place(errors_);
        sort_by_place(warnings_);
        if (!errors_.empty()) return nullptr;
        return plan;
    }

    const Problems& errors() const { return errors_; }
    const Problems& warnings() const { return warnings_; }

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
        // What the walk could not read is known already.
        for (const Problem& known : walk_.problems) {
            if (at.line > 0 && known.line == at.line && known.column == at.column) return;
        }
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
        plan.source = walk_.file;
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

    Walk walk_;
    PlanText text_;
    Problems errors_;
    Problems warnings_;
};

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
    PlanReader reader(file);
    ChannelPlanPtr plan = reader.read(documents[0], environment);
    errors.insert(errors.end(), reader.errors().begin(), reader.errors().end());
    warnings.insert(warnings.end(), reader.warnings().begin(), reader.warnings().end());
    return plan;
}

}  // namespace sm::config
