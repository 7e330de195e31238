"""Who comes in, who takes over from whom, and how it ends: identities, credentials, takeovers, slow readers, shutdown."""

import json
import os
import signal
import ssl
import subprocess
import threading
import time
import unittest

from harness import (
    G1, G2, G3, G4, PING, T1, TOKEN, Ca, Closed, Folder, Gateway, Server, dashed, downlink, frame, hex16,
    path_of, request, rows, seconds, text, wait_until,
)

GX = "d15:ea5e:0:99"
RX2 = {"dr": 5, "frequency": 869525000}
# The gateways of the discovery rows, and whatever has to be known to C002.
REGISTERED = (G1, G2, G3, G4, 1, 0x5C7A000000000D0E)


def registry(folder, gateways):
    """A registry file; JSON is YAML too."""
    path = folder / "gateways.yaml"
    path.write_text(json.dumps({"gateways": gateways}))
    return {"kind": "file", "path": str(path)}


class Case(unittest.TestCase):
    """One server for all tests of a class."""

    @classmethod
    def config(cls):
        return {}

    @classmethod
    def setUpClass(cls):
        cls.shared = Folder()
        cls.addClassCleanup(cls.shared.remove)
        cls.server = Server(cls.config())
        cls.addClassCleanup(cls.server._folder.remove)
        cls.addClassCleanup(cls.server.kill)
        cls.context = cls.server.ca.context()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, question, headers=(), **where):
        return Gateway.ask(self.server, question, headers, **{"context": self.context, **where})

    def open(self, eui, headers=(), **how):
        station = Gateway.open(self.server, eui, headers, **{"context": self.context, **how})
        self.addCleanup(station.close)
        return station

    def assert_refused(self, answer):
        """A discovery that says no: an error object, or a status before the upgrade (C010, C011)."""
        if isinstance(answer, int):
            self.assertIn(answer, (401, 403))
            return
        self.assertTrue(answer["error"])
        self.assertNotIn("uri", answer)
        self.assertNotIn("muxs", answer)


class Takeover(Case):
    def test_the_newest_connection_wins_and_the_old_one_cannot_hurt_it(self):
        """C123, C124."""
        old = self.open(G1)
        new = self.open(G1)
        self.assertIn(old.close_code(), (1000, 1008))
        new.probe(5)
        self.assertEqual(len(self.server.events(event="connect", gateway=hex16(G1))), 2)
        gone = self.server.wait_event(event="disconnect", gateway=hex16(G1))
        self.assertEqual(gone["reason"], "replaced")
        old.reset()
        # The reset has been seen once the old connection's descriptor is gone; a probe later nothing has changed.
        new.probe(6)
        self.assertEqual(downlink(self.server, G1, id=1, **{"class": "C"}, pdu="60AA", rx2=RX2).status, 202)
        self.assertEqual(new.receive("dnmsg")["pdu"].upper(), "60AA")
        self.assertEqual(len(self.server.events(event="disconnect", gateway=hex16(G1))), 1)
        (shown,) = [one for one in self.server.gateways()["gateways"] if one["eui"] == hex16(G1)]
        self.assertTrue(shown["connected"])

    def test_a_reset_of_the_old_one_while_the_new_one_comes(self):
        for at in range(5):
            old = self.open(G2)
            uri = self.ask(G2)["uri"]
            new = Gateway(self.server, context=self.context)
            self.addCleanup(new.close)
            self.assertEqual(new.upgrade(path_of(uri)), 101)
            old.reset()
            new.say({"msgtype": "version", "station": "sim", "protocol": 2})
            new.receive("router_config")
            new.probe(at)
            number = 100 + at
            downlink(self.server, G2, id=number, **{"class": "C"}, pdu="60AA", rx2={"dr": 5, "frequency": 869525000})
            new.receive("dnmsg")
            self.assertEqual(self.server.events(event="ack", id=number), [])
            new.close()

    def test_many_at_once_leave_exactly_one(self):
        stations, lock = [], threading.Lock()

        def come():
            station = Gateway.open(self.server, G3, context=self.context, version=None)
            station.say({"msgtype": "version", "station": "sim", "protocol": 2})
            with lock:
                stations.append(station)

        threads = [threading.Thread(target=come) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(stations), 8)
        wait_until(lambda: self.server.status()["gateways_connected"] == self.others() + 1, 15, "one is left")
        alive = 0
        for station in stations:
            try:
                station.probe(9)
                alive += 1
            except (Closed, OSError):
                pass
            station.close()
        self.assertEqual(alive, 1)

    def others(self):
        return len([one for one in self.server.gateways(connected="true")["gateways"] if one["eui"] != hex16(G3)])


class SlowReader(Case):
    def test_nobody_waits_for_one_who_does_not_read(self):
        """C128."""
        slow, other = self.open(G1), self.open(G2)
        stop = threading.Event()

        def flood():
            pings = frame(b"p" * 125, PING) * 200
            questions = frame('{"msgtype":"timesync","txtime":1}') * 500
            try:
                while not stop.is_set():
                    slow.send(pings)
                    slow.send(questions)
            except OSError:
                pass

        thread = threading.Thread(target=flood)
        thread.start()
        took = []
        try:
            def over():
                began = time.monotonic()
                other.probe(len(took))
                took.append(time.monotonic() - began)
                return self.server.events(event="disconnect", gateway=hex16(G1))

            (end,) = wait_until(over, 60, "the slow reader is cut off", every=0.1)
        finally:
            stop.set()
            slow.reset()
            thread.join()
        self.assertIn(end["reason"], ("outbox_full", "write_timeout"))
        self.assertLess(sorted(took)[len(took) // 2], seconds(0.5))
        other.probe(77)


class Discovery(Case):
    @classmethod
    def config(cls):
        return {"registry": registry(cls.shared.path, [{"eui": dashed(eui)} for eui in REGISTERED])}

    def test_every_row_of_the_field_cases(self):
        """C002, C003, C010."""
        for one in rows("discovery_requests.jsonl"):
            with self.subTest(one["send"]):
                answer = self.ask(one["send"])
                if "expect" in one:
                    if isinstance(answer, int):
                        self.assertIn(answer, (1003, 1007, 1008))
                        continue
                    self.assertTrue(answer["error"])
                    self.assertNotIn("uri", answer)
                    continue
                self.assertEqual(set(answer), {"router", "muxs", "uri"})
                self.assertIn(one["eui"].replace("-", "").lower(), answer["uri"].replace("-", "").lower())
        answer = self.ask('{"router":"c639:1aff:fe07:8c2"}')
        self.assertIn(hex16(G3), answer["uri"].replace("-", "").lower())

    def test_an_unknown_gateway_is_told_and_may_hang_up_itself(self):
        """C005."""
        station = Gateway(self.server, context=self.context)
        self.addCleanup(station.close)
        station.upgrade("/router-info")
        station.say({"router": GX})
        answer = station.receive()
        self.assertEqual(answer["router"], GX)
        self.assertTrue(answer["error"])
        self.assertNotIn("uri", answer)
        station.socket.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            station.socket.recv(1)

    def test_many_unknown_gateways_leave_nothing(self):
        """C006, small."""
        series, memory = None, None
        for at in range(200):
            answer = self.ask(f'{{"router":"d15:ea5e:{at // 256:x}:{at % 256 + 0x4f00:x}"}}', tls=False)
            self.assertTrue(answer["error"])
            if at == 20:
                series, memory = len(self.server.admin("/metrics").body.splitlines()), self.server.resident_bytes()
        self.assertEqual(len(self.server.admin("/metrics").body.splitlines()), series)
        self.assertLess(self.server.resident_bytes() - memory, 20 << 20)
        self.assertIn("uri", self.ask(G1))

    def test_scheme_host_and_port_of_the_answer(self):
        """C007, C008."""
        self.assertTrue(self.ask(G1)["uri"].startswith("wss://"))
        self.assertTrue(self.ask(G1, tls=False)["uri"].startswith("ws://"))
        self.assertTrue(self.ask(G1, ["X-Forwarded-Proto: http", "X-Forwarded-Host: evil.example"])["uri"]
                        .startswith(f"wss://localhost:{self.server.port()}/"))
        for host in ("lns.test.example", "lns.test.example:443", "evil.example:1"):
            with self.subTest(host):
                uri = self.with_host(self.server, host)["uri"]
                self.assertRegex(uri, r"^wss://[A-Za-z0-9.-]+:[0-9]{1,5}/.+$")
                self.assertLess(len(uri), 128)

    def with_host(self, server, host):
        station = Gateway(server, context=server.ca.context())
        self.addCleanup(station.close)
        station.send(request("/router-info", host=host))
        self.assertEqual(station.response()[0], 101)
        station.say({"router": "2ab:c0ff:fe10:2030"})
        return station.receive()

    def test_a_public_address_is_what_everybody_gets(self):
        """C008, C009: the longest that stations can keep with EUI and ticket, and one more."""
        base = "wss://lns." + "a" * 30 + ".example:8887/"
        base += "p" * (127 - 50 - len(base))
        with Server({"listen": {"public_uri": base}}) as server:
            uri = self.with_host(server, "evil.example:1")["uri"]
            self.assertEqual(len(uri), 127)
            self.assertTrue(uri.startswith(base))
        folder = Folder()
        self.addCleanup(folder.remove)
        path = folder.path / "f.yaml"
        path.write_text(json.dumps({"listen": {"public_uri": base + "p"}}))
        ended = subprocess.run([os.environ["SM_BIN"], "check", "--config", path], capture_output=True, text=True, timeout=seconds(20), check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("public_uri", ended.stderr)
        self.assertIn("127", ended.stderr)


class Tokens(Case):
    @classmethod
    def config(cls):
        return {"registry": registry(cls.shared.path, [
            {"eui": dashed(G1), "credential": {"kind": "token", "tokens": [TOKEN]}},
            {"eui": dashed(G2), "token": "gw2-another-token"},
        ])}

    def data_status(self, eui, headers):
        station = Gateway(self.server, context=self.context)
        self.addCleanup(station.close)
        status = station.upgrade(f"/traffic/{hex16(eui)}", headers)
        if status == 101:
            # What takes long to verify is verified behind the 101.
            try:
                station.say({"msgtype": "version", "station": "sim", "protocol": 2})
                station.receive("router_config")
            except (Closed, OSError):
                return 401
        return status

    def test_every_form_of_the_header(self):
        """C025."""
        lines = [line for line in text("tc.key.variants.txt").splitlines() if line and not line.startswith("#")]
        self.assertEqual(len(lines), 7)
        for at, line in enumerate(lines):
            raw = line.replace("\\r", "\r").replace("\\n", "\n").encode()
            with self.subTest(line):
                station = Gateway(self.server, context=self.context)
                self.addCleanup(station.close)
                station.send(request("/router-info")[:-2] + raw + b"\r\n")
                status = station.response()[0]
                answer = None
                if status == 101:
                    station.say({"router": "2ab:c0ff:fe10:2030"})
                    answer = station.receive()
                if at == 5:
                    self.assert_refused(status if answer is None else answer)
                else:
                    self.assertEqual(status, 101)
                    self.assertIn("uri", answer)

    def test_wrong_credentials_are_refused_at_both_doors(self):
        """C011, C025, C029."""
        self.open(G1, [T1]).probe(1)
        for headers in ([], ["Authorization: Bearer wrong"], ["Authorization: Bearer "], ["Authorization: Basic " + TOKEN],
                        [f"Authorization: Bearer {TOKEN[:-1]}"], [f"Authorization: Bearer {TOKEN}x"]):
            with self.subTest(headers):
                self.assert_refused(self.ask(G1, headers))
                self.assertIn(self.data_status(G1, headers), (401, 403))
        two = [T1, "Authorization: Bearer another"]
        self.assertIn(self.data_status(G1, two), (400, 401, 403))

    def test_a_refusal_is_short_and_closes(self):
        """C029. Known locally, it is said before the upgrade."""
        self.open(G1, [T1]).probe(1)
        station = Gateway(self.server, context=self.context)
        self.addCleanup(station.close)
        station.send(request(f"/traffic/{hex16(G1)}", headers=["Authorization: Bearer wrong"]))
        status, headers = station.response()
        self.assertEqual(status, 401)
        self.assertLess(int(headers["content-length"]), 1024)
        self.assertTrue(station.ends())

    def test_a_token_opens_its_own_gateway_only(self):
        """C027."""
        self.open(G1, [T1]).probe(1)
        self.assert_refused(self.ask(G2, [T1]))
        self.assertIn(self.data_status(G2, [T1]), (401, 403))
        self.open(G2, ["Authorization: Bearer gw2-another-token"]).probe(2)
        for secret in (TOKEN, "gw2-another-token"):
            self.assertNotIn(secret, self.server.log_file.read_text())

    def test_nobody_unregistered(self):
        self.assert_refused(self.ask(G3, [T1]))
        self.assertIn(self.data_status(G3, [T1]), (401, 403))


class Certificates(Case):
    @classmethod
    def config(cls):
        cls.ca, cls.renewed, cls.foreign = (Ca(cls.shared.path / name, f"GW {name}") for name in ("old", "new", "foreign"))
        bundle = cls.shared.path / "bundle.pem"
        bundle.write_text(cls.ca.file.read_text() + cls.renewed.file.read_text())
        return {
            "tls": {"client_ca": str(bundle)},
            "registry": registry(cls.shared.path, [{"eui": dashed(eui), "credential": {"kind": "certificate"}} for eui in (G1, G2)]),
        }

    def client(self, ca, common_name):
        context = self.server.ca.context()
        pair = ca.client(common_name)
        context.load_cert_chain(pair.certificate, pair.key)
        return context

    def test_a_certificate_is_bound_to_its_gateway(self):
        """C023, C024."""
        for ca, name in ((self.ca, hex16(G1)), (self.ca, dashed(G1)), (self.renewed, "02ABC0FFFE102030")):
            with self.subTest(name):
                context = self.client(ca, name)
                self.assert_refused(self.ask(G2, context=context))
                self.assertIn("uri", self.ask(G1, context=context))
                self.open(G1, context=context).probe(1)
                station = Gateway(self.server, context=context)
                self.addCleanup(station.close)
                status = station.upgrade(f"/traffic/{hex16(G2)}")
                if status == 101:
                    station.say({"msgtype": "version", "station": "sim", "protocol": 2})
                    with self.assertRaises((Closed, OSError)):
                        station.receive("router_config")
                else:
                    self.assertIn(status, (401, 403))

    def test_without_one_nobody_comes_in(self):
        """C023."""
        self.assert_refused(self.ask(G1))
        self.assertTrue(self.server.ready())

    def test_a_strangers_certificate_is_refused_and_that_is_logged(self):
        """C024."""
        context = self.client(self.foreign, hex16(G1))
        try:
            self.assert_refused(self.ask(G1, context=context))
        except (ssl.SSLError, ConnectionError, Closed):
            pass
        self.server.wait_log(event="handshake_failed", result="client_certificate_refused")


class Shutdown(unittest.TestCase):
    def test_sigterm_says_goodbye_and_ends_with_0(self):
        """C131."""
        with Server() as server:
            stations = [Gateway.open(server, eui) for eui in (G1, G2, G3)]
            self.assertEqual(downlink(server, G1, id=7, **{"class": "C"}, pdu="60AA", rx2=RX2).status, 202)
            stations[0].receive("dnmsg")
            server.process.signal(signal.SIGTERM)
            for station in stations:
                self.assertIn(station.close_code(), (1001, 1012))
                self.assertTrue(station.ends())
                station.close()
            self.assertEqual(server.process.wait(40), 0)
            (ack,) = server.events(event="ack", id=7)
            self.assertNotEqual(ack["outcome"], "sent")
            self.assertEqual(len(server.events(event="disconnect", reason="drained")), 3)

    def test_a_restart_gets_its_gateways_back(self):
        with Server() as server:
            with Gateway.open(server, G1) as station:
                server.restart(how=signal.SIGKILL)
                self.assertTrue(station.ends())
            with Gateway.open(server, G1) as station:
                station.probe(1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
