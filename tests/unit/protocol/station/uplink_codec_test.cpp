#include "protocol/station/uplink_codec.hpp"

#include <catch2/catch.hpp>

#include "tests/support/field_cases.hpp"
#include "tests/unit/protocol/station/conversation_fixture.hpp"

using namespace sm::protocol;
using namespace sm::protocol::test;
using namespace std::chrono_literals;
using sm::test::field_cases;
using sm::test::FieldCase;

namespace {

/// The clock of the field cases: a fraction of a second after their `rxtime` and `gpstime`.
constexpr std::int64_t kFieldTime = 1767225700'623456;

const FieldCase& row(const std::string& file, const std::string& name) {
    static const auto kStock = field_cases("uplinks_stock.jsonl");
    static const auto kVariants = field_cases("uplinks_variants.jsonl");
    for (const FieldCase& r : file == "stock" ? kStock : kVariants)
        if (r.text("case") == name) return r;
    throw std::runtime_error("no row " + name);
}

std::string stock(const std::string& name) {
    return row("stock", name).raw("json");
}
std::string variant(const std::string& name) {
    return row("variants", name).text("send");
}
std::string phy_of(const std::string& name) {
    return row("variants", name).text("phy");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error("no " + from + " in " + text);
    return text.replace(at, from.size(), to);
}

/// An open EU868 conversation at the time of the field cases.
Talk field_talk() {
    Talk talk;
    talk.open().wait(Micros{kFieldTime - kNewYear}).clear();
    return talk;
}

/// The one uplink that a message becomes.
Uplink accepted(const std::string& message) {
    Talk talk = field_talk();
    talk.text(message);
    INFO(message);
    for (const Errc errc : talk.drops()) UNSCOPED_INFO(to_string(errc));
    REQUIRE(talk.uplinks().size() == 1);
    return talk.uplinks()[0];
}

/// Why a message becomes none; the conversation goes on afterwards.
Errc refused(const std::string& message) {
    Talk talk = field_talk();
    talk.text(message);
    INFO(message);
    REQUIRE(talk.uplinks().empty());
    REQUIRE(talk.drops().size() == 1);
    REQUIRE(talk.all<Close>().empty());
    const Errc reason = talk.drops()[0];
    talk.clear().text(R"({"msgtype":"timesync","txtime":77})");
    REQUIRE(talk.sent(SendKind::kTimesync).size() == 1);
    return reason;
}

std::string phy(const std::string& message) {
    return to_hex(accepted(message).phy);
}

/// A stock updf with one field's literal exchanged.
std::string with(const std::string& from, const std::string& to) {
    return replaced(stock("updf-port10"), from, to);
}

}  // namespace

TEST_CASE("uplinks_stock.jsonl: every row gives its PHY", "[uplink][field]") {
    for (const FieldCase& r : field_cases("uplinks_stock.jsonl")) {
        INFO(r.text("case"));
        const Uplink uplink = accepted(r.raw("json"));
        CHECK(to_hex(uplink.phy) == r.text("phy"));
        CHECK(uplink.frequency_hz == r.object("json").at("Freq").as_int64());
        CHECK(uplink.dr == r.object("json").at("DR").as_int64());
        CHECK(uplink.context.xtime == 9288674670492749);
        CHECK(uplink.rssi_dbm == -87.0F);
        CHECK(uplink.snr_db == 8.25F);
        CHECK(uplink.rx_time == UtcTime{1767225700123456});
        CHECK(!uplink.gps_time);
        CHECK(!uplink.fine_ns);
    }
}

TEST_CASE("uplinks_variants.jsonl: every row is accepted or dropped as it says", "[uplink][field]") {
    for (const FieldCase& r : field_cases("uplinks_variants.jsonl")) {
        const std::string expect = r.text("expect");
        INFO(r.text("case") << ": " << expect);
        Talk talk = field_talk();
        talk.text(r.text("send"));
        CHECK(talk.all<Close>().empty());
        CHECK(talk.uplinks().size() + talk.drops().size() == 1);
        if (!talk.uplinks().empty()) {
            REQUIRE(r.has("phy"));
            CHECK(to_hex(talk.uplinks()[0].phy) == r.text("phy"));
        }
        const bool must_accept = expect.starts_with("accept;") || expect == "accept" || expect.starts_with("accept,") ||
                                 expect.starts_with("accept DR") || expect.starts_with("accept FSK") ||
                                 expect.starts_with("accept uplink") || expect.starts_with("downlink must");
        const bool must_drop =
            expect.starts_with("drop") || expect.starts_with("only after") || expect.starts_with("ignore");
        if (must_accept) CHECK(talk.uplinks().size() == 1);
        if (must_drop) CHECK(talk.uplinks().empty());
        talk.clear().text(R"({"msgtype":"timesync","txtime":77})");
        CHECK(talk.sent(SendKind::kTimesync).size() == 1);
    }
}

TEST_CASE("station-protocol 5: worked vectors", "[uplink]") {
    struct Vector {
        const char* fields;
        const char* phy;
    };
    const Vector vectors[] = {
        {R"("msgtype":"updf","MHdr":128,"DevAddr":638307823,"FCtrl":162,"FCnt":513,"FOpts":"0307","FPort":10,"FRMPayload":"0102AB","MIC":-2023406815)",
         "80efcd0b26a2010203070a0102ab21436587"},
        {R"("msgtype":"jreq","MHdr":0,"JoinEui":"01-02-03-04-05-06-07-08","DevEui":"01-23-45-67-89-AB-CD-EF","DevNonce":4660,"MIC":-1430532899)",
         "000807060504030201efcdab89674523013412ddccbbaa"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":-1,"FCtrl":0,"FCnt":65535,"FOpts":"","FPort":-1,"FRMPayload":"","MIC":1)",
         "40ffffffff00ffff01000000"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":16909060,"FCtrl":0,"FCnt":1,"FOpts":"","FPort":0,"FRMPayload":"","MIC":2147483647)",
         "400403020100010000ffffff7f"},
        {R"("msgtype":"propdf","FRMPayload":"E00102")", "e00102"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":16909060,"FCtrl":133,"FCnt":0,"FOpts":"0102030405","FPort":-1,"FRMPayload":"","MIC":1144201745)",
         "4004030201850000010203040511223344"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":305419896,"FCtrl":128,"FCnt":5,"FOpts":"","FPort":1,"FRMPayload":"DEADBEEF","MIC":-1951535091)",
         "407856341280050001deadbeef0df0ad8b"},
        {R"("msgtype":"jreq","MHdr":0,"JoinEui":"11-22-33-44-55-66-77-88","DevEui":"12-34-56-78-9A-BC-DE-F0","DevNonce":65535,"MIC":-2147483648)",
         "008877665544332211f0debc9a78563412ffff00000080"},
        // the-things-stack 6.2
        {R"("msgtype":"jreq","MHdr":0,"JoinEui":"2222:2222:2222:2222","DevEui":"1111:1111:1111:1111","DevNonce":18000,"MIC":12345678)",
         "002222222222222222111111111111111150464e61bc00"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":287454020,"FCtrl":49,"Fcnt":25,"FOpts":"FD","FPort":0,"FRMPayload":"5fcc","MIC":12345678)",
         "4044332211311900fd005fcc4e61bc00"},
        {R"("msgtype":"updf","MHdr":64,"DevAddr":1124073471,"FCtrl":178,"FCnt":65346,"FOpts":"feff","FPort":66,"FRMPayload":"feff","MIC":268435266)",
         "40ffffff42b242fffeff42feff42ffff0f"},
        {R"("msgtype":"jreq","MHdr":0,"JoinEui":"42ff:ffff:ffff:ffff","DevEui":"42-ff-ff-ff-ff-ff-ff-ff","DevNonce":17151,"MIC":268435266)",
         "00ffffffffffffff42ffffffffffffff42ff4242ffff0f"},
    };
    for (const Vector& v : vectors) {
        const std::string message = std::string("{") + v.fields +
                                    R"(,"RefTime":0.0,"DR":1,"Freq":868300000,"upinfo":{"rxtime":1548059982,"rctx":0,)"
                                    R"("xtime":12666373963464220,"gpstime":0,"rssi":89,"snr":9.25}})";
        const Uplink uplink = accepted(message);
        CHECK(to_hex(uplink.phy) == v.phy);
        CHECK(uplink.modulation == Modulation{Modulation::Kind::kLora, 11, 125000, 0});
        CHECK(uplink.frequency_hz == 868300000);
        CHECK(uplink.rssi_dbm == 89.0F);
        CHECK(uplink.snr_db == 9.25F);
        CHECK(uplink.context.xtime == 12666373963464220);
    }
}

TEST_CASE("the-things-stack 6.2: an all-zero updf is an error, an all-zero jreq is not", "[uplink]") {
    const std::string tail =
        R"("DevAddr":0,"FCtrl":0,"FCnt":0,"FOpts":"","FPort":0,"FRMPayload":"","MIC":0,"DR":0,"Freq":868300000,"upinfo":{}})";
    CHECK(refused(R"({"msgtype":"updf","MHdr":0,)" + tail) == Errc::kBadMhdr);
    const Uplink zero = accepted(
        R"({"msgtype":"jreq","MHdr":0,"JoinEui":"::0","DevEui":"::0","DevNonce":0,"MIC":0,"DR":0,"Freq":868300000,"upinfo":{}})");
    CHECK(zero.phy == PhyPayload(23, 0));
    CHECK(zero.modulation.spreading_factor == 12);
}

TEST_CASE("C055 FPort -1: no port byte", "[uplink][field]") {
    CHECK(phy(stock("updf-no-port-no-payload")) == "40c4b3a20180030049f39d69");
    CHECK(phy(stock("updf-no-port-fopts")) == "40c4b3a201820400030723bec136");
    // Other clients leave it out, or say null.
    CHECK(phy(replaced(stock("updf-no-port-no-payload"), R"("FPort": -1, )", "")) == "40c4b3a20180030049f39d69");
    CHECK(phy(replaced(stock("updf-no-port-no-payload"), R"("FPort": -1)", R"("FPort": null)")) ==
          "40c4b3a20180030049f39d69");
    CHECK(refused(with(R"("FPort": 10)", R"("FPort": -1)")) == Errc::kLengthMismatch);
    CHECK(refused(with(R"("FPort": 10)", R"("FPort": -2)")) == Errc::kOutOfRange);
    CHECK(refused(with(R"("FPort": 10)", R"("FPort": 256)")) == Errc::kOutOfRange);
    CHECK(refused(with(R"("FPort": 10)", R"("FPort": "x")")) == Errc::kWrongType);
}

TEST_CASE("C056 Port present, payload empty, and port 0", "[uplink][field]") {
    CHECK(phy(stock("updf-port-with-empty-payload")) == "40c4b3a2018005000744720eae");
    CHECK(phy(stock("updf-port0-empty")) == "40c4b3a20180070000e4d711a8");
    CHECK(phy(stock("updf-port0-mac")) == "40c4b3a201800600009b3b877ff010");
}

TEST_CASE("C059 Byte order of EUIs reversed by a client: passed on as received", "[uplink][field]") {
    const std::string message = replaced(stock("jreq-basic"), "02-DE-77-00-00-00-00-2A", "2A-00-00-00-00-77-DE-02");
    CHECK(phy(message) == "000100000000510e0202de77000000002a010000993c65");
}

TEST_CASE("C060 xtime as a double: every digit of it is kept", "[uplink][field]") {
    CHECK(accepted(variant("xtime-above-2^53")).context.xtime == 107945598039381623);
    CHECK(accepted(with("9288674670492749", "9223372036854775807")).context.xtime == 9223372036854775807);
    CHECK(accepted(with("9288674670492749", "9288674670492749.0")).context.xtime == 9288674670492749);
    CHECK(refused(with("9288674670492749", "9288674670492749.5")) == Errc::kWrongType);
    CHECK(refused(with("9288674670492749", "1e19")) == Errc::kOutOfRange);
    CHECK(accepted(with(R"("rctx": 0)", R"("rctx": 9007199254740993)")).context.rctx == 9007199254740993);
}

TEST_CASE("C061 xtime cut to 32 bits: first and later values as they came", "[uplink][field]") {
    CHECK(accepted(with("9288674670492749", "25332753303959041")).context.xtime == 25332753303959041);
    CHECK(accepted(with("9288674670492749", "25332757598926337")).context.xtime == 25332757598926337);
}

TEST_CASE("C066 Fine timestamp and GPS time", "[uplink][field]") {
    const Uplink none = accepted(variant("no-gpstime-no-fts"));
    CHECK(!none.gps_time);
    CHECK(!none.fine_ns);
    const Uplink real = accepted(variant("gpstime-real-fts-real"));
    CHECK(real.gps_time == GpsTime{1451260918123456});
    CHECK(LeapSeconds().to_utc(*real.gps_time) == UtcTime{1767225700123456});
    CHECK(real.fine_ns == 417203881);
    CHECK(!accepted(with(R"("fts": -1)", R"("fts": 1000000000)")).fine_ns);
    CHECK(accepted(with(R"("fts": -1)", R"("fts": 0)")).fine_ns == 0);
}

TEST_CASE("chirpstack T45: a gateway's wrong clock is not passed on", "[uplink]") {
    const auto gps = [](const std::string& literal) {
        return accepted(with(R"("gpstime": 0)", R"("gpstime": )" + literal));
    };
    CHECK(gps("1451260918123456").gps_time.has_value());
    CHECK(gps("1451260917623457").gps_time.has_value());
    CHECK(!gps("1451260917623455").gps_time);
    CHECK(!gps("1451260919623457").gps_time);
    // the-things-stack 52: milliseconds for microseconds; C091: seconds.
    CHECK(!gps("1321619791991").gps_time);
    CHECK(!gps("1451260918").gps_time);
    CHECK(!gps("-9223372036854775808").gps_time);
    CHECK(!gps("9223372036854775807").gps_time);
    CHECK(!gps("\"x\"").gps_time);
}

TEST_CASE("C067 rxtime missing, zero, in the past or future: own receive time decides", "[uplink][field]") {
    for (const char* literal :
         {"0", "12.5", "12.500000", "4102444800.0", "-1", "null", "\"x\"", "1e300", "1767225660.0"}) {
        INFO(literal);
        const Uplink uplink = accepted(with("1767225700.123456", literal));
        CHECK(!uplink.rx_time);
        CHECK(uplink.received_at == UtcTime{kFieldTime});
    }
    CHECK(!accepted(variant("no-rxtime")).rx_time);
    CHECK(accepted(with("1767225700.123456", "1767225695.266")).rx_time == UtcTime{1767225695266000});
}

TEST_CASE("C068 RSSI/SNR number types", "[uplink][field]") {
    const auto levels = [](const std::string& rssi, const std::string& snr) {
        return accepted(replaced(with(R"("rssi": -87)", R"("rssi": )" + rssi), R"("snr": 8.25)", R"("snr": )" + snr));
    };
    CHECK(levels("-50.0", "-7").rssi_dbm == -50.0F);
    CHECK(levels("-50.0", "-7").snr_db == -7.0F);
    CHECK(levels("-139.75", "-13.5").rssi_dbm == -139.75F);
    CHECK(levels("-139.75", "-13.5").snr_db == -13.5F);
    CHECK(!levels("null", "null").rssi_dbm);
    CHECK(!levels("null", "null").snr_db);
    CHECK(!levels("\"NaN\"", "\"-7\"").rssi_dbm);
    CHECK(!levels("1e300", "[]").rssi_dbm);
    CHECK(!accepted(with(R"("rssi": -87, "snr": 8.25, )", "")).snr_db);
}

TEST_CASE("C069 Integers spelt as floats: accepted when integral", "[uplink][field]") {
    const Uplink uplink = accepted(variant("dr-freq-as-float"));
    CHECK(uplink.dr == 5);
    CHECK(uplink.frequency_hz == 868300000);
    CHECK(refused(with(R"("DR": 5)", R"("DR": 5.5)")) == Errc::kWrongType);
    CHECK(phy(replaced(with(R"("MHdr": 64)", R"("MHdr": 64.0)"), R"("MIC": 195152022)", R"("MIC": 1.95152022e8)")) ==
          "40c4b3a2018001000a01b196c8a10b");
}

TEST_CASE("C071 Frequency not in the plan: passed on unchanged", "[uplink][field]") {
    CHECK(accepted(variant("freq-off-channel")).frequency_hz == 866123456);
    CHECK(accepted(with("868300000", "4294967295")).frequency_hz == 4294967295);
    CHECK(accepted(with("868300000", "1")).frequency_hz == 1);
    for (const char* bad : {"0", "-1", "4294967296"}) CHECK(refused(with("868300000", bad)) == Errc::kBadFrequency);
}

TEST_CASE("uplink: DR against the table that was sent", "[uplink]") {
    CHECK(accepted(variant("dr-fsk")).modulation == Modulation{Modulation::Kind::kFsk, 0, 0, 50000});
    for (const char* bad : {"8", "14", "15", "16", "99", "-1", "9223372036854775807"})
        CHECK(refused(with(R"("DR": 5)", std::string(R"("DR": )") + bad)) == Errc::kUnknownDr);

    Talk us(plan_of(us915_channels()));
    us.open().text(with(R"("DR": 5, "Freq": 868300000)", R"("DR": 4, "Freq": 904600000)"));
    REQUIRE(us.uplinks().size() == 1);
    CHECK(us.uplinks()[0].modulation == Modulation{Modulation::Kind::kLora, 8, 500000, 0});
    us.clear().text(with(R"("DR": 5, "Freq": 868300000)", R"("DR": 12, "Freq": 904600000)"));
    CHECK(us.drops() == std::vector{Errc::kUnknownDr});
}

TEST_CASE("C073 propdf: the whole frame, or nothing", "[uplink][field]") {
    CHECK(phy(variant("propdf")) == phy_of("propdf"));
    CHECK(accepted(variant("propdf")).type == UplinkType::kPropdf);
    CHECK(refused(variant("propdf-empty")) == Errc::kLengthMismatch);
    CHECK(refused(R"({"msgtype":"propdf","DR":5,"Freq":868100000})") == Errc::kMissingField);
    CHECK(
        phy(R"({"msgtype":"propdf","FRMPayload":")" + std::string(510, 'A') + R"(","DR":5,"Freq":868100000})").size() ==
        510);
    CHECK(refused(R"({"msgtype":"propdf","FRMPayload":")" + std::string(512, 'A') + R"(","DR":5,"Freq":868100000})") ==
          Errc::kLengthMismatch);
}

TEST_CASE("C074 Rejoin requests: from pdu, never as a join request", "[uplink][field]") {
    const Uplink uplink = accepted(variant("rejoin-with-pdu"));
    CHECK(to_hex(uplink.phy) == phy_of("rejoin-with-pdu"));
    CHECK(uplink.type == UplinkType::kRejoin);
    const auto rejoin = [](const std::string& pdu) {
        return replaced(variant("rejoin-with-pdu"), "C00033445502DE77000000002A0500A1B2C3D4", pdu);
    };
    CHECK(accepted(rejoin("C001" + std::string(44, '0'))).phy.size() == 24);
    CHECK(refused(rejoin("C000")) == Errc::kLengthMismatch);
    CHECK(refused(rejoin("40" + std::string(36, '0'))) == Errc::kBadMhdr);
    CHECK(refused(replaced(stock("jreq-basic"), "\"jreq\"", "\"rejoin\"")) == Errc::kIgnoredType);
}

TEST_CASE("C075 jacc/dndf and other device-side types: ignored", "[uplink][field]") {
    CHECK(refused(variant("jacc-device-mode")) == Errc::kIgnoredType);
    CHECK(refused(variant("dndf-device-mode")) == Errc::kIgnoredType);
    // The same frame called an uplink.
    CHECK(refused(replaced(variant("dndf-device-mode"), "\"dndf\"", "\"updf\"")) == Errc::kBadMhdr);
}

TEST_CASE("C076 Payload only as pdu: dropped without negotiation", "[uplink][field]") {
    CHECK(refused(variant("updf-pdu-hex-fork")) == Errc::kForkOnly);
}

TEST_CASE("C077 FOpts and hex corner cases", "[uplink][field]") {
    CHECK(phy(stock("updf-confirmed-fopts15")) == "80c4b3a2018f08000605ff030707070707070707070702c8d944bef966dfcd");
    CHECK(phy(variant("hex-lowercase")) == phy_of("hex-lowercase"));
    CHECK(phy(replaced(stock("updf-port-with-empty-payload"), R"("FRMPayload": "")", R"("FRMPayload": "aAbB")")) ==
          "40c4b3a20180050007aabb44720eae");
    CHECK(refused(variant("hex-odd")) == Errc::kBadHex);
    CHECK(refused(with("01B1", "01G1")) == Errc::kBadHex);
    CHECK(refused(with("01B1", "AbE=")) == Errc::kBadHex);
    CHECK(refused(with(R"("FRMPayload": "01B1")", R"("FRMPayload": 1)")) == Errc::kWrongType);
    CHECK(refused(with(R"("FOpts": "")", R"("FOpts": "0307")")) == Errc::kLengthMismatch);
    CHECK(refused(replaced(stock("updf-no-port-fopts"), R"("FCtrl": 130)", R"("FCtrl": 131)")) ==
          Errc::kLengthMismatch);
    CHECK(refused(replaced(stock("updf-no-port-fopts"), R"("0307")", R"("03070")")) == Errc::kBadHex);
    // 255 bytes in all are the limit: 12 of header, port and MIC, and one more.
    const auto sized = [](int bytes) { return with("01B1", std::string(2 * static_cast<std::size_t>(bytes), 'A')); };
    CHECK(phy(sized(242)).size() == 2 * 255);
    CHECK(refused(sized(243)) == Errc::kLengthMismatch);
    CHECK(refused(sized(300)) == Errc::kLengthMismatch);
}

TEST_CASE("C080 DevNonce and FCnt limits", "[uplink][field]") {
    CHECK(phy(stock("jreq-nonce-max")) == "000100000000510e022a0000000077de02ffff434264e2");
    CHECK(phy(stock("updf-fcnt16-wrap")) == "40c4b3a20180ffff018b45ad5a5c");
    for (const char* bad : {"65536", "-1", "1e9"}) {
        CHECK(refused(with(R"("FCnt": 1)", std::string(R"("FCnt": )") + bad)) == Errc::kOutOfRange);
        CHECK(refused(replaced(stock("jreq-basic"), R"("DevNonce": 1)", std::string(R"("DevNonce": )") + bad)) ==
              Errc::kOutOfRange);
    }
}

TEST_CASE("uplink: MHdr, addresses and missing fields", "[uplink]") {
    CHECK(refused(variant("mhdr-major-1")) == Errc::kBadMhdr);
    for (const char* bad : {"65", "66", "68", "96", "0", "32", "160", "192", "224"})
        CHECK(refused(with(R"("MHdr": 64)", std::string(R"("MHdr": )") + bad)) == Errc::kBadMhdr);
    CHECK(refused(with(R"("MHdr": 64)", R"("MHdr": 256)")) == Errc::kOutOfRange);
    CHECK(refused(replaced(stock("jreq-basic"), R"("MHdr": 0)", R"("MHdr": 64)")) == Errc::kBadMhdr);
    CHECK(refused(with(R"("FCtrl": 128)", R"("FCtrl": 300)")) == Errc::kOutOfRange);
    CHECK(phy(with("27440068", "-67067470")).substr(0, 10) == "40b2a100fc");
    CHECK(phy(with("27440068", "4227899826")).substr(0, 10) == "40b2a100fc");
    CHECK(refused(with("27440068", "4294967296")) == Errc::kOutOfRange);
    CHECK(refused(with(R"("DevAddr": 27440068, )", "")) == Errc::kMissingField);
    CHECK(refused(with(R"(, "MIC": 195152022)", "")) == Errc::kMissingField);
    CHECK(refused(with(R"("DR": 5, )", "")) == Errc::kMissingField);
    CHECK(refused(with(R"("Freq": 868300000, )", "")) == Errc::kMissingField);
    CHECK(refused(with(R"("DR": 5)", R"("DR": null)")) == Errc::kMissingField);
    CHECK(refused(variant("eui-15-digits")) == Errc::kBadEui);
    CHECK(refused(replaced(stock("jreq-basic"), R"("DevEui": "02-DE-77-00-00-00-00-2A")", R"("DevEui": 7)")) ==
          Errc::kWrongType);
}

TEST_CASE("uplink: names of fields in any case, upinfo absent or odd", "[uplink]") {
    std::string message = stock("jreq-basic");
    for (const auto& [from, to] :
         {std::pair{"MHdr", "Mhdr"}, {"JoinEui", "JoinEUI"}, {"DevEui", "DevEUI"}, {"Freq", "freq"}})
        message = replaced(message, from, to);
    CHECK(phy(message) == "000100000000510e022a0000000077de02010000993c65");
    const std::string without = with(stock("updf-port10").substr(stock("updf-port10").find(R"(, "upinfo")")), "}");
    CHECK(accepted(without).context == UplinkContext{0, 0, 1});
    CHECK(refused(replaced(without, "}", R"(,"upinfo":7})")) == Errc::kWrongType);
    const Uplink misspelt = accepted(variant("rctx-misspelt"));
    CHECK(misspelt.context.rctx == 0);
    CHECK(accepted(variant("unknown-fields")).phy.size() == 14);
    CHECK(accepted(variant("whitespace-newlines")).phy.size() == 14);
}

TEST_CASE("the-things-stack 38: antenna and board", "[uplink]") {
    const Uplink second = accepted(with(R"("rctx": 0)", R"("rctx": 1)"));
    CHECK(second.antenna == 1);
    CHECK(second.context.rctx == 1);
    // A fork counts in rctx: no antenna, but echoed.
    const Uplink counter = accepted(with(R"("rctx": 0)", R"("rctx": 305419896)"));
    CHECK(counter.antenna == 0);
    CHECK(counter.context.rctx == 305419896);
    CHECK(accepted(with("9288674670492749", "153403850216563469")).board == 2);
}

TEST_CASE("xtime 0: forwarded", "[uplink][field]") {
    CHECK(accepted(variant("xtime-zero")).context.xtime == 0);
}
