"""Every uplink of the field cases through wss: the PHY bytes, data rate and frequency that come out, and what must not."""

import json
import unittest

from harness import G1, Gateway, Server, gps_now, hex16, message, row, rows

STOCK, VARIANTS = rows("uplinks_stock.jsonl"), rows("uplinks_variants.jsonl")

# Rows whose frame is refused: why it is counted. Their connection stays.
REFUSED = {
    "eui-15-digits": "bad_eui",
    "dr-beyond-table": "unknown_dr",
    "dr-16": "unknown_dr",
    "hex-odd": "bad_hex",
    "mhdr-major-1": "bad_mhdr",
    "propdf-empty": "length_mismatch",
    "updf-pdu-hex-fork": "fork_only",
    "jacc-device-mode": "ignored_type",
    "dndf-device-mode": "ignored_type",
}


def edited(case, *replacements, name="uplinks_stock.jsonl"):
    """The text of a row with parts of it replaced."""
    result = message(row(name, case))
    for old, new in replacements:
        assert old in result, old
        result = result.replace(old, new)
    return result


class Uplinks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server._folder.remove)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.stop()
        finally:
            cls.server.kill()

    def setUp(self):
        self.gateway = Gateway.open(self.server, G1)
        self.addCleanup(self.gateway.close)
        self.number = 0

    def heard(self, sent):
        """The `up` events of one text, complete once a probe has come back behind it."""
        before = len(self.server.events(event="up"))
        self.gateway.say(sent)
        self.number += 1
        self.gateway.probe(self.number)
        self.flush()
        return self.server.events(event="up")[before:]

    def flush(self):
        """Waits until everything published so far is in the file: a good uplink and its line."""
        mark = 1_000_000 + self.marks()
        self.gateway.say({"msgtype": "propdf", "FRMPayload": "E0", "DR": 0, "Freq": mark,
                          "upinfo": {"rctx": 0, "xtime": 1, "gpstime": 0, "rssi": -1, "snr": 0}})
        self.server.wait_event(event="up", frequency=mark)

    def fresh(self, sent):
        """The same frame, heard at another time: exact repeats are dropped as such."""
        self.number += 1
        return sent.replace("9288674670492749", str(9288674670492749 + 1000 * self.number))

    def marks(self):
        return len([one for one in self.server.events(event="up") if one["frequency"] < 2_000_000])

    def only(self, events):
        return [one for one in events if one["frequency"] >= 2_000_000]

    def dropped(self, reason):
        return self.server.metric("stationmaster_uplinks_dropped_total", reason=reason)

    def test_every_stock_row_arrives_byte_for_byte(self):
        self.assertGreater(len(STOCK), 10)
        for one in STOCK:
            with self.subTest(one["case"]):
                events = self.only(self.heard(message(one)))
                self.assertEqual([event["phy"] for event in events], [one["phy"]])
                self.compare(events[0], one["json"])

    def compare(self, event, sent):
        self.assertEqual(event["gateway"], hex16(G1))
        self.assertEqual(event["type"], sent["msgtype"])
        self.assertEqual((event["dr"], event["frequency"]), (int(sent["DR"]), int(sent["Freq"])))
        if event["dr"] == 7:
            self.assertEqual((event["modulation"], event["bitrate"]), ("FSK", 50000))
        else:
            self.assertEqual((event["modulation"], event["sf"], event["bandwidth"]),
                             ("LORA", {0: 12, 1: 11, 2: 10, 3: 9, 4: 8, 5: 7, 6: 7}[event["dr"]], 250000 if event["dr"] == 6 else 125000))
        info = sent["upinfo"]
        self.assertEqual((event["xtime"], event["rctx"]), (info["xtime"], info.get("rctx", 0)))
        self.assertEqual((event["rssi"], event["snr"]), (info["rssi"], info["snr"]))
        # The file's GPS time is of another day: what is not plausible may be left out, but never altered.
        self.assertIn(event.get("gps_time"), (None, info.get("gpstime") or None))
        if info.get("fts", -1) >= 0:
            self.assertEqual(event["fine_ns"], info["fts"])
        else:
            self.assertNotIn("fine_ns", event)

    def test_every_variant_arrives_or_is_counted_and_the_connection_stays(self):
        for one in VARIANTS:
            case = one["case"]
            reason = REFUSED.get(case)
            counted = reason and self.dropped(reason)
            with self.subTest(case):
                events = self.only(self.heard(one["send"]))
                if reason:
                    self.assertEqual(events, [])
                    self.assertEqual(self.dropped(reason), counted + 1, self.moved())
                    continue
                self.assertFalse(one["expect"].startswith(("drop", "ignore", "only")), "this row must not be heard")
                self.assertEqual([event["phy"] for event in events], [one["phy"]], self.moved())
                self.compare(events[0], json.loads(one["send"]))

    def moved(self):
        """The drop counters that are not zero, for the reader of a failure."""
        return "\n".join(line for line in self.server.admin("/metrics").body.splitlines()
                         if line.startswith("stationmaster_uplinks_dropped_total") and not line.endswith(" 0"))

    def test_numbers_at_and_beyond_their_edges(self):
        good = [
            ("rssi as a fraction", [('"rssi": -87', '"rssi": -139.75')]),
            ("snr negative", [('"snr": 8.25', '"snr": -13.5')]),
            ("snr an integer", [('"snr": 8.25', '"snr": -7')]),
            ("time of the station is nonsense", [("1767225700.123456", "4102444800.0")]),
            ("time of the station is 0", [("1767225700.123456", "0")]),
            ("time of the station is negative", [("1767225700.123456", "-1")]),
            ("reftime negative", [('"RefTime": 0.0', '"RefTime": -5.0')]),
            ("xtime the largest", [("9288674670492749", "9223372036854775807")]),
        ]
        for what, change in good:
            with self.subTest(what):
                events = self.only(self.heard(self.fresh(edited("updf-port10", *change))))
                self.assertEqual([event["phy"] for event in events], [row("uplinks_stock.jsonl", "updf-port10")["phy"]], self.moved())
        bad = [
            ("FCnt 65536", "updf-port10", [('"FCnt": 1', '"FCnt": 65536')]),
            ("FCnt -1", "updf-port10", [('"FCnt": 1', '"FCnt": -1')]),
            ("DevNonce 65536", "jreq-basic", [('"DevNonce": 1', '"DevNonce": 65536')]),
            ("DR a fraction", "updf-port10", [('"DR": 5', '"DR": 5.5')]),
            ("DR negative", "updf-port10", [('"DR": 5', '"DR": -1')]),
            ("frequency 0", "updf-port10", [("868300000", "0")]),
            ("frequency -1", "updf-port10", [("868300000", "-1")]),
            ("FPort 256", "updf-port10", [('"FPort": 10', '"FPort": 256')]),
            ("FOpts shorter than FCtrl says", "updf-port10", [('"FCtrl": 128', '"FCtrl": 130')]),
            ("FOpts longer than FCtrl says", "updf-port10", [('"FOpts": ""', '"FOpts": "0307"')]),
            ("DevAddr a text", "updf-port10", [("27440068", '"01A2B3C4"')]),
            ("no MIC", "updf-port10", [('"MIC": 195152022, ', "")]),
            ("payload beyond 255 bytes", "updf-port10", [('"01B1"', '"' + "AA" * 250 + '"')]),
        ]
        for what, case, change in bad:
            with self.subTest(what):
                self.assertEqual(self.only(self.heard(self.fresh(edited(case, *change)))), [], self.moved())

    def test_gps_time_of_now_arrives_to_the_microsecond(self):
        """C066."""
        now = gps_now()
        sent = message(row("uplinks_variants.jsonl", "gpstime-real-fts-real")).replace("1451260918123456", str(now))
        (event,) = self.only(self.heard(self.fresh(sent)))
        self.assertEqual((event["gps_time"], event["fine_ns"]), (now, 417203881))

    def test_a_bad_frame_never_takes_its_neighbours_along(self):
        """Bad and good alternate without a pause: exactly the good ones arrive, in order."""
        good = [one for one in STOCK if one["json"]["msgtype"] == "updf"]
        bad = [one for one in VARIANTS if one["case"] in REFUSED]
        before = len(self.server.events(event="up"))
        for at, one in enumerate(good):
            self.gateway.say(bad[at % len(bad)]["send"])
            self.gateway.say(message(one))
        self.flush()
        events = self.only(self.server.events(event="up")[before:])
        self.assertEqual([event["phy"] for event in events], [one["phy"] for one in good])

    def test_one_frame_heard_twice_keeps_both_receptions(self):
        """C078: a mirror on another frequency is a reception of its own."""
        strong = edited("updf-port10", ('"rssi": -87', '"rssi": -30'))
        weak = edited("updf-port10", ('"rssi": -87', '"rssi": -95'), ("868300000", "867900000"), ("9288674670492749", "9288674670492789"))
        before = len(self.server.events(event="up"))
        self.gateway.say(strong)
        self.gateway.say(weak)
        self.flush()
        events = self.only(self.server.events(event="up")[before:])
        self.assertEqual(events[0]["rssi"], -30)
        self.assertIn([event["frequency"] for event in events], ([868300000], [868300000, 867900000]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
