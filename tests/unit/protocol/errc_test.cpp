#include "protocol/errc.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace sm::protocol;

TEST_CASE("errc: every value has its own word", "[errc]") {
    std::set<std::string> words;
    for (int i = 0; i < kErrcCount; ++i) {
        const std::string word = to_string(static_cast<Errc>(i));
        CHECK(word != "unknown");
        CHECK(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos);
        CHECK(words.insert(word).second);
    }
}

TEST_CASE("errc: as an error code", "[errc]") {
    const boost::system::error_code code = Errc::kBadHex;
    CHECK(code.message() == "bad_hex");
    CHECK(errc_of(code) == Errc::kBadHex);
    CHECK(errc_of(boost::system::error_code{}) == Errc::kOk);
}
