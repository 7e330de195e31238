#include "config/plan_loader.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "protocol/region/concentrator.hpp"
#include "protocol/station/router_config.hpp"
#include "tests/support/router_config_checker.hpp"

using namespace sm;
using config::Problems;
using sm::test::comparable;
using sm::test::field_case;
using sm::test::RouterConfigChecker;

namespace {

namespace fs = std::filesystem;

const config::Environment kNoEnvironment = [](const std::string&) { return std::nullopt; };

constexpr const char* kGood = R"(name: mine
region: EU868
boards:
  - channels: [868.1MHz, 868.3MHz, 868.5MHz]
)";

struct Parsed {
    config::ChannelPlanPtr plan;
    Problems errors;
    Problems warnings;
};

Parsed parse(const std::string& text, const std::string& file = "plans/mine.yaml") {
    Parsed out;
    out.plan = config::parse_plan(text, file, out.errors, out.warnings, kNoEnvironment);
    CHECK((out.plan == nullptr) == !out.errors.empty());
    return out;
}

protocol::ChannelPlan good(const std::string& text) {
    const Parsed parsed = parse(text);
    for (const auto& problem : parsed.errors) UNSCOPED_INFO(config::to_string(problem));
    REQUIRE(parsed.plan != nullptr);
    return *parsed.plan;
}

/// kGood with more lines below.
protocol::ChannelPlan good_with(const std::string& more) {
    return good(kGood + more);
}

config::Problem only_error(const std::string& text) {
    const Parsed parsed = parse(text);
    for (const auto& problem : parsed.errors) UNSCOPED_INFO(config::to_string(problem));
    REQUIRE(parsed.errors.size() == 1);
    return parsed.errors[0];
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

config::PlanMap built_in() {
    Problems errors;
    auto plans = config::load_plans("", errors, nullptr, kNoEnvironment);
    for (const auto& problem : errors) UNSCOPED_INFO(config::to_string(problem));
    REQUIRE(errors.empty());
    return plans;
}

protocol::VersionInfo stock() {
    protocol::VersionInfo version;
    version.station = "2.0.6(rpi/prod)";
    version.features = {"rmtsh", "prod", "gps"};
    return version;
}

std::string router_config(config::ChannelPlanPtr plan) {
    const auto gateway = protocol::make_gateway_plan(std::move(plan));
    REQUIRE(gateway.has_value());
    return protocol::router_config_text(**gateway, stock(), {1767225600250000});
}

/// A folder that goes away with the test.
class Folder {
  public:
    Folder() {
        std::string pattern = (fs::temp_directory_path() / "plansXXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(fs::path(path_) / name) << text;
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace

TEST_CASE("plans: the built-in ones load without an error and agree with their file names", "[plans]") {
    const auto plans = built_in();
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(std::string(SM_SOURCE_DIR) + "/config/plans")) {
        if (entry.path().extension() == ".yaml") files.insert(entry.path().stem().string());
    }
    std::set<std::string> names;
    for (const auto& [name, plan] : plans) {
        CHECK(plan->name == name);
        names.insert(name);
    }
    CHECK(names == files);
    for (const char* name : {"eu868", "kr920", "in865", "ru864", "cn779", "eu433", "il915", "cn470-0", "cn470-11"}) {
        CHECK(plans.contains(name));
    }
    for (const std::string number : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
        CHECK(plans.contains("us915-fsb" + number));
        CHECK(plans.contains("au915-fsb" + number));
        CHECK(plans.contains("as923-" + number) == (number < "5"));
    }
}

TEST_CASE("plans: the compiled-in text is the file", "[plans]") {
    std::ifstream file(std::string(SM_SOURCE_DIR) + "/config/plans/eu868.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(config::built_in_plan_text("eu868") == text);
    CHECK(config::built_in_plan_text("nonesuch").empty());
}

TEST_CASE("plans: field-case router_configs come out of the built-in plans", "[plans]") {
    const auto [name, file] = GENERATE(table<const char*, const char*>({{"eu868", "router_config_eu868.json"},
                                                                        {"us915-fsb2", "router_config_us915.json"},
                                                                        {"au915-fsb2", "router_config_au915.json"},
                                                                        {"as923-1", "router_config_as923_1.json"}}));
    CAPTURE(name);
    const auto text = router_config(built_in().at(name));
    CHECK(comparable(boost::json::parse(text)) == comparable(boost::json::parse(field_case(file))));
}

TEST_CASE("plans: two boards from a file as in the field case", "[plans]") {
    std::string text(config::built_in_plan_text("eu868"));
    text += R"(  - radios: [864.5MHz, 865.5MHz]
    channels: [865.1MHz, 865.3MHz, 865.5MHz, 864.1MHz, 864.3MHz, 864.5MHz, 864.7MHz, 864.9MHz]
    lora_std: {frequency: 865.3MHz}
    fsk: {frequency: 865.8MHz}
)";
    const auto sent = router_config(std::make_shared<const protocol::ChannelPlan>(good(text)));
    CHECK(comparable(boost::json::parse(sent)) ==
          comparable(boost::json::parse(field_case("router_config_two_boards.json"))));
}

TEST_CASE("plans: every built-in plan gives a router_config the client takes, with every channel (C088..C121)",
          "[plans]") {
    for (const auto& [name, plan] : built_in()) {
        CAPTURE(name);
        const std::string text = router_config(plan);
        const RouterConfigChecker checker(text);
        INFO(checker.joined());
        CHECK(checker.findings().empty());
        const auto& board = plan->boards.at(0);
        const auto allocation = protocol::allocate_board(board).allocation;
        for (std::size_t i = 0; i < board.multi_sf_hz.size(); ++i) {
            const auto& channel = allocation.multi_sf.at(i);
            CHECK(static_cast<std::int64_t>(allocation.radios_hz[channel.radio]) + channel.offset_hz ==
                  board.multi_sf_hz[i]);
        }
    }
}

TEST_CASE("plans: sub-bands of US915, AU915 and CN470 (station-protocol 8.3 to 8.6)", "[plans]") {
    const auto plans = built_in();
    for (std::uint32_t n = 0; n < 12; ++n) {
        CAPTURE(n);
        const auto check = [&](const std::string& name, const std::string& prefix, std::uint32_t first,
                               std::uint32_t wide) {
            const auto& plan = *plans.at(name);
            CHECK(plan.topic_prefix == prefix);
            for (std::uint32_t i = 0; i < 8; ++i)
                CHECK(plan.boards[0].multi_sf_hz[i] == first + n * 1600000 + i * 200000);
            CHECK(plan.boards[0].lora_std.has_value() == (wide != 0));
            if (wide != 0) CHECK(*plan.boards[0].lora_std == protocol::LoraStdChannel{wide + n * 1600000, 500000, 8});
        };
        if (n < 8) {
            check("us915-fsb" + std::to_string(n + 1), "us915_" + std::to_string(n), 902300000, 903000000);
            check("au915-fsb" + std::to_string(n + 1), "au915_" + std::to_string(n), 915200000, 915900000);
        }
        check("cn470-" + std::to_string(n), "cn470_" + std::to_string(n), 470300000, 0);
    }
}

TEST_CASE("plans: the default channels of each region are there, and ChirpStack's region ids", "[plans]") {
    const auto [name, prefix, channels] = GENERATE(table<const char*, const char*, std::vector<std::uint32_t>>({
        {"eu868", "eu868", {868100000, 868300000, 868500000}},
        {"as923-1", "as923", {923200000, 923400000}},
        {"as923-2", "as923_2", {921400000, 921600000}},
        {"as923-3", "as923_3", {916600000, 916800000}},
        {"as923-4", "as923_4", {917300000, 917500000}},
        {"kr920", "kr920", {922100000, 922300000, 922500000}},
        {"in865", "in865", {865062500, 865402500, 865985000}},
        {"ru864", "ru864", {868900000, 869100000}},
        {"cn779", "cn779", {779500000, 779700000, 779900000}},
        {"eu433", "eu433", {433175000, 433375000, 433575000}},
    }));
    CAPTURE(name);
    const auto plan = built_in().at(name);
    CHECK(plan->topic_prefix == prefix);
    for (const std::uint32_t hz : channels) {
        const auto& all = plan->boards.at(0).multi_sf_hz;
        CHECK(std::find(all.begin(), all.end(), hz) != all.end());
    }
}

TEST_CASE("plans: a plan for IN865 or RU864 comes with one warning when it is used (C088)", "[plans]") {
    const auto plans = built_in();
    for (const char* name : {"in865", "ru864", "as923-2", "cn470-10"}) {
        const Problems warnings = config::plan_warnings(*plans.at(name));
        REQUIRE(warnings.size() == 1);
        CHECK(contains(config::to_string(warnings[0]), name));
        CHECK(contains(config::to_string(warnings[0]), "AU915 is sent instead"));
    }
    CHECK(config::plan_warnings(*plans.at("eu868")).empty());
    CHECK(config::plan_warnings(*plans.at("us915-fsb2")).empty());
}

TEST_CASE("plans: what is left out comes from the region and the file name", "[plans]") {
    const auto plan = good("region: US915\nboards: [{channels: [903.9MHz]}]\n");
    CHECK(plan.name == "mine");
    CHECK(plan.topic_prefix == "mine");
    CHECK(plan.frequency_range() == protocol::FrequencyRange{902000000, 928000000});
    CHECK(plan.eirp_dbm() == 30);
    CHECK(plan.filters.empty());
    CHECK_FALSE(plan.beaconing);
    CHECK_FALSE(plan.boards[0].lora_std.has_value());
    CHECK_FALSE(plan.boards[0].fsk.has_value());
    CHECK(plan.boards[0].radios_hz.empty());
    CHECK(plan.duty_cycle == protocol::DutyCyclePolicy::kAuto);
}

TEST_CASE("plans: every key is read", "[plans]") {
    const auto plan = good(R"(name: full
region: EU868
topic_prefix: eu868_x
frequency_range: [863MHz, 870000000]
max_eirp: 14.15
boards:
  - radios: [867.5MHz, 868500000]
    channels: [868.1MHz, 868300kHz, 868500000, 867100000Hz]
    lora_std: {frequency: 868.3 MHz, bandwidth: 250kHz, spreading_factor: 7}
    fsk: {frequency: 868.8MHz, bitrate: 50000}
filters:
  net_ids: ["000013", 19, 600013, 0x1]
  dev_addr_prefixes: ["01000000/8"]
  join_euis: ["0000000000000001..00000000000000FF", "70B3D57ED0000000/40", "02-0E-51-00-00-00-00-01"]
  dev_eui_deny: ["02DE77000000002A"]
beaconing: true
nocca: true
nodc: true
nodwell: true
station_region: EU868
duty_cycle: client
)");
    CHECK(plan.name == "full");
    CHECK(plan.topic_prefix == "eu868_x");
    CHECK(plan.frequencies == protocol::FrequencyRange{863000000, 870000000});
    CHECK(plan.eirp_dbm() == Approx(14.15));
    CHECK(plan.boards[0].radios_hz == std::vector<std::uint32_t>{867500000, 868500000});
    CHECK(plan.boards[0].multi_sf_hz == std::vector<std::uint32_t>{868100000, 868300000, 868500000, 867100000});
    CHECK(*plan.boards[0].lora_std == protocol::LoraStdChannel{868300000, 250000, 7});
    CHECK(*plan.boards[0].fsk == protocol::FskChannel{868800000, 50000});
    CHECK(plan.filters.net_ids == std::vector<std::uint32_t>{0x13, 19, 0x600013, 1});
    CHECK(plan.filters.dev_addr_prefixes == std::vector<protocol::DevAddrPrefix>{{0x01000000, 8}});
    REQUIRE(plan.filters.join_euis.size() == 3);
    CHECK(plan.filters.join_euis[0] == protocol::JoinEuiRange{{1}, {255}});
    CHECK(plan.filters.join_euis[1] == protocol::JoinEuiRange{{0x70B3D57ED0000000}, {0x70B3D57ED0FFFFFF}});
    CHECK(plan.filters.join_euis[2] == protocol::JoinEuiRange{{0x020E510000000001}, {0x020E510000000001}});
    CHECK(plan.filters.dev_eui_deny == std::vector<protocol::Eui64>{{0x02DE77000000002A}});
    CHECK(plan.beaconing);
    CHECK(plan.no_cca);
    CHECK(plan.no_duty_cycle);
    CHECK(plan.no_dwell);
    CHECK(plan.station_region == "EU868");
    CHECK(plan.duty_cycle == protocol::DutyCyclePolicy::kClient);
    CHECK(good_with("duty_cycle: off\n").duty_cycle == protocol::DutyCyclePolicy::kOff);
}

TEST_CASE("plans: filters [1, 19] are decimal, six digits are hex (C107)", "[plans]") {
    CHECK(good_with("filters: {net_ids: [1, 19]}\n").filters.net_ids == std::vector<std::uint32_t>{1, 19});
    CHECK(good_with("filters: {net_ids: [600013]}\n").filters.net_ids == std::vector<std::uint32_t>{0x600013});
}

TEST_CASE("plans: every mistake is told with its place and a remedy", "[plans]") {
    struct Row {
        int line;
        int column;
        const char* words;
        std::string text;
    };
    const std::string head = "name: mine\nregion: EU868\n";
    const std::string boards = "boards:\n  - channels: [868.1MHz, 868.3MHz, 868.5MHz]\n";
    const std::vector<Row> rows = {
        {2, 9, "there is no region \"EU686\"", "name: mine\nregion: EU686\n" + boards},
        {0, 0, "region: is missing", "name: mine\n" + boards},
        {3, 1, "there is no such key", head + "chanels: []\n" + boards},
        {4, 16, "\"868.1\" is not a frequency", head + "boards:\n  - channels: [868.1]\n"},
        {4, 26, "\"868.3GHz\" is not a frequency", head + "boards:\n  - channels: [868.1MHz, 868.3GHz]\n"},
        {4, 26, "862.0 MHz lies outside",
         head + "boards:\n  - channels: [868.1MHz, 862MHz]\n    radios: [868.1MHz, 862MHz]\n"},
        {5, 1, "is there twice", head + boards + "name: mine\n"},
        {5, 5, "is there twice", head + boards + "    channels: [868.7MHz]\n"},
        {5, 15, "is missing", head + boards + "    lora_std: {bandwidth: 250kHz}\n"},
        {5, 48, "\"250km\" is not a bandwidth",
         head + boards + "    lora_std: {frequency: 868.3MHz, bandwidth: 250km}\n"},
        {5, 15, "125, 250 or 500 kHz", head + boards + "    lora_std: {frequency: 868.3MHz, bandwidth: 250}\n"},
        {5, 10, "nearest radio centre",
         head + "boards:\n  - channels: [868.1MHz]\n    fsk: {frequency: 869.8MHz}\n    radios: [868.1MHz]\n"},
        {5, 18, "not a list", head + boards + "frequency_range: 13\n"},
        {5, 18, "needs two frequencies", head + boards + "frequency_range: [863MHz]\n"},
        {5, 18, "has nothing of EU868", head + boards + "frequency_range: [902MHz, 928MHz]\n"},
        {5, 11, "0 dBm", head + boards + "max_eirp: 0\n"},
        {5, 11, "is not a number", head + boards + "max_eirp: high\n"},
        {5, 21, "is not a NetID", head + boards + "filters: {net_ids: [0x1000000]}\n"},
        {5, 31, "is not a DevAddr prefix", head + boards + "filters: {dev_addr_prefixes: [\"26011F00/16\"]}\n"},
        {5, 23, "is not a range of JoinEUIs", head + boards + "filters: {join_euis: [\"70B3D57ED0000001/40\"]}\n"},
        {5, 26, "is not a DevEUI", head + boards + "filters: {dev_eui_deny: [\"02DE77\"]}\n"},
        {5, 12, "neither true nor false", head + boards + "beaconing: maybe\n"},
        {5, 13, "is not one of the words", head + boards + "duty_cycle: never\n"},
        {5, 17, "not a region name", head + boards + "station_region: \"EU 868\"\n"},
    };
    for (const Row& row : rows) {
        CAPTURE(row.text);
        const Parsed parsed = parse(row.text);
        REQUIRE(parsed.errors.size() >= 1);
        const config::Problem& problem = parsed.errors[0];
        CAPTURE(config::to_string(problem));
        CHECK(parsed.errors.size() == 1);
        CHECK(problem.file == "plans/mine.yaml");
        CHECK(contains(config::to_string(problem), row.words));
        CHECK(problem.line == row.line);
        CHECK(problem.column == row.column);
        // A remedy, in its own field or behind the colon of the message.
        CHECK((!problem.remedy.empty() || contains(problem.message.substr(problem.message.find(": ") + 2), ": ")));
    }
}

TEST_CASE("plans: nine channels on one board are an error at load time (T37)", "[plans]") {
    const auto problem = only_error(
        "region: EU868\nboards:\n  - channels: [868.1MHz, 868.3MHz, 868.5MHz, 867.1MHz, 867.3MHz, 867.5MHz, 867.7MHz, "
        "867.9MHz,\n"
        "               868.7MHz]\n");
    CHECK(problem.line == 4);
    CHECK(problem.column == 16);
    CHECK(contains(problem.message, "eight multi-SF modems"));
}

TEST_CASE("plans: eleven JoinEUI ranges are an error (C108)", "[plans]") {
    std::string list;
    for (int i = 1; i <= 11; ++i)
        list += (i > 1 ? ", " : "") + std::string("\"00000000000000") + (i < 10 ? "0" : "") + std::to_string(i) + "\"";
    const auto problem = only_error(kGood + ("filters: {join_euis: [" + list + "]}\n"));
    CHECK(contains(problem.message, "at most ten"));
    CHECK(problem.line == 5);
    CHECK(problem.column > 200);
}

TEST_CASE("plans: a US915 plan with an EU frequency range is refused at load time (T36)", "[plans]") {
    const auto problem =
        only_error("region: US915\nfrequency_range: [863MHz, 870MHz]\nboards: [{channels: [903.9MHz]}]\n");
    CHECK(problem.line == 2);
    CHECK(contains(problem.message, "has nothing of US915"));
}

TEST_CASE("plans: all problems of a file at once, in the order of the file", "[plans]") {
    const Parsed parsed = parse("name: mine\nregion: EU686\nmax_erp: 3\nboards:\n  - channels: [868.1]\n");
    REQUIRE(parsed.errors.size() == 3);
    CHECK(parsed.errors[0].line == 2);
    CHECK(parsed.errors[1].line == 3);
    CHECK(contains(parsed.errors[1].remedy, "max_eirp"));
    CHECK(parsed.errors[2].line == 5);
}

TEST_CASE("plans: what is no plan file is told apart", "[plans]") {
    CHECK(contains(only_error("").message, "empty"));
    CHECK(contains(only_error("# nothing\n").message, "empty"));
    CHECK(contains(only_error("name: [").message, "not YAML"));
    CHECK(contains(only_error(std::string(kGood) + "---\n" + kGood).message, "second YAML document"));
    CHECK_FALSE(parse("- a\n- b\n").errors.empty());
    CHECK_FALSE(parse("just words\n").errors.empty());
}

TEST_CASE("plans: warnings carry their place and do not refuse the plan", "[plans]") {
    const Parsed parsed = parse("name: mine\nregion: RU864\nnodc: true\nboards: [{channels: [868.9MHz]}]\n");
    REQUIRE(parsed.plan != nullptr);
    REQUIRE(parsed.warnings.size() == 2);
    CHECK(parsed.warnings[0].line == 2);
    CHECK(contains(parsed.warnings[0].message, "RU864"));
    CHECK(parsed.warnings[1].line == 3);
}

TEST_CASE("plans: a folder's plans come on top of the built-in ones", "[plans]") {
    const Folder folder;
    folder.write("a.yaml", "name: eu868\nregion: EU868\nboards: [{channels: [868.1MHz]}]\n");
    folder.write("b.yml", "region: US915\nboards: [{channels: [903.9MHz]}]\n");
    folder.write("c.yaml", "region: IN865\nboards: [{channels: [865.0625MHz]}]\n");
    folder.write("notes.txt", "not a plan");
    folder.write(".hidden.yaml", "not a plan");
    Problems errors;
    Problems warnings;
    const auto plans = config::load_plans(folder.path(), errors, &warnings, kNoEnvironment);
    CHECK(errors.empty());
    CHECK(plans.at("eu868")->boards[0].multi_sf_hz.size() == 1);
    CHECK(plans.at("b")->region == protocol::RegionId::kUs915);
    CHECK(plans.contains("us915-fsb2"));
    CHECK(config::is_built_in(*plans.at("us915-fsb2")));
    CHECK_FALSE(config::is_built_in(*plans.at("eu868")));
    CHECK(contains(plans.at("eu868")->source, "a.yaml"));
    REQUIRE(warnings.size() == 1);
    CHECK(contains(warnings[0].file, "c.yaml"));
}

TEST_CASE("plans: every broken file of a folder is told, the good ones load", "[plans]") {
    const Folder folder;
    folder.write("a.yaml", "name: one\nregion: EU868\nboards: [{channels: [868.1MHz]}]\n");
    folder.write("b.yaml", "name: one\nregion: EU868\nboards: [{channels: [868.3MHz]}]\n");
    folder.write("c.yaml", "name: three\nregion: nowhere\n");
    folder.write("d.yaml", "name: [");
    Problems errors;
    const auto plans = config::load_plans(folder.path(), errors, nullptr, kNoEnvironment);
    REQUIRE(errors.size() == 3);
    CHECK(contains(errors[0].message, "already in"));
    CHECK(contains(errors[0].message, "a.yaml"));
    CHECK(contains(errors[1].file, "c.yaml"));
    CHECK(contains(errors[2].file, "d.yaml"));
    CHECK(plans.at("one")->boards[0].multi_sf_hz[0] == 868100000);
    CHECK_FALSE(plans.contains("three"));
}

TEST_CASE("plans: a folder that is not there is an error, not silence", "[plans]") {
    Problems errors;
    const auto plans = config::load_plans("/nonexistent/plans", errors, nullptr, kNoEnvironment);
    REQUIRE(errors.size() == 1);
    CHECK(contains(errors[0].message, "cannot be read"));
    CHECK(plans.contains("eu868"));
}
