#!/usr/bin/python3
"""station-storm against a tiny server that misbehaves on request, then fifty stations against the real one."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from harness import Ca, Folder, Process, Server, seconds, wait_until

STORM = os.environ.get("SM_STORM", "")
FAKE = Path(__file__).resolve().parent.parent / "storm" / "fake_lns.py"


def storm(scenario, folder, *arguments, within=60):
    """Runs to its end; (exit status, summary)."""
    summary = folder / "summary.json"
    command = [STORM, scenario, "--no-progress", "--json", summary, *arguments]
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=seconds(within), check=False)
    if not summary.exists():
        raise AssertionError(f"no summary; exit {ended.returncode}\n{ended.stderr}")
    return ended.returncode, json.loads(summary.read_text())


class FakeLns:
    """The tiny server as a process; `counts` after it has ended."""

    def __init__(self, folder, ca, *arguments):
        pair = ca.server(name="lns", dns=("localhost", "127.0.0.1"), ips=("127.0.0.1",))
        both = folder / "lns.pem"
        both.write_text(pair.certificate.read_text() + pair.key.read_text())
        self.process = Process("lns", ["/usr/bin/python3", FAKE, "--cert", both, *arguments], folder)
        self.counts = {}

    def __enter__(self):
        self.process.start()
        wait_until(lambda: "ready" in self.process.out.read_text(), 10, "the fake server listens")
        self.url = f"wss://127.0.0.1:{self.process.out.read_text().split()[1]}"
        return self

    def stop(self):
        self.process.terminate()
        self.counts = json.loads(self.process.out.read_text().splitlines()[-1])
        return self.counts

    def __exit__(self, *_):
        self.process.kill()


class AgainstTheFake(unittest.TestCase):
    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.remove)
        self.folder = folder.path
        self.ca = Ca(self.folder / "ca")

    def run_storm(self, lns, *arguments, scenario="run"):
        return storm(scenario, self.folder, "--url", lns.url, "--ca", self.ca.file, *arguments)

    def test_a_fleet_works_confirms_downlinks_and_answers_pings_after_its_round_trip(self):
        with FakeLns(self.folder, self.ca, "--downlinks", "--ping", "0.5") as lns:
            status, report = self.run_storm(lns, "--gateways", 30, "--uplink-interval", "1s", "--rtt", "100ms", "--duration", "5s",
                                            "--expect-connected", "100%")
            counts = lns.stop()
        self.assertEqual(status, 0)
        self.assertEqual(report["in_service"], 30)
        self.assertEqual(counts["version"], 30)
        self.assertEqual(report["discovery"]["succeeded"], 30)
        self.assertEqual(report["data"]["succeeded"], 30)
        self.assertGreater(counts["updf"], 60)
        self.assertLessEqual(counts["updf"] + counts.get("jreq", 0), report["uplinks"]["sent"])
        self.assertGreater(report["downlinks"]["confirmed"], 20)
        self.assertEqual(report["downlinks"]["refused"], 0)
        self.assertEqual(report["downlinks"]["planned"].keys(), {"rx1"})
        self.assertGreater(counts["dntxed"], 20)
        self.assertGreater(counts["rtt_p50"], 0.1)

    def test_refused_discovery_is_a_visit_to_cups(self):
        with FakeLns(self.folder, self.ca, "--refuse") as lns:
            status, report = self.run_storm(lns, "--gateways", 5, "--duration", "2s", "--expect-connected", "100%")
        self.assertEqual(status, 1)
        self.assertEqual(report["cups_visits"], 5)
        self.assertEqual(report["discovery"]["failures"], {"rejected": 5})
        self.assertEqual(report["wasted_handshakes"], 5)

    def test_a_stalled_101_runs_into_tc_timeout(self):
        with FakeLns(self.folder, self.ca, "--data-stall", "30") as lns:
            _, report = self.run_storm(lns, "--gateways", 5, "--duration", "6s", "--tc-timeout", "1s")
        self.assertEqual(report["data"]["failures"], {"timeout": 5})
        self.assertEqual(report["data"]["wasted"], 5)
        self.assertEqual(report["in_service"], 0)
        self.assertIsNone(report["seconds_to_50"])

    def test_goodbyes_are_answered_and_the_queue_is_flushed_after_the_first_second(self):
        with FakeLns(self.folder, self.ca, "--close-after", "4") as lns:
            _, report = self.run_storm(lns, "--gateways", 10, "--uplink-interval", "200ms", "--duration", "9s")
            counts = lns.stop()
        self.assertEqual(report["close_codes"], {"1012": 10})
        self.assertEqual(counts["close_1012"], 10)
        self.assertEqual(counts["discovery"], 10)
        self.assertEqual(counts["data"], 20)
        self.assertGreater(report["uplinks"]["flushed_after_outage"], 20)
        self.assertEqual(report["uplinks"]["lost_queue_full"], 0)

    def test_refused_credentials_send_it_back_to_discovery_after_ten_seconds(self):
        with FakeLns(self.folder, self.ca, "--token", "Bearer right") as lns:
            _, wrong = self.run_storm(lns, "--gateways", 3, "--duration", "3s", "--token", "Authorization: Bearer wrong")
            status, right = self.run_storm(lns, "--gateways", 3, "--duration", "10s", "--stop-when-connected", "--token",
                                           "Authorization: Bearer right", "--expect-connected", "100%")
        self.assertEqual(wrong["discovery"]["failures"], {"status": 6})  # at once, again after min(0, 6) * 10 s
        self.assertEqual(status, 0)
        self.assertEqual(right["in_service"], 3)

    def test_an_untrusted_certificate_is_refused(self):
        other = Ca(self.folder / "other")
        with FakeLns(self.folder, self.ca) as lns:
            _, report = storm("run", self.folder, "--url", lns.url, "--ca", other.file, "--gateways", 2, "--duration", "2s")
        self.assertEqual(report["in_service"], 0)
        self.assertEqual(set(report["discovery"]["failures"]), {"closed_early"})

    def test_reconnect_counts_only_what_followed_the_cut(self):
        with FakeLns(self.folder, self.ca) as lns:
            status, report = self.run_storm(lns, "--gateways", 20, "--calm", "500ms", "--expect-connected", "100%", scenario="reconnect")
        self.assertEqual(status, 0)
        self.assertEqual(report["affected"], 20)
        self.assertEqual(report["connects"], 20)
        self.assertGreaterEqual(report["seconds_to_50"], 1)
        self.assertEqual(report["data"]["failures"], {"closed": 20})

    def test_a_fleet_that_never_assembles_is_an_error(self):
        with FakeLns(self.folder, self.ca, "--refuse") as lns:
            ended = subprocess.run([STORM, "reconnect", "--url", lns.url, "--ca", self.ca.file, "--settle", "1s"], capture_output=True, text=True,
                                   timeout=seconds(30), check=False)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--settle", ended.stderr)


@unittest.skipUnless(Path(os.environ.get("SM_BIN", "")).is_file(), "the server is not built")
class AgainstTheServer(unittest.TestCase):
    GATEWAYS = 50

    def setUp(self):
        folder = Folder()
        self.addCleanup(folder.remove)
        self.folder = folder.path

    def common(self, server):
        return ["--url", server.uri(), "--ca", server.ca.file, "--gateways", self.GATEWAYS, "--expect-connected", "100%"]

    def test_every_uplink_of_fifty_stations_arrives_once(self):
        with Server() as server:
            log = self.folder / "uplinks.log"
            status, report = storm("run", self.folder, *self.common(server), "--uplink-interval", "500ms", "--duration", "6s", "--uplink-log", log)
            self.assertEqual(status, 0)
            self.assertEqual(report["in_service"], self.GATEWAYS)
            self.assertEqual(report["wasted_handshakes"], 0)
            self.assertEqual(report["messages_ignored"], 0)
            self.assertEqual(set(report["groups"]) - {"X25519", "P-256", "prime256v1"}, set())
            sent = {tuple(line.split()[1:3]) for line in log.read_text().splitlines()}
            self.assertGreater(len(sent), 200)
            seen = wait_until(lambda: self.arrived(server) if len(self.arrived(server)) >= len(sent) else None, 10, "all uplinks arrive")
        self.assertEqual(len(seen), len(set(seen)))
        self.assertEqual(set(seen), sent)

    @staticmethod
    def arrived(server):
        """(DevAddr, FCnt) of every data uplink."""
        result = []
        for event in server.events(event="up", type="updf"):
            phy = bytes.fromhex(event["phy"])
            result.append((phy[4:0:-1].hex().upper(), str(int.from_bytes(phy[6:8], "little"))))
        return result

    def test_a_killed_server_gets_every_station_back(self):
        with Server() as server:
            storm_process = Process("storm", [STORM, "run", "--no-progress", "--json", self.folder / "summary.json", *self.common(server),
                                              "--uplink-interval", "1s", "--duration", "20s"], self.folder).start()
            wait_until(lambda: len(server.events(event="connect")) == self.GATEWAYS, 10, "all stations connect")
            server.restart(how=9)
            wait_until(lambda: len(server.events(event="connect")) >= 2 * self.GATEWAYS, 15, "all stations come back")
            self.assertEqual(storm_process.wait(40), 0, storm_process.tail())
            report = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual(report["in_service"], self.GATEWAYS)
        self.assertEqual(report["outages"]["most_per_gateway"], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
