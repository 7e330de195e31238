#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sm::test {

/// Judges a router_config text by what station 2.0.6 does with it (station-protocol §3.6, §4.2.1-4.2.5, §8.7; field
/// cases C088, C107..C121): everything that would stop the radio, drop frames in silence or change the hardware is a
/// finding. Independent of the builder: it knows the client, not our code.
class RouterConfigChecker {
  public:
    explicit RouterConfigChecker(std::string_view text) : text_(text) { run(); }

    const std::vector<std::string>& findings() const { return findings_; }
    bool found(std::string_view word) const {
        return std::any_of(findings_.begin(), findings_.end(),
                           [word](const std::string& f) { return f.find(word) != std::string::npos; });
    }
    std::string joined() const {
        std::string out;
        for (const auto& f : findings_) out += f + "\n";
        return out;
    }

  private:
    using Value = boost::json::value;
    using Object = boost::json::object;

    void finding(std::string text) { findings_.push_back(std::move(text)); }

    static bool is_integer(const Value& v) { return v.is_int64() || v.is_uint64(); }
    static std::int64_t integer(const Value& v) {
        return v.is_int64() ? v.get_int64() : static_cast<std::int64_t>(v.get_uint64());
    }

    void run() {
        boost::json::error_code ec;
        const Value root = boost::json::parse(text_, ec);
        if (ec || !root.is_object()) return finding("not one JSON object");
        if (text_.size() > 40955) finding("frame too long for the client");
        if (depth(root) > 8) finding("nesting deeper than 8");
        if (occurrences("\"msgtype\"") != 1) finding("msgtype literal not exactly once");
        const Object& top = root.get_object();
        check_keys("top", top,
                   {"msgtype", "region", "hwspec", "freq_range", "DRs", "max_eirp", "NetID", "JoinEui", "sx1301_conf",
                    "MuxTime", "nocca", "nodc", "nodwell", "bcning"});
        for (const auto& [key, value] : top) {
            if (value.is_null() && key != "NetID" && key != "JoinEui") finding(std::string(key) + " is null");
        }
        check_region(top);
        check_boards(top);
        check_numbers(top);
        check_filters(top);
        check_rates(top);
        check_beacon(top);
        for (const char* flag : {"nocca", "nodc", "nodwell"}) {
            if (top.contains(flag) && !top.at(flag).is_bool()) finding(std::string(flag) + " is not a boolean");
        }
    }

    std::size_t occurrences(std::string_view word) const {
        std::size_t n = 0;
        for (std::size_t at = text_.find(word); at != std::string_view::npos; at = text_.find(word, at + 1)) ++n;
        return n;
    }

    static int depth(const Value& v) {
        int inner = 0;
        if (v.is_array()) {
            for (const auto& e : v.get_array()) inner = std::max(inner, depth(e));
            return inner + 1;
        }
        if (v.is_object()) {
            for (const auto& e : v.get_object()) inner = std::max(inner, depth(e.value()));
            return inner + 1;
        }
        return 0;
    }

    void check_keys(const std::string& where, const Object& object, const std::set<std::string_view>& known) {
        std::set<std::string_view> seen;
        for (const auto& [key, value] : object) {
            if (!known.contains(std::string_view(key)))
                finding(where + ": key " + std::string(key) + " has no business here");
            if (!seen.insert(std::string_view(key)).second) finding(where + ": key " + std::string(key) + " twice");
        }
    }

    void check_region(const Object& top) {
        static const std::set<std::string_view> kKnown = {"EU863", "EU868", "US902",   "US915",  "AU915",
                                                          "KR920", "IL915", "AS923-1", "AS923JP"};
        const Value* region = top.if_contains("region");
        if (region == nullptr || !region->is_string() || !kKnown.contains(std::string_view(region->get_string()))) {
            finding("region unknown to the station: every downlink dropped");
        }
    }

    void check_boards(const Object& top) {
        const Value* conf = top.if_contains("sx1301_conf");
        const bool array = conf != nullptr && conf->is_array() && !conf->get_array().empty();
        if (!array) finding("sx1301_conf missing or empty");
        const std::size_t boards = array ? conf->get_array().size() : 0;
        const Value* hwspec = top.if_contains("hwspec");
        if (hwspec == nullptr || !hwspec->is_string()) {
            finding("hwspec missing");
        } else if (!hwspec->get_string().starts_with("sx1301/")) {
            finding("hwspec is not sx1301/N");
        } else if (boards > 0 && std::string_view(hwspec->get_string()) != "sx1301/" + std::to_string(boards)) {
            finding("hwspec counts other boards than sx1301_conf has");
        }
        if (boards == 1 && text_.size() > 8192) finding("8 KiB are enough for one board");
        for (std::size_t i = 0; i < boards; ++i) {
            const Value& board = conf->get_array()[i];
            if (board.is_object()) {
                check_board("board " + std::to_string(i), board.get_object());
            } else {
                finding("board is not an object");
            }
        }
    }

    void check_board(const std::string& where, const Object& board) {
        std::set<std::string_view> known = {"radio_0", "radio_1", "chan_Lora_std", "chan_FSK"};
        static const char* const kMulti[] = {"chan_multiSF_0", "chan_multiSF_1", "chan_multiSF_2", "chan_multiSF_3",
                                             "chan_multiSF_4", "chan_multiSF_5", "chan_multiSF_6", "chan_multiSF_7"};
        for (const char* name : kMulti) known.insert(name);
        check_keys(where, board, known);
        bool radios[2] = {false, false};
        for (int i = 0; i < 2; ++i) {
            const std::string name = "radio_" + std::to_string(i);
            const Value* radio = board.if_contains(name);
            if (radio == nullptr || !radio->is_object()) {
                finding(where + ": " + name + " missing");
                continue;
            }
            check_keys(where + " " + name, radio->get_object(), {"enable", "freq", "antenna_gain"});
            radios[i] = enabled(where + " " + name, radio->get_object());
            if (!radios[i]) continue;
            const std::int64_t hz = required(where + " " + name, radio->get_object(), "freq");
            if (hz < 1000000 || hz > 1000000000) finding(where + " " + name + ": freq out of range");
        }
        if (!radios[0]) finding(where + ": radio_0 transmits and has to be enabled");
        for (const char* name : kMulti) check_channel(where, board, name, radios, {"enable", "radio", "if"}, 125000);
        check_std(where, board, radios);
        check_channel(where, board, "chan_FSK", radios, {"enable", "radio", "if", "bandwidth", "datarate"}, 125000);
        if (const Object* fsk = enabled_channel(board, "chan_FSK")) {
            if (required(where + " chan_FSK", *fsk, "bandwidth") != 125000)
                finding(where + " chan_FSK: bandwidth not in Hz");
            if (required(where + " chan_FSK", *fsk, "datarate") != 50000) finding(where + " chan_FSK: datarate");
        }
    }

    void check_std(const std::string& where, const Object& board, const bool* radios) {
        const Object* channel = enabled_channel(board, "chan_Lora_std");
        std::int64_t bandwidth = 125000;
        if (channel != nullptr) {
            bandwidth = required(where + " chan_Lora_std", *channel, "bandwidth");
            if (bandwidth != 125000 && bandwidth != 250000 && bandwidth != 500000) {
                finding(where + " chan_Lora_std: bandwidth not in Hz");
            }
            const std::int64_t sf = required(where + " chan_Lora_std", *channel, "spread_factor");
            if (sf < 7 || sf > 12) finding(where + " chan_Lora_std: spread_factor");
        }
        check_channel(where, board, "chan_Lora_std", radios, {"enable", "radio", "if", "bandwidth", "spread_factor"},
                      bandwidth);
    }

    static const Object* enabled_channel(const Object& board, const char* name) {
        const Value* channel = board.if_contains(name);
        if (channel == nullptr || !channel->is_object()) return nullptr;
        const Value* enable = channel->get_object().if_contains("enable");
        return enable != nullptr && enable->is_bool() && enable->get_bool() ? &channel->get_object() : nullptr;
    }

    bool enabled(const std::string& where, const Object& object) {
        const Value* enable = object.if_contains("enable");
        if (enable == nullptr || !enable->is_bool()) {
            finding(where + ": enable is not a boolean");
            return false;
        }
        return enable->get_bool();
    }

    std::int64_t required(const std::string& where, const Object& object, const char* key) {
        const Value* value = object.if_contains(key);
        if (value == nullptr || !is_integer(*value)) {
            finding(where + ": " + key + " missing or no integer");
            return 0;
        }
        return integer(*value);
    }

    void check_channel(const std::string& where, const Object& board, const char* name, const bool* radios,
                       const std::set<std::string_view>& keys, std::int64_t bandwidth) {
        const std::string path = where + " " + name;
        const Value* value = board.if_contains(name);
        if (value == nullptr || !value->is_object()) return finding(path + " missing");
        const Object& channel = value->get_object();
        check_keys(path, channel, keys);
        if (!enabled(path, channel)) return;
        const std::int64_t radio = required(path, channel, "radio");
        if (radio < 0 || radio > 1 || !radios[radio]) finding(path + ": radio not enabled");
        const std::int64_t limit = bandwidth == 500000 ? 300000 : bandwidth == 250000 ? 375000 : 400000;
        if (std::llabs(required(path, channel, "if")) > limit) finding(path + ": if outside the radio's band");
    }

    void check_numbers(const Object& top) {
        const Value* range = top.if_contains("freq_range");
        const bool pair = range != nullptr && range->is_array() && range->get_array().size() == 2 &&
                          is_integer(range->get_array()[0]) && is_integer(range->get_array()[1]);
        if (!pair || integer(range->get_array()[0]) >= integer(range->get_array()[1]))
            finding("freq_range is not a range");
        const Value* eirp = top.if_contains("max_eirp");
        if (eirp == nullptr || !eirp->is_number() || !(eirp->to_number<double>() > 0))
            finding("max_eirp absent or not positive");
        const Value* time = top.if_contains("MuxTime");
        if (time == nullptr || !time->is_number() || time->to_number<double>() < 1e9 ||
            time->to_number<double>() > 1e10) {
            finding("MuxTime is not a number of seconds");
        }
        check_fractions("", top);
    }

    void check_fractions(const std::string& path, const Value& value) {
        if (value.is_double()) {
            if (path != "/max_eirp" && path != "/MuxTime") finding(path + " is fractional");
        } else if (value.is_array()) {
            for (const auto& e : value.get_array()) check_fractions(path + "[]", e);
        } else if (value.is_object()) {
            for (const auto& e : value.get_object()) check_fractions(path + "/" + std::string(e.key()), e.value());
        }
    }

    void check_filters(const Object& top) {
        const Value* net_ids = top.if_contains("NetID");
        if (net_ids == nullptr) {
            finding("NetID absent: the previous filter stays");
        } else if (!net_ids->is_null()) {
            if (!net_ids->is_array() || net_ids->get_array().empty()) {
                finding("NetID list without entries blocks every data frame");
            } else {
                for (const auto& id : net_ids->get_array()) {
                    if (!is_integer(id) || integer(id) < 0 || integer(id) > 127)
                        finding("NetID value beyond seven bits");
                }
            }
        }
        const Value* join = top.if_contains("JoinEui");
        if (join == nullptr) return finding("JoinEui absent: the previous filter stays");
        if (join->is_null()) return;
        if (!join->is_array() || join->get_array().empty() || join->get_array().size() > 10) {
            return finding("JoinEui list has to have one to ten ranges");
        }
        for (const auto& range : join->get_array()) {
            if (!range.is_array() || range.get_array().size() != 2 || !is_integer(range.get_array()[0]) ||
                !is_integer(range.get_array()[1])) {
                finding("JoinEui range is not a pair of integers");
            } else if (range.get_array()[0].to_number<std::uint64_t>() == 0) {
                finding("JoinEui range from 0 ends the list");
            }
        }
    }

    void check_rates(const Object& top) {
        const Value* rates = top.if_contains("DRs");
        if (rates == nullptr || !rates->is_array() || rates->get_array().size() != 16)
            return finding("DRs has to have 16 rows");
        int fsk = 0;
        std::set<std::pair<std::int64_t, std::int64_t>> uplinks;
        for (const auto& row : rates->get_array()) {
            const bool triple = row.is_array() && row.get_array().size() == 3 &&
                                std::all_of(row.get_array().begin(), row.get_array().end(), is_integer);
            if (!triple) {
                finding("DRs row is not three integers");
                continue;
            }
            const std::int64_t sf = integer(row.get_array()[0]);
            const std::int64_t bandwidth = integer(row.get_array()[1]);
            const std::int64_t down = integer(row.get_array()[2]);
            if (bandwidth != 0 && bandwidth != 125 && bandwidth != 250 && bandwidth != 500)
                finding("DRs bandwidth not in kHz");
            if (down != 0 && down != 1) finding("DRs dnonly is not 0 or 1");
            if (sf == -1) {
                if (bandwidth != 0 || down != 0) finding("undefined DRs row is not [-1,0,0]");
            } else if (sf == 0) {
                if (++fsk > 1) finding("DRs has FSK twice: zero rows are not undefined rows");
            } else if (sf < 7 || sf > 12 || bandwidth == 0) {
                finding("DRs row is no data rate");
            } else if (down == 0 && !uplinks.insert({sf, bandwidth}).second) {
                finding("DRs has an uplink rate twice");
            }
        }
    }

    void check_beacon(const Object& top) {
        const Value* beacon = top.if_contains("bcning");
        if (beacon == nullptr) return;
        if (!beacon->is_object()) return finding("bcning is not an object");
        const Object& object = beacon->get_object();
        check_keys("bcning", object, {"DR", "layout", "freqs"});
        required("bcning", object, "DR");
        const Value* layout = object.if_contains("layout");
        if (layout == nullptr || !layout->is_array() || layout->get_array().size() != 3) finding("bcning layout");
        const Value* freqs = object.if_contains("freqs");
        if (freqs == nullptr || !freqs->is_array() || freqs->get_array().empty() || freqs->get_array().size() > 8) {
            finding("bcning freqs");
        }
    }

    std::string_view text_;
    std::vector<std::string> findings_;
};

/// The text of a file under tests/support/field-cases.
inline std::string field_case(const std::string& name) {
    std::ifstream in(std::string(SM_SOURCE_DIR) + "/tests/support/field-cases/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// JSON with every whole double as an integer, so that 16.0 equals 16.
inline boost::json::value comparable(boost::json::value value) {
    if (value.is_double()) {
        const double number = value.get_double();
        const auto whole = static_cast<std::int64_t>(number);
        if (static_cast<double>(whole) == number) return whole;
        return number;
    }
    if (value.is_array()) {
        for (auto& e : value.get_array()) e = comparable(e);
    } else if (value.is_object()) {
        for (auto& e : value.get_object()) e.value() = comparable(e.value());
    }
    return value;
}

}  // namespace sm::test
