"""Downlinks through the admin API: what reaches the station, and the one answer to each (C060, C061, C079 to C096)."""

import json
import re
import unittest

from harness import Gateway, Server, downlink, gps_now, hex16, message, row, rows

PDU = "60C4B3A2010001000155AA33CC77"
DEVICE = "02-DE-77-00-00-00-00-2A"
RX1 = {"dr": 5, "frequency": 868100000}
RX2 = {"dr": 0, "frequency": 869525000}


class Downlinks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server._folder.remove)
        cls.addClassCleanup(cls.server.kill)
        cls.context = cls.server.ca.context()
        cls.numbers = iter(range(1, 1 << 30))

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def setUp(self):
        # A gateway of its own for each test: a duty cycle that one has used up is not the next one's.
        self.eui = 0x7000000000000000 + next(self.numbers)
        self.station = self.open()

    def open(self, **how):
        station = Gateway.open(self.server, self.eui, context=self.context, **how)
        self.addCleanup(station.close)
        return station

    def uplink(self, station=None, xtime=None, frequency=868100000):
        """An uplink's token and xtime."""
        xtime = xtime or 9288674670492749 + 1000 * next(self.numbers)
        (station or self.station).say(message(row("uplinks_stock.jsonl", "updf-port10"))
                                      .replace("9288674670492749", str(xtime)).replace("868300000", str(frequency)))
        return self.server.wait_event(event="up", gateway=hex16(self.eui), xtime=xtime)["token"], xtime

    def post(self, device_class="A", **fields):
        """(id, the admin API's answer) of a downlink; class A answers an uplink of now unless `context` is given."""
        number = next(self.numbers)
        body = {"id": number, "class": device_class, "pdu": PDU, "dev_eui": DEVICE, **fields}
        body = {key: value for key, value in body.items() if value is not None}
        return number, downlink(self.server, self.eui, **body)

    def answer(self, **fields):
        """Posts a class A answer to a new uplink: (id, dnmsg, xtime)."""
        token, xtime = self.uplink()
        fields = {"rx_delay": 5, "rx1": RX1, "rx2": RX2, "context": token, **fields}
        number, answer = self.post(**fields)
        self.assertEqual(answer.status, 202, answer.body)
        sent = self.station.receive("dnmsg")
        self.assertNotIn("null", self.station.texts[-1])
        self.assertRegex(sent["pdu"], r"^([0-9A-Fa-f]{2})+$")
        self.assertRegex(sent["DevEui"], r"^([0-9A-F]{2}-){7}[0-9A-F]{2}$")
        return number, sent, xtime

    def confirm(self, sent, **fields):
        """The station's dntxed for a dnmsg."""
        self.station.say({"msgtype": "dntxed", "seqno": sent["diid"], "diid": sent["diid"], "DR": 5, "Freq": 868100000,
                          "DevEui": DEVICE, "rctx": 0, "xtime": 1, "txtime": 1.0, "gpstime": 0, **fields})

    def acked(self, number, within=20):
        """The one acknowledgement of a request."""
        self.server.wait_event(event="ack", id=number, within=within)
        (ack,) = self.server.events(event="ack", id=number)
        return ack

    def refused(self, *outcomes, **fields):
        """The request is turned down by the API or by the session, and the station hears nothing of it."""
        number, answer = self.post(**fields)
        if answer.status != 400:
            self.assertEqual(answer.status, 202, answer.body)
            self.assertIn(self.acked(number)["outcome"], outcomes)
        self.station.probe(number)
        self.assertEqual([text for text in self.station.texts if '"dnmsg"' in text], [])

    # What is written

    def test_both_windows(self):
        number, sent, xtime = self.answer(priority=1)
        self.assertEqual(set(sent) - {"MuxTime"}, {"msgtype", "DevEui", "dC", "diid", "pdu", "RxDelay", "RX1DR", "RX1Freq", "RX2DR", "RX2Freq",
                                                   "priority", "xtime", "rctx"})
        self.assertEqual((sent["dC"], sent["RxDelay"], sent["xtime"], sent["DevEui"]), (0, 5, xtime, DEVICE))
        self.confirm(sent)
        self.assertEqual(self.acked(number)["outcome"], "sent")

    def test_rx1_alone(self):
        """C081."""
        _, sent, _ = self.answer(rx2=None)
        self.assertEqual((sent["RX1DR"], sent["RX1Freq"]), (5, 868100000))
        self.assertFalse({"RX2DR", "RX2Freq"} & set(sent))

    def test_rx2_alone_keeps_the_delay_of_rx1(self):
        """C081, C085."""
        _, sent, _ = self.answer(rx1=None)
        self.assertEqual((sent["RX2DR"], sent["RX2Freq"], sent["RxDelay"]), (0, 869525000, 5))
        self.assertFalse({"RX1DR", "RX1Freq"} & set(sent))

    def test_outside_the_plan(self):
        """C081, C093, C096."""
        for outcome, window in (("bad_frequency", {"dr": 5, "frequency": 902300000}), ("bad_data_rate", {"dr": 14, "frequency": 868100000}),
                                ("bad_frequency", {"dr": 5, "frequency": 0})):
            with self.subTest(window):
                token, _ = self.uplink()
                self.refused(outcome, rx_delay=5, rx1=window, context=token)

    def test_a_device_without_a_name_gets_one(self):
        """C082."""
        _, sent, _ = self.answer(dev_eui=None)
        self.assertNotEqual(sent["DevEui"], "00-00-00-00-00-00-00-00")

    def test_delays(self):
        """C085."""
        _, sent, _ = self.answer(rx_delay=15)
        self.assertEqual(sent["RxDelay"], 15)
        token, _ = self.uplink()
        self.station.texts.clear()
        self.refused("bad_request", rx_delay=16, rx1=RX1, context=token)

    def test_delay_0_is_1(self):
        """C085. On a slow machine the window may be gone, and that is said then."""
        token, _ = self.uplink()
        number, answer = self.post(rx_delay=0, rx1=RX1, context=token)
        self.assertEqual(answer.status, 202)
        self.station.probe(5)
        sent = [json.loads(text) for text in self.station.texts if '"dnmsg"' in text]
        if sent:
            self.assertEqual(sent[0]["RxDelay"], 1)
        else:
            self.assertEqual(self.acked(number)["outcome"], "too_late")

    def test_xtime_keeps_all_its_bits(self):
        """C060, C061, C087: in the window order of two uplinks 2^32 µs apart."""
        for xtime in (107945598039381623, 25332753303959041, 25332757598926337):
            with self.subTest(xtime):
                station = self.station = self.open()
                token, _ = self.uplink(station, xtime)
                _, answer = self.post(rx_delay=5, rx1=RX1, context=token)
                self.assertEqual(answer.status, 202)
                station.receive("dnmsg")
                self.assertIn(f'"xtime":{xtime}', station.texts[-1])

    def test_payloads(self):
        """C093."""
        for size in (1, 12, 255):
            with self.subTest(size):
                self.eui += 1 << 40
                self.station = self.open()
                _, sent, _ = self.answer(pdu="60" * size)
                self.assertEqual(sent["pdu"].lower(), "60" * size)
        self.station.texts.clear()
        token, _ = self.uplink()
        for wrong in ("", "60" * 256, "606", "YMSzogEAAQABVaozzHc=", None):
            with self.subTest(wrong):
                self.refused("bad_payload", "bad_request", pdu=wrong, rx_delay=5, rx1=RX1, context=token)

    def test_priority_beyond_a_byte(self):
        """C094."""
        token, _ = self.uplink()
        self.refused("bad_request", rx_delay=5, rx1=RX1, context=token, priority=300)

    def test_class_c_without_any_uplink(self):
        """C086."""
        number, answer = self.post("C", rx2=RX2)
        self.assertEqual(answer.status, 202)
        sent = self.station.receive("dnmsg")
        self.assertEqual(set(sent) - {"rctx", "MuxTime"}, {"msgtype", "DevEui", "dC", "diid", "pdu", "RX2DR", "RX2Freq", "priority"})
        self.assertEqual((sent["dC"], sent["RX2DR"], sent["RX2Freq"]), (2, 0, 869525000))
        self.confirm(sent, DR=0, Freq=869525000)
        self.assertEqual(self.acked(number)["outcome"], "sent")

    def test_class_b_needs_gps_time(self):
        """C091."""
        slot = {"dr": 3, "frequency": 869525000}
        self.refused("no_gps_time", device_class="B", rx1=slot, gps_time=gps_now() + 20_000_000)
        self.station.say(message(row("uplinks_variants.jsonl", "gpstime-real-fts-real")).replace("1451260918123456", str(gps_now())))
        self.station.probe(7)
        when = gps_now() + 20_000_000
        number, answer = self.post("B", rx1=slot, gps_time=when)
        self.assertEqual(answer.status, 202, answer.body)
        sent = self.station.receive("dnmsg")
        self.assertEqual((sent["dC"], sent["DR"], sent["Freq"], sent["gpstime"]), (1, 3, 869525000, when))
        self.assertFalse({"RX1DR", "RX1Freq", "RX2DR", "RX2Freq", "xtime"} & set(sent))
        self.confirm(sent, DR=3, Freq=869525000)
        self.assertEqual(self.acked(number)["outcome"], "sent")

    def test_fsk(self):
        """C096."""
        token, _ = self.uplink(frequency=868800000)
        number, answer = self.post(rx_delay=5, rx1={"dr": 7, "frequency": 868800000}, rx2=RX2, context=token)
        self.assertEqual(answer.status, 202, number)
        sent = self.station.receive("dnmsg")
        self.assertEqual((sent["RX1DR"], sent["RX1Freq"], sent["RX2DR"]), (7, 868800000, 0))

    # What comes back

    def test_every_spelling_of_dntxed_is_one_acknowledgement(self):
        """C083."""
        for one in rows("dntxed.jsonl"):
            with self.subTest(one["case"]):
                self.eui += 1 << 40
                self.station = self.open()
                number, sent, _ = self.answer()
                confirmation = {key: sent["diid"] if value == 4101 else value for key, value in one["json"].items()}
                known = sent["diid"] in (confirmation.get("diid"), confirmation.get("seqno"))
                self.station.say(confirmation)
                self.station.say(confirmation)
                self.station.probe(9)
                if not known:
                    self.assertEqual(self.server.events(event="ack", id=number), [])
                    self.confirm(sent)
                ack = self.acked(number)
                self.assertEqual(ack["outcome"], "sent")
                if one["case"] == "rx2-used":
                    self.assertEqual((ack["window"], ack["sf"], ack["frequency"]), ("rx2", 12, 869525000))

    def test_silence_is_reported_once(self):
        """C084."""
        number, sent, _ = self.answer(rx_delay=5)
        ack = self.acked(number, within=40)
        self.assertEqual(ack["outcome"], "no_confirmation")
        self.confirm(sent)
        self.station.probe(3)
        self.assertEqual(len(self.server.events(event="ack", id=number)), 1)

    def test_a_lost_connection_answers_for_what_was_on_its_way(self):
        number, _, _ = self.answer(rx_delay=15)
        self.station.reset()
        self.assertEqual(self.acked(number)["outcome"], "not_connected")

    def test_a_burst_of_class_c(self):
        """C092: each of twenty gets its one answer; what is sent keeps its order."""
        numbers = []
        for at in range(20):
            number, answer = self.post("C", rx2={"dr": 5, "frequency": 869525000}, pdu=f"{0x60C4B3A20100:012x}{at:02x}")
            self.assertEqual(answer.status, 202)
            numbers.append(number)
        seen = []
        while any(not self.server.events(event="ack", id=number) for number in numbers):
            self.station.say('{"msgtype":"timesync","txtime":1}')
            reply = self.station.receive()
            if reply["msgtype"] == "dnmsg":
                seen.append(reply["pdu"].lower())
                self.confirm(reply, Freq=869525000)
        self.assertEqual(seen, sorted(seen))
        outcomes = [self.acked(number)["outcome"] for number in numbers]
        self.assertEqual(outcomes.count("sent"), len(seen))
        self.assertGreater(len(seen), 0)
        self.assertLessEqual(set(outcomes), {"sent", "collision", "duty_cycle", "queue_full", "too_late"})

    # Whom it may reach

    def test_nobody_there(self):
        number = next(self.numbers)
        answer = downlink(self.server, 0x7FFFFFFFFFFFFFFF, id=number, **{"class": "C"}, pdu=PDU, rx2=RX2)
        self.assertIn(answer.status, (202, 404))
        if answer.status == 202:
            self.assertEqual(self.acked(number)["outcome"], "not_connected")

    def test_before_router_config(self):
        """C095."""
        early = self.open(version=None)
        number, answer = self.post("C", rx2=RX2)
        self.assertEqual(answer.status, 202)
        early.probe(4)
        self.assertEqual([text for text in early.texts if '"dnmsg"' in text], [])
        ack = self.acked(number)
        self.assertEqual(ack["outcome"], "not_configured")
        early.say({"msgtype": "version", "station": "sim", "protocol": 2})
        self.assertEqual(early.receive()["msgtype"], "router_config")

    def test_a_context_of_an_earlier_connection(self):
        """C079, C089."""
        token, _ = self.uplink()
        self.station.reset()
        self.station = self.open()
        self.refused("stale_context", rx_delay=15, rx1=RX1, context=token)
        number, sent, _ = self.answer()
        self.confirm(sent)
        self.assertEqual(self.acked(number)["outcome"], "sent")

    def test_one_uplink_answers_to_the_gateway_that_heard_it(self):
        token, _ = self.uplink()
        self.eui += 1 << 40
        self.station = self.open()
        self.refused("stale_context", "no_context", rx_delay=15, rx1=RX1, context=token)

    def test_the_api_refuses_what_is_no_downlink(self):
        path = f"/api/v1/gateways/{hex16(self.eui)}/downlinks"
        for body in ("", "{", "[]", "{}", '{"class":"D","pdu":"60"}', '{"class":"A","pdu":"60"}', '{"class":"C","pdu":"60","rx2":{"dr":0}}',
                     '{"class":"C","pdu":"60","rx2":{"dr":0,"frequency":869525000},"colour":1}'):
            with self.subTest(body):
                answer = self.server.admin(path, "POST", body)
                self.assertEqual(answer.status, 400, answer.body)
                self.assertTrue(re.search(r"\w", answer.body))
        self.station.probe(2)

    def test_waiting_for_the_answer(self):
        number = next(self.numbers)
        path = f"/api/v1/gateways/{hex16(self.eui)}/downlinks?wait=1s"
        answer = self.server.admin(path, "POST", {"id": number, "class": "C", "pdu": PDU, "rx2": {"dr": 5, "frequency": 902300000}})
        self.assertEqual((answer.status, answer.json()["outcome"]), (200, "bad_frequency"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
