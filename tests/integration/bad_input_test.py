"""Everything wrong that can arrive on a gateway port: answered rightly, counted under its reason, and nobody else notices."""

import json
import socket
import ssl
import unittest

from harness import (
    BINARY, CLOSE, CONTINUATION, G2, PING, PONG, TEXT, Closed, Gateway, RawStation, Server, close_payload, frame, garbage, message,
    request, row, rows, wait_until,
)

UPDF = message(row("uplinks_stock.jsonl", "updf-port10"))
PHY = row("uplinks_stock.jsonl", "updf-port10")["phy"]
CLIENT_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(32)


class BadInput(unittest.TestCase):
    CONFIG = {
        "listen": {"handshake_timeout": "4s", "discovery_timeout": "4s", "max_header_bytes": "8KiB"},
        "session": {"version_timeout": "4s", "close_timeout": "2s"},
    }

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.CONFIG)
        cls.addClassCleanup(cls.server._folder.remove)
        cls.addClassCleanup(cls.server.kill)
        cls.context = cls.server.ca.context()
        cls.witness = Gateway.open(cls.server, G2, context=cls.context)

    @classmethod
    def tearDownClass(cls):
        cls.witness.close()
        cls.server.stop()

    def setUp(self):
        self.gateway_number = 0x5000000000000000 + abs(hash(self.id())) % 2**32

    def tearDown(self):
        # Whatever was sent: another gateway has not noticed.
        self.witness.probe(412093771)
        self.assertTrue(self.server.process.running())

    # Help

    def raw(self, tls=True):
        station = RawStation(self.server.port(tls), ssl=self.context if tls else None)
        self.addCleanup(station.close)
        return station

    def open(self, version=True):
        """A gateway of its own for this test, so that a takeover never plays a part."""
        answer = Gateway.ask(self.server, self.gateway_number, context=self.context)
        self.assertIn("uri", answer)
        station = Gateway.open(self.server, self.gateway_number, uri=answer["uri"], context=self.context,
                               **({} if version else {"version": None}))
        self.addCleanup(station.close)
        return station

    def upgraded(self):
        """A discovery connection."""
        station = Gateway(self.server, context=self.context)
        self.addCleanup(station.close)
        self.assertEqual(station.upgrade("/router-info"), 101)
        return station

    def moves(self, name, by=1, **labels):
        """A context: this counter moves by at least so much (exactly, where nobody else can move it)."""
        return Moves(self.server, "stationmaster_" + name, by, labels)

    def handshake(self, result):
        return self.moves("handshakes_total", result=result)

    def upgrade(self, result):
        return self.moves("upgrades_total", result=result)

    def dropped(self, reason, by=1):
        return self.moves("uplinks_dropped_total", by, reason=reason)

    def ended(self, reason):
        return self.moves("sessions_ended_total", reason=reason)

    # Before TLS

    def test_garbage_before_tls(self):
        for data in (b"\x00" * 64, b"\xff" * 64, b"SSH-2.0-OpenSSH_9.2\r\n", garbage(4096)):
            with self.subTest(data[:8]), Moves(self.server, "stationmaster_handshakes_total", 1, {}, total=True):
                station = RawStation(self.server.port(True))
                self.addCleanup(station.close)
                station.send(data)
                self.assertTrue(station.ends())

    def test_plain_http_on_the_wss_port(self):
        with self.handshake("http_request"):
            station = RawStation(self.server.port(True))
            self.addCleanup(station.close)
            station.send(request("/router-info"))
            self.assertTrue(station.ends())

    def test_tls_on_the_ws_port(self):
        with self.upgrade("malformed"):
            plain = socket.create_connection(("127.0.0.1", self.server.port(False)), timeout=20)
            self.addCleanup(plain.close)
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                self.context.wrap_socket(plain, server_hostname="localhost")

    def test_half_a_handshake_and_then_silence(self):
        with self.handshake("timeout"):
            station = RawStation(self.server.port(True))
            self.addCleanup(station.close)
            station.send(CLIENT_HELLO)
            self.assertTrue(station.ends())

    def test_half_a_handshake_and_then_gone(self):
        with self.handshake("gone"):
            station = RawStation(self.server.port(True))
            station.send(CLIENT_HELLO)
            # In the waiting room it would be a visitor that left, not a handshake that ended.
            wait_until(lambda: self.server.status()["admission"]["in_flight"] > 0, 10, "the handshake has begun")
            station.reset()

    def test_nothing_at_all(self):
        with self.handshake("timeout"):
            station = RawStation(self.server.port(True))
            self.addCleanup(station.close)
            self.assertTrue(station.ends())

    def test_old_tls_versions_are_refused(self):
        """C021."""
        context = self.server.ca.context()
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with self.handshake("protocol_version"), self.assertRaises((ssl.SSLError, ConnectionError)):
            RawStation(self.server.port(True), ssl=context)

    # The request

    def test_half_a_header_and_then_silence(self):
        with self.upgrade("timeout"):
            station = self.raw()
            station.send(request("/router-info")[:60])
            self.assertTrue(station.ends())

    def test_half_a_header_and_then_gone(self):
        with self.upgrade("gone"):
            station = self.raw()
            station.send(request("/router-info")[:60])
            station.reset()

    def test_wrong_requests_are_answered_with_their_status_and_a_short_body(self):
        """C014, C028, C029."""
        upgrade = request("/router-info")
        pem = ("-----BEGIN PRIVATE KEY-----", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "-----END PRIVATE KEY-----")
        cases = [
            ("root", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", (404,), "not_found"),
            ("unknown path", request("/nowhere"), (404,), "not_found"),
            ("path of another server", request("/api/v3/gs/router"), (404,), "not_found"),
            ("path with a broken EUI", request("/traffic/xyz"), (404,), "not_found"),
            ("post", upgrade.replace(b"GET", b"POST"), (400, 405), "not_get"),
            ("head", upgrade.replace(b"GET", b"HEAD"), (400, 405), "not_get"),
            ("no upgrade", b"GET /router-info HTTP/1.1\r\nHost: x\r\n\r\n", (400, 426), "not_upgrade"),
            ("upgrade to something else", upgrade.replace(b": websocket", b": h2c"), (400, 426), "not_upgrade"),
            ("version 8", upgrade.replace(b"Version: 13", b"Version: 8"), (400, 426), "not_upgrade"),
            ("no key", upgrade.replace(b"Sec-WebSocket-Key", b"X-Key"), (400,), "malformed"),
            ("short key", upgrade.replace(b"bpse8nVmEl6ZlX4lSb6RMw==", b"bpse8nVmEl6Z"), (400,), "malformed"),
            ("key file as header", request("/router-info", headers=pem), (400,), "malformed"),
            ("control characters", upgrade.replace(b"Host: ", b"Ho\x01st: "), (400,), "malformed"),
            ("huge header", request("/router-info", headers=["X-Fill: " + "f" * 20000]), (400, 431), "too_large"),
        ]
        for what, sent, wanted, result in cases:
            with self.subTest(what), self.upgrade(result):
                station = self.raw()
                station.send(sent)
                try:
                    status, headers = station.response()
                    self.assertIn(status, wanted)
                    self.assertLess(int(headers.get("content-length", "0")), 1024)
                    self.assertEqual(headers.get("connection"), "close")
                    self.assertTrue(station.ends())
                except Closed:
                    # Our answer may be overtaken by the reset of what was not read any more.
                    self.assertEqual(what, "huge header")
        log = self.server.log_file.read_text()
        self.assertNotIn("QUJD", log)
        self.assertNotIn("BEGIN PRIVATE", log)

    def test_spellings_of_a_right_request(self):
        """C030, C032, C033."""
        stock = request("/router-info")
        offers = ["Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", "Sec-WebSocket-Protocol: lns, mqtt"]
        spellings = [
            stock,
            stock.replace(b"Connection: upgrade", b"Connection: keep-alive, Upgrade"),
            stock.replace(b"Upgrade: websocket", b"Upgrade: WebSocket"),
            stock.replace(b"Sec-WebSocket-Version", b"sec-websocket-version"),
            stock.replace(b"Connection", b"connection").replace(b"Upgrade:", b"upgrade:").replace(b"Host", b"HOST"),
            request("/router-info", headers=offers),
            request("/router-info", headers=["X-Tenant: t-04", "Authorization: Bearer anything"]),
            request("/router-info?x=1"),
        ]
        for sent in spellings:
            with self.subTest(sent):
                station = self.raw()
                station.send(sent)
                status, headers = station.response()
                self.assertEqual(status, 101)
                self.assertNotIn("sec-websocket-extensions", headers)
                self.assertNotIn("sec-websocket-protocol", headers)
                # The same key and the same mask as ever; read_frame() refuses RSV bits and masks of the server.
                station.send(frame('{"router":"2ab:c0ff:fe10:2030"}'))
                self.assertIn("uri", station.read_json())
                station.send(frame(close_payload(1000), CLOSE, mask=b"\0\0\0\0"))
                self.assertIn(station.close_code(), (1000, 1006))

    def test_a_request_byte_by_byte(self):
        station = self.raw()
        station.send_in_pieces(request("/router-info"))
        self.assertEqual(station.response()[0], 101)

    # Discovery

    def test_silent_discovery_ends(self):
        """C016."""
        with self.moves("discovery_total", result="silent"):
            self.assertTrue(self.upgraded().ends())

    def test_discovery_questions_that_are_none(self):
        cases = [
            ("not JSON", frame("hello"), "not_json", (1003, 1007, 1008)),
            ("two objects", frame('{"router":"::1"}{"router":"::1"}'), "not_json", (1003, 1007, 1008)),
            ("binary", frame(b"\x00\x01", BINARY), "not_json", (1003,)),
            ("nested", frame("[" * 60000), None, (1003, 1007, 1008)),
            ("not UTF-8", frame(b'{"router":"\xff\xfe"}'), None, (1002, 1003, 1007)),
        ]
        for what, sent, result, codes in cases:
            with self.subTest(what):
                before = result and self.server.metric("stationmaster_discovery_total", result=result)
                station = self.upgraded()
                station.send(sent)
                try:
                    answer = station.read_json()
                    self.assertTrue(result is None and answer.get("error") and "uri" not in answer, answer)
                except Closed as end:
                    self.assertIn(end.code, codes)
                if result:
                    station.close()
                    wait_until(lambda: self.server.metric("stationmaster_discovery_total", result=result) > before, 10, result)

    def test_a_huge_discovery_question(self):
        """C016."""
        with self.moves("discovery_total", result="too_big"):
            station = self.upgraded()
            self.assertIn(send_and_end(station, frame("x" * 1048576)), (1009, 1006))

    def test_a_question_with_an_unknown_router_text(self):
        for text in ('{"router":"not an eui"}', '{"router":{}}', '{"muxs":"x"}', '{"router":1.5}', '{"router":""}', "[]", "7", '"x"'):
            with self.subTest(text):
                answer = Gateway.ask(self.server, text, context=self.context)
                if isinstance(answer, int):
                    self.assertIn(answer, (1003, 1007, 1008))
                else:
                    self.assertTrue(answer["error"])
                    self.assertNotIn("uri", answer)

    # Frames that are wrong in themselves: dropped, counted, the connection stays

    def test_messages_that_are_no_message(self):
        station = self.open()
        cases = [
            ("text that is not JSON", "hello", "not_json"),
            ("nothing", "", "not_json"),
            ("two objects", UPDF + UPDF, "not_json"),
            ("cut off", UPDF[:-1], "not_json"),
            ("an array", "[1,2,3]", "not_object"),
            ("a number", "7", "not_object"),
            ("deep", "[" * 60000, "too_deep"),
            ("deep in a member", '{"msgtype":"alarm","x":' + "[" * 10000 + "]" * 10000 + "}", "too_deep"),
            ("no msgtype", '{"x":1}', "no_msgtype"),
            ("unknown msgtype", '{"msgtype":"x-status","cpu":0.31}', "unknown_msgtype"),
            ("DR outside the table", UPDF.replace('"DR": 5', '"DR": 14'), "unknown_dr"),
            ("DR 16", UPDF.replace('"DR": 5', '"DR": 16'), "unknown_dr"),
            ("odd hex", UPDF.replace('"01B1"', '"01B"'), "bad_hex"),
            ("no hex", UPDF.replace('"01B1"', '"01BX"'), "bad_hex"),
            ("a server's message", '{"msgtype":"dnmsg","diid":1}', "ignored_type"),
        ]
        for number, (what, sent, reason) in enumerate(cases):
            with self.subTest(what), self.dropped(reason):
                station.say(sent)
                station.probe(1000 + number)
        self.assertEqual(self.heard(), [])
        # Remote shells, the only binary frames there are, were not permitted to this one.
        with self.dropped("not_permitted"):
            station.send(frame(b"\x00\x01\x02", BINARY))
            station.probe()

    def heard(self):
        return self.server.events(event="up", gateway=f"{self.gateway_number:016x}")

    def test_events_and_alarms_never_cut_the_link(self):
        """C053."""
        station = self.open()
        for one in rows("events.jsonl"):
            station.say(message(one))
        station.probe(77)
        self.assertEqual(self.heard(), [])
        self.assertEqual([text for text in station.texts if "dnmsg" in text], [])

    def test_an_uplink_before_version_is_dropped_and_version_twice_configures_twice(self):
        """C052."""
        station = self.open(version=False)
        with self.dropped("before_version"):
            station.say(UPDF)
            station.probe(5)
        for _ in range(2):
            station.say('{"msgtype":"version","station":"sim","protocol":2}')
            station.receive("router_config")
        station.probe(6)
        self.assertEqual(self.heard(), [])

    def test_no_version_ends_the_connection(self):
        """C052."""
        with self.ended("version_timeout"):
            station = self.open(version=False)
            self.assertIn(station.close_code(), (1008, 1006))

    def test_timesync_rows(self):
        """C099."""
        station = self.open()
        for one in rows("timesync.jsonl"):
            station.say(one["send"])
        station.probe(3)
        replies = [json.loads(text)["txtime"] for text in station.texts if '"timesync"' in text]
        self.assertEqual([reply for reply in replies if isinstance(reply, int)][:3], [412093771, 9007199254740993, 0])

    # Frames that break the rules of WebSocket

    def test_fragments_with_a_ping_between(self):
        """C035."""
        station = self.open()
        first, second, third = UPDF[:20].encode(), UPDF[20:100].encode(), UPDF[100:].encode()
        station.send(frame(first, TEXT, fin=False))
        station.send(frame(b"between", PING))
        station.send(frame(second, CONTINUATION, fin=False))
        station.send(frame(third, CONTINUATION))
        self.assertEqual(station.read_frame(), (PONG, b"between", True))
        station.probe()
        self.server.wait_event(event="up", gateway=f"{self.gateway_number:016x}")
        self.assertEqual([event["phy"] for event in self.heard()], [PHY])

    def test_a_message_byte_by_byte(self):
        station = self.open()
        station.send_in_pieces(frame(UPDF))
        self.assertEqual(self.server.wait_event(event="up", gateway=f"{self.gateway_number:016x}")["phy"], PHY)

    def test_pings_are_echoed_and_stray_pongs_ignored(self):
        """C042."""
        station = self.open()
        for size in (0, 8, 125):
            payload = garbage(size)
            station.send(frame(payload, PING))
            self.assertEqual(station.read_frame(), (PONG, payload, True))
        station.send(frame(b"\xaa", PONG))
        station.probe()

    def test_frames_against_the_protocol_end_with_1002(self):
        """C042, C044."""
        cases = [
            ("ping of 126 bytes", frame(b"p" * 126, PING)),
            ("ping in fragments", frame(b"p", PING, fin=False)),
            ("no mask", frame(UPDF, mask=None)),
            ("reserved bit", frame(UPDF, rsv=4)),
            ("reserved opcode", frame(UPDF, 3)),
            ("continuation of nothing", frame(UPDF, CONTINUATION)),
            ("text inside a message", frame(UPDF[:5], fin=False) + frame(UPDF)),
            ("close with one byte", frame(b"\x03", CLOSE)),
            ("close with a reserved code", frame(close_payload(1005), CLOSE)),
        ]
        for what, sent in cases:
            with self.subTest(what), self.ended("protocol_error"):
                station = self.open()
                self.assertIn(send_and_end(station, sent), (1002, 1006))

    def test_text_that_is_not_utf8(self):
        station = self.open()
        code = send_and_end(station, frame(b'{"msgtype":"alarm","text":"\xff\xfe"}') + frame('{"msgtype":"timesync","txtime":7}'), stop="timesync")
        self.assertIn(code, ("timesync", 1002, 1007))

    def test_huge_messages_end_with_1009(self):
        """Issue 2's 10 MB frame; C035's message of 2 MiB in fragments; a length of 2^63."""
        memory = self.server.resident_bytes()
        for sent in (frame(b"x" * 10_000_000), frame(b"x" * 60000, fin=False) + frame(b"x" * 2097152, CONTINUATION),
                     frame(b"x" * 1000, length=2**62, form=64)):
            with self.subTest(len(sent)), self.ended("message_too_big"):
                station = self.open()
                self.assertIn(send_and_end(station, sent), (1009, 1006))
        self.assertLess(self.server.resident_bytes() - memory, 64 << 20)

    def test_close_frames(self):
        """C044."""
        for payload in (close_payload(1000), close_payload(1001, b"bye"), close_payload(4000), b""):
            with self.subTest(payload), self.ended("peer_closed"):
                station = self.open()
                station.send(frame(payload, CLOSE, mask=b"\0\0\0\0"))
                opcode, answer, fin = station.read_frame()
                self.assertEqual((opcode, fin), (CLOSE, True))
                self.assertEqual(answer[:2], payload[:2] or close_payload(1000))
                self.assertTrue(station.ends())
                station.close()

    def test_who_never_closes_is_closed(self):
        """C044: after the close frames TCP ends too, whatever the gateway does."""
        with self.ended("peer_closed"):
            station = self.open()
            station.send(frame(close_payload(1000), CLOSE))
            self.assertTrue(station.ends())

    def test_gone_in_the_middle_of_a_frame(self):
        with self.ended("peer_gone"):
            station = self.open()
            station.send(frame(UPDF)[:40])
            station.reset()
        with self.ended("peer_gone"):
            station = self.open()
            station.send(frame(UPDF)[:40])
            station.close()


class Moves:
    """Asserts that a counter has moved at the end of a with block; waits for it. `total`: all its series together."""

    def __init__(self, server, name, by, labels, total=False):
        self.server, self.name, self.by, self.labels, self.total = server, name, by, labels, total

    def read(self):
        if not self.total:
            return self.server.metric(self.name, **self.labels)
        return sum(float(line.rpartition(" ")[2]) for line in self.server.admin("/metrics").body.splitlines()
                   if line.startswith(self.name + "{"))

    def __enter__(self):
        self.before = self.read()

    def __exit__(self, kind, *_):
        if kind is None:
            wait_until(lambda: self.read() >= self.before + self.by, 15, f"{self.name}{self.labels} moves by {self.by}")


def send_and_end(station, data, stop=None):
    """Sends what the server may not even read to its end; the close code (1006 without one), or `stop` if that text came."""
    try:
        station.send(data)
    except OSError:
        pass
    try:
        while True:
            text = station.read_text()
            if stop and stop in text:
                return stop
    except Closed as end:
        # As a station does; who does not is cut off after three seconds.
        station.close()
        return end.code


if __name__ == "__main__":
    unittest.main(verbosity=2)
