"""One gateway's whole day: field-cases/session_log.jsonl through wss, with a downlink from the admin API."""

import re
import unittest

from harness import (
    CLOSE, G1, PING, PONG, Gateway, Server, close_payload, downlink, frame, gps_now, hex16, path_of, router_config_findings, rows,
    text, wait_until,
)

ACCEPT = "Bz3qJYTGdOe8gUSpLosEdiLKDrk="  # RFC 6455's answer to the stock handshake's constant key
LOG = rows("session_log.jsonl")


def logged(direction, **wanted):
    """The JSON messages of the log in one direction, those with these members."""
    found = [one["json"] for one in LOG if one["dir"] == direction and "json" in one]
    return [one for one in found if all(one.get(key) == value for key, value in wanted.items())]


class SessionLog(unittest.TestCase):
    def test_the_whole_session(self):
        with Server({"session": {"ping_interval": "6s", "ping_jitter": 0.0, "pong_timeout": "6s"}}) as server:
            uri = self.discovery(server)
            with Gateway(server) as gateway:
                self.assertEqual(gateway.upgrade(path_of(uri)), 101)
                self.configuration(server, gateway)
                self.time(gateway)
                token = self.join(server, gateway)
                self.answer(server, gateway, token)
                self.ping(server, gateway)
                self.the_rest(server, gateway)
                self.goodbye(server, gateway)

    def discovery(self, server):
        """The stock bytes, the answer, and its close: the starting gun of the second connection."""
        stock = text("ws_handshake_stock.http").replace("\r\n", "\n").replace("\n", "\r\n").encode()
        with Gateway(server) as station:
            station.send(stock.replace(b"lns.test.example:8887", f"localhost:{server.port()}".encode()))
            status, headers = station.response()
            self.assertEqual((status, headers["sec-websocket-accept"]), (101, ACCEPT))
            self.assertNotIn("sec-websocket-extensions", headers)
            self.assertNotIn("sec-websocket-protocol", headers)
            question = logged("c>s")[0]
            station.say(question)
            answer = station.receive()
            self.assertEqual(set(answer), {"router", "muxs", "uri"})
            self.assertEqual((answer["router"], answer["muxs"]), (question["router"], logged("s>c")[0]["muxs"]))
            self.assertTrue(answer["uri"].startswith(f"wss://localhost:{server.port()}/"), answer)
            self.assertLess(len(answer["uri"]), 128)
            station.send(frame(close_payload(1000), CLOSE, mask=b"\0\0\0\0"))
            self.assertIn(station.close_code(), (1000, 1006))
            return answer["uri"]

    def configuration(self, server, gateway):
        gateway.say(logged("c>s", msgtype="version")[0])
        raw = gateway.read_text()
        self.assertEqual(router_config_findings(raw), [])
        self.assertIn('"msgtype":"router_config"', raw)
        connect = server.wait_event(event="connect", gateway=hex16(G1))
        self.assertEqual(connect["station"], "2.0.6(corecell/std)")
        self.assertEqual(connect["features"], ["rmtsh", "gps"])
        self.assertFalse(connect.get("firmware"))  # null in `version`: not known
        self.assertEqual(server.status()["gateways_connected"], 1)

    def time(self, gateway):
        for question in logged("c>s", msgtype="timesync"):
            before = gps_now()
            reply = gateway.probe(question["txtime"])
            self.assertLessEqual(before - 1_000_000, reply["gpstime"])
            self.assertLessEqual(reply["gpstime"], gps_now() + 1_000_000)

    def join(self, server, gateway):
        (request,) = logged("c>s", msgtype="jreq")
        gateway.say(request)
        up = server.wait_event(event="up", type="jreq")
        mic = (request["MIC"] & 0xFFFFFFFF).to_bytes(4, "little").hex()
        self.assertEqual(up["phy"], "000100000000510e022a0000000077de020100" + mic)
        self.assertEqual((up["dr"], up["frequency"], up["xtime"], up["rctx"]), (5, 868100000, request["upinfo"]["xtime"], 0))
        self.assertEqual((up["rssi"], up["snr"]), (-87, 8.25))
        return up["token"]

    def answer(self, server, gateway, token):
        (expected,) = logged("s>c", msgtype="dnmsg")
        answer = downlink(server, G1, id=18446744073709551615, **{"class": "A"}, pdu=expected["pdu"], dev_eui=expected["DevEui"],
                          rx_delay=expected["RxDelay"], rx1={"dr": expected["RX1DR"], "frequency": expected["RX1Freq"]},
                          rx2={"dr": expected["RX2DR"], "frequency": expected["RX2Freq"]}, context=token, priority=expected["priority"])
        self.assertEqual(answer.status, 202, answer.body)
        sent = gateway.receive("dnmsg")
        sent["pdu"] = sent["pdu"].upper()
        sent.pop("MuxTime", None)
        self.assertEqual({**sent, "diid": 1}, {**expected, "diid": 1})
        (confirmation,) = logged("c>s", msgtype="dntxed")
        confirmation = {**confirmation, "diid": sent["diid"], "seqno": sent["diid"]}
        gateway.say(confirmation)
        ack = server.wait_event(event="ack", id=18446744073709551615)
        self.assertEqual((ack["outcome"], ack["window"], ack["frequency"], ack["sf"]), ("sent", "rx1", 868100000, 7))
        # Said twice, counted once.
        gateway.say(confirmation)
        gateway.probe()
        wait_until(lambda: server.metric("stationmaster_uplinks_dropped_total", reason="unknown_diid") == 1, 10, "the second one is counted")

    def ping(self, server, gateway):
        before = server.metric("stationmaster_round_trip_seconds_count")
        while True:
            opcode, payload, fin = gateway.read_frame()
            if opcode == PING:
                break
        self.assertTrue(fin)
        self.assertLessEqual(len(payload), 125)
        gateway.send(frame(payload, PONG))
        wait_until(lambda: server.metric("stationmaster_round_trip_seconds_count") > before, 10, "the pong is a round trip")

    def the_rest(self, server, gateway):
        gateway.say(logged("c>s", msgtype="updf")[0])
        gateway.say(logged("c>s", msgtype="event")[0])
        gateway.probe(9007199254740993)
        up = server.wait_event(event="up", type="updf")
        self.assertEqual((up["phy"], up["frequency"]), ("40c4b3a2018001000a01b196c8a10b", 868300000))
        fix = server.wait_event(event="gateway", kind="gps_fix")
        self.assertEqual((fix["latitude"], fix["longitude"], fix["altitude"]), (12.345678, -45.678901, 231.5))

    def goodbye(self, server, gateway):
        gateway.send(frame(close_payload(1000), CLOSE))
        self.assertEqual(gateway.close_code(), 1000)
        end = server.wait_event(event="disconnect", gateway=hex16(G1))
        self.assertEqual((end["reason"], end["close_code"]), ("peer_closed", 1000))
        self.assertEqual(len(server.events(event="ack")), 1)
        self.assertEqual(len(server.events(event="up")), 2)
        wait_until(lambda: server.status()["gateways_connected"] == 0, 10, "nobody is connected")


if __name__ == "__main__":
    unittest.main(verbosity=2)
