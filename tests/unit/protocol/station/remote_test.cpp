#include "protocol/station/remote.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;

namespace {

ConversationSettings permitted() {
    ConversationSettings settings;
    settings.allow_rmtsh = true;
    settings.allow_runcmd = true;
    return settings;
}

Talk open_talk(std::string_view features = "rmtsh gps") {
    Talk talk(plan_of(eu868_channels()), permitted());
    talk.open(features);
    return talk;
}

constexpr const char* kRunning =
    R"({"msgtype":"rmtsh","rmtsh":[{"user":"op","started":true,"age":0,"pid":4711},{"user":"","started":false,"age":-1,"pid":0}]})";
constexpr const char* kIdle =
    R"({"msgtype":"rmtsh","rmtsh":[{"user":"","started":false,"age":-1,"pid":0},{"user":"","started":false,"age":-1,"pid":0}]})";

std::vector<std::uint8_t> bytes(std::initializer_list<int> list) {
    return {list.begin(), list.end()};
}

}  // namespace

TEST_CASE("C136 runcmd limits", "[remote][field]") {
    Talk talk = open_talk();
    RunCommand command{"/usr/bin/uptime", {"-p"}};
    talk.conversation().on_run_command(command, talk.now(), talk.actions);
    CHECK(talk.sent(SendKind::kRunCmd) ==
          std::vector<std::string>{R"({"msgtype":"runcmd","command":"/usr/bin/uptime","arguments":["-p"]})"});
    talk.clear();
    command.arguments.assign(64, "x");
    talk.conversation().on_run_command(command, talk.now(), talk.actions);
    CHECK(talk.sent(SendKind::kRunCmd).size() == 1);
    talk.clear();
    command.arguments.assign(65, "x");
    talk.conversation().on_run_command(command, talk.now(), talk.actions);
    talk.conversation().on_run_command({"", {}}, talk.now(), talk.actions);
    talk.conversation().on_run_command({std::string(41'000, 'x'), {}}, talk.now(), talk.actions);
    talk.conversation().on_run_command({"x", {std::string(41'000, 'x')}}, talk.now(), talk.actions);
    CHECK(talk.all<SendText>().empty());
    CHECK(talk.drops() == std::vector{Errc::kOutOfRange, Errc::kMissingField, Errc::kTooLarge, Errc::kTooLarge});

    Talk off;
    off.open().conversation().on_run_command({"/bin/true", {}}, off.now(), off.actions);
    CHECK(off.drops() == std::vector{Errc::kNotPermitted});
    CHECK(off.all<SendText>().empty());
}

TEST_CASE("remote: texts of the operator are escaped", "[remote]") {
    const auto text = encode_run_command({"echo \"a\"\n", {"\x01", "\xff", "\xc3\xa9"}});
    REQUIRE(text.has_value());
    CHECK(*text ==
          "{\"msgtype\":\"runcmd\",\"command\":\"echo \\\"a\\\"\\u000a\",\"arguments\":[\"\\u0001\","
          "\"\xef\xbf\xbd\",\"\xc3\xa9\"]}");
}

TEST_CASE("C134 rmtsh when not allowed", "[remote][field]") {
    const ShellControl start{"op", 0, std::nullopt, "xterm"};
    Talk incapable = open_talk("gps");
    incapable.conversation().on_shell(start, incapable.now(), incapable.actions);
    CHECK(incapable.drops() == std::vector{Errc::kNotPermitted});
    CHECK(incapable.all<SendText>().empty());

    Talk off;
    off.open().conversation().on_shell(start, off.now(), off.actions);
    off.conversation().on_shell_input(0, "ls\n", off.now(), off.actions);
    off.conversation().on_binary(bytes({0, 'x'}), off.now(), off.actions);
    CHECK(off.drops() == std::vector{Errc::kNotPermitted, Errc::kNotPermitted, Errc::kNotPermitted});

    Talk talk = open_talk();
    talk.conversation().on_shell(start, talk.now(), talk.actions);
    CHECK(talk.sent(SendKind::kRmtsh) ==
          std::vector<std::string>{R"({"msgtype":"rmtsh","user":"op","term":"xterm","start":0})"});
    // Never binary before the station's status.
    talk.clear().conversation().on_shell_input(0, "ls\n", talk.now(), talk.actions);
    CHECK(talk.drops() == std::vector{Errc::kNotPermitted});
    talk.clear().text(kRunning);
    REQUIRE(talk.all<ShellOutput>().size() == 1);
    CHECK(talk.all<ShellOutput>()[0].status);
    talk.clear().conversation().on_shell_input(0, "ls\n", talk.now(), talk.actions);
    REQUIRE(talk.all<SendBinary>().size() == 1);
    CHECK(talk.all<SendBinary>()[0].bytes == bytes({0, 'l', 's', '\n'}));
}

TEST_CASE("remote: shell data both ways, its end, and nonsense", "[remote]") {
    Talk talk = open_talk();
    talk.conversation().on_shell({"op", 0, std::nullopt, ""}, talk.now(), talk.actions);
    talk.text(kRunning).clear();
    talk.conversation().on_binary(bytes({0, 'h', 'i'}), talk.now(), talk.actions);
    REQUIRE(talk.all<ShellOutput>().size() == 1);
    CHECK(talk.all<ShellOutput>()[0].session == 0);
    CHECK(talk.all<ShellOutput>()[0].bytes == "hi");
    talk.clear().conversation().on_shell_input(0, std::string(3000, 'x'), talk.now(), talk.actions);
    CHECK(talk.all<SendBinary>().size() == 3);
    CHECK(talk.all<SendBinary>()[0].bytes.size() == 1025);
    talk.clear();
    for (const auto& frame : {bytes({}), bytes({1, 'x'}), bytes({2, 'x'}), bytes({255})})
        talk.conversation().on_binary(frame, talk.now(), talk.actions);
    CHECK(talk.drops() == std::vector<Errc>(4, Errc::kBinary));
    talk.clear().conversation().on_shell_input(2, "x", talk.now(), talk.actions);
    CHECK(talk.drops() == std::vector{Errc::kOutOfRange});
    // One byte: the shell has ended.
    talk.clear().conversation().on_binary(bytes({0}), talk.now(), talk.actions);
    CHECK(talk.all<ShellOutput>()[0].bytes.empty());
    talk.clear().conversation().on_shell_input(0, "x", talk.now(), talk.actions);
    CHECK(talk.drops() == std::vector{Errc::kNotPermitted});
}

TEST_CASE("C135 rmtsh status reply: unsolicited is ignored, negative age is fine", "[remote][field]") {
    Talk talk = open_talk();
    talk.text(kIdle);
    CHECK(talk.drops() == std::vector{Errc::kNotPermitted});
    talk.clear().conversation().on_shell({}, talk.now(), talk.actions);
    CHECK(talk.sent(SendKind::kRmtsh) == std::vector<std::string>{R"({"msgtype":"rmtsh"})"});
    talk.clear().text(kIdle);
    CHECK(talk.all<ShellOutput>().size() == 1);
    talk.clear().text(R"({"msgtype":"rmtsh"})").text(R"({"msgtype":"rmtsh","rmtsh":7})");
    CHECK(talk.drops() == std::vector{Errc::kMissingField, Errc::kWrongType});
}

TEST_CASE("remote: shell control in the ranges that stations survive", "[remote]") {
    CHECK(encode_shell_control({"", std::nullopt, 1, ""}).value() == R"({"msgtype":"rmtsh","stop":1})");
    CHECK(errc_of(encode_shell_control({"op", 2, std::nullopt, ""}).error()) == Errc::kOutOfRange);
    CHECK(errc_of(encode_shell_control({"op", -1, std::nullopt, ""}).error()) == Errc::kOutOfRange);
    CHECK(errc_of(encode_shell_control({"", std::nullopt, 2, ""}).error()) == Errc::kOutOfRange);
    CHECK(errc_of(encode_shell_control({"", 0, std::nullopt, ""}).error()) == Errc::kMissingField);
}

TEST_CASE("C045 Telling the gateway why before closing", "[remote][field]") {
    CHECK(encode_error("gateway disabled by its owner") ==
          R"({"msgtype":"error","error":"gateway disabled by its owner"})");
}
