#include "server/log/text.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace sm::log;

namespace {

std::string text(std::string_view value) {
    std::string out;
    append_text_value(out, value);
    return out;
}
std::string json(std::string_view value) {
    std::string out;
    append_json_string(out, value);
    return out;
}

}  // namespace

TEST_CASE("text: a plain word stays as it is", "[log]") {
    CHECK(text("eu868") == "eu868");
    CHECK(text("10.0.0.1:8887") == "10.0.0.1:8887");
    CHECK(text("2.0.6+x@y,z/w_v-u") == "2.0.6+x@y,z/w_v-u");
}

TEST_CASE("text: an empty value is still visible", "[log]") {
    CHECK(text("") == R"("")");
}

TEST_CASE("text: spaces, quotes and equal signs cannot start another field", "[log]") {
    CHECK(text("a b") == R"("a b")");
    CHECK(text("x level=error") == R"("x level=error")");
    CHECK(text(R"(a" level=error b=")") == R"("a\" level=error b=\"")");
    CHECK(text("a=b") == R"("a=b")");
    CHECK(text(R"(back\slash)") == R"("back\\slash")");
    CHECK(text("{json}") == R"("{json}")");
}

TEST_CASE("text: line ends and controls are written out", "[log]") {
    CHECK(text("a\nb\r\tc") == R"("a\nb\r\tc")");
    CHECK(text(std::string_view("\0\x1b[31m\x7f", 7)) == R"("\x00\x1b[31m\x7f")");
}

TEST_CASE("text: characters that break or reorder a screen line are written out", "[log]") {
    CHECK(text("a\u2028b") == R"("a\u{2028}b")");
    CHECK(text("a\u202eb") == R"("a\u{202e}b")");
    CHECK(text("a\u0085b") == R"("a\u{0085}b")");
    CHECK(text("\ufeffb") == R"("\u{feff}b")");
}

TEST_CASE("text: other UTF-8 is readable, bytes that are not UTF-8 are shown", "[log]") {
    CHECK(text("Zürich") == "\"Zürich\"");
    CHECK(text("\xff\xc3") == R"("\xff\xc3")");
    CHECK(text("\xc0\x8a") == R"("\xc0\x8a")");
    CHECK(text("\xed\xa0\x80") == R"("\xed\xa0\x80")");
    CHECK(text("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");
}

TEST_CASE("text: a long value is cut between characters and says how much is missing", "[log]") {
    const std::string value(3000, 'x');
    CHECK(text(value) == '"' + std::string(1024, 'x') + "…(+1976)\"");
    std::string umlauts = "x";
    for (int i = 0; i < 1000; ++i) umlauts += "ü";
    const auto cut = text(umlauts);
    CHECK(cut.find("\\x") == std::string::npos);
    CHECK(cut.size() < 1060);
}

TEST_CASE("text: JSON strings are valid for any bytes and keep what is valid", "[log]") {
    CHECK(json("a\"b\\c\n") == R"("a\"b\\c\n")");
    CHECK(json(std::string_view("\0\x1f", 2)) == R"("\u0000\u001f")");
    CHECK(json("\xff") == R"("\ufffd")");
    CHECK(json("ü") == "\"ü\"");
}

TEST_CASE("text: random bytes never break a line, in either format", "[log]") {
    std::mt19937 random(7);  // NOLINT: the same bytes each time
    for (int round = 0; round < 3000; ++round) {
        std::string value(random() % 60, '\0');
        for (char& c : value) c = static_cast<char>(random() % 3 == 0 ? random() % 256 : random() % 96 + 32);
        const auto line = text(value);
        CHECK(line.find('\n') == std::string::npos);
        const bool quoted = line.front() == '"' && line.back() == '"' && line.size() > 1;
        if (!quoted) CHECK(line.find_first_of(" =\"\\") == std::string::npos);
        boost::system::error_code ec;
        const auto parsed = boost::json::parse(json(value), ec);
        REQUIRE_FALSE(ec);
        REQUIRE(parsed.is_string());
    }
}
