"""Who is registered, and what they must show: file and HTTP registries, credentials, changes, a registry in trouble."""

import asyncio
import json
import os
import signal
import unittest

from harness import Rejected, Server, Station, wait_until
from registry_stub import RegistryStub

G1, G2, GX = 0x02ABC0FFFE102030, 0x009000000000AE17, 0x0D15EA5E00000099
TOKEN = "gw1-7Qd2xkV0pLm"
T1 = {"Authorization": f"Bearer {TOKEN}"}
# A data frame of ABP device 01A2B3C4; only its envelope matters here.
UPLINK = {"msgtype": "updf", "MHdr": 64, "DevAddr": 27440068, "FCtrl": 0, "FCnt": 1, "FOpts": "", "FPort": 1, "FRMPayload": "AB",
          "MIC": 1, "DR": 5, "Freq": 868100000, "RefTime": 0, "upinfo": {"rctx": 0, "xtime": 17732923532771331, "gpstime": 0,
                                                                       "fts": -1, "rssi": -50, "snr": 9, "rxtime": 0}}


def file_registry(server_config=None, text="gateways: []\n"):
    """A server over a gateways file that is not started yet, and a function that writes the file."""
    server = Server({"registry": {"kind": "file", "path": "gateways.yaml"}, **(server_config or {})}, start=False)
    path = server.folder / "gateways.yaml"
    server.config["registry"]["path"] = str(path)

    def write(content):
        aside = path.with_suffix(".new")
        aside.write_text(content)
        os.replace(aside, path)

    write(text)
    return server, write


def gateway(eui, **members):
    return json.dumps({"eui": f"{eui:016x}", **members})


class FileRegistry(unittest.IsolatedAsyncioTestCase):
    async def refused(self, station):
        """Discovery is refused: 401 before the 101, or an `error` after it; never a uri."""
        try:
            answer = await station.discover()
        except Rejected as rejected:
            self.assertIn(rejected.status, (400, 401, 403))
            return
        self.assertTrue(answer.get("error"))
        self.assertNotIn("uri", answer)

    async def test_each_form_of_the_token(self):
        server, _ = file_registry(text=f"gateways: [{gateway(G1, token=TOKEN)}, {gateway(G2, token='another')}]")
        with server.start():
            base = server.uri(tls=False)
            for headers in (T1, {"Authorization": TOKEN}, {"authorization": f"bearer {TOKEN}"},
                            {"AUTHORIZATION": f"  BEARER   {TOKEN}  "}, {"X-Tenant": "t-04", **T1}):
                async with Station(base, G1, headers=headers):
                    pass
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}, {"X-Gateway-Key": TOKEN},
                            [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer other")]):
                await self.refused(Station(base, G1, headers=headers))
            # Another gateway's token is no token.
            await self.refused(Station(base, G2, headers=T1))
            await self.refused(Station(base, GX, headers=T1))
            self.assertNotIn(TOKEN, server.log_file.read_text())

    async def test_wrong_credentials_never_evict_the_rightful_session(self):
        server, _ = file_registry(text=f"gateways: [{gateway(G1, token=TOKEN)}]")
        with server.start():
            base = server.uri(tls=False)
            async with Station(base, G1, headers=T1) as rightful:
                thief = Station(base, G1, headers={"Authorization": "Bearer wrong"})
                try:
                    await thief._open(rightful.uri, 10)
                    self.assertEqual(await asyncio.wait_for(thief.socket.wait_closed(), 10), None)
                except Rejected as rejected:
                    self.assertIn(rejected.status, (401, 403))
                await rightful.send({"msgtype": "timesync", "txtime": 7})
                self.assertEqual((await rightful.receive("timesync"))["txtime"], 7)

    async def test_deleted_and_registered_again_by_somebody_else(self):
        server, write = file_registry(text=f"gateways: [{gateway(G1, token=TOKEN, tenant='first')}]")
        with server.start():
            base = server.uri(tls=False)
            station = Station(base, G1, headers=T1)
            await station.connect()
            write("gateways: []\n")
            self.assertEqual(await station.closed(within=10), 1008)
            await self.refused(Station(base, G1, headers=T1))

            write(f"gateways: [{gateway(G1, token='second-token', tenant='second')}]")
            await asyncio.to_thread(wait_until, lambda: server.log(event="gateways_file_read", gateways=1)[1:], 10, "the file is read again")
            await self.refused(Station(base, G1, headers=T1))
            async with Station(base, G1, headers={"Authorization": "second-token"}) as station:
                await station.send(UPLINK)
                self.assertEqual((await server.event(event="up", within=20))["tenant"], "second")

    async def test_a_bad_file_keeps_the_old_one_and_says_what_is_wrong(self):
        server, write = file_registry(text=f"gateways: [{gateway(G1)}]")
        with server.start():
            base = server.uri(tls=False)
            async with Station(base, G1) as station:
                write("gateways:\n  - eui: 02abc0fffe102030\n  - eui: nonsense\n    plam: x\n")
                line = await asyncio.to_thread(server.wait_log, event="gateways_file_refused")
                self.assertTrue(line["old_in_force"])
                problems = await asyncio.to_thread(wait_until, lambda: server.log(event="gateways_file_problem")[1:] and
                                                   server.log(event="gateways_file_problem"), 5, "both problems")
                text = " ".join(one["problem"] for one in problems)
                self.assertIn(":3:", text)
                self.assertIn(":4:", text)
                await station.send({"msgtype": "timesync", "txtime": 1})
                await station.receive("timesync")
            async with Station(base, G1):
                pass

    async def test_a_broken_file_at_the_start_serves_what_the_store_knows(self):
        server, write = file_registry(text=f"gateways: [{gateway(G1, token=TOKEN)}]")
        with server.start():
            async with Station(server.uri(tls=False), G1, headers=T1):
                pass
            await asyncio.to_thread(wait_until, lambda: server.metric("stationmaster_store_records_written_total") > 0, 10, "stored")
            write("gateways: [\n")
            server.restart(signal.SIGKILL)
            async with Station(server.uri(tls=False), G1, headers=T1):
                pass
            await self.refused(Station(server.uri(tls=False), G1, headers={"Authorization": "Bearer wrong"}))


class HttpRegistry(unittest.IsolatedAsyncioTestCase):
    def server(self, registry, **settings):
        return Server({"registry": {"kind": "http", "http": {"url": registry.url, "token": "s3cret"}, "timeout": "2s", **settings}})

    async def test_found_and_unknown(self):
        with RegistryStub(token="s3cret") as registry, self.server(registry) as server:
            registry.add(G1, tenant="acme", credential={"tokens": [TOKEN]})
            async with Station(server.uri(tls=False), G1, headers=T1):
                pass
            answer = await Station(server.uri(tls=False), GX).discover()
            self.assertTrue(answer["error"])
            self.assertNotIn("s3cret", server.log_file.read_text())

    async def test_trouble_is_never_told_to_a_gateway(self):
        for fault in ("status", "hang", "cut", "html404"):
            with self.subTest(fault), RegistryStub(token="s3cret") as registry, self.server(registry) as server:
                registry.add(G1)
                registry.fault = fault
                discovery = asyncio.create_task(Station(server.uri(tls=False), G1).discover(within=60))
                await asyncio.to_thread(wait_until, lambda: registry.calls >= 2, 20, "the registry is asked again")
                self.assertFalse(discovery.done())
                registry.fault = ""
                answer = await discovery
                self.assertNotIn("error", answer)
                self.assertIn("uri", answer)

    async def test_known_gateways_need_no_registry_after_kill_9(self):
        count = 60
        with RegistryStub(token="s3cret") as registry, self.server(registry) as server:
            for eui in range(1, count + 1):
                registry.add(eui, tenant=f"t{eui % 3}", credential={"tokens": [f"token-{eui}"]})

            async def everybody():
                stations = [Station(server.uri(tls=False), eui, headers={"Authorization": f"token-{eui}"}) for eui in range(1, count + 1)]
                await asyncio.gather(*(station.connect(within=90) for station in stations))
                return stations

            stations = await everybody()
            await asyncio.to_thread(wait_until, lambda: server.metric("stationmaster_store_records_written_total") >= 2 * count, 20, "stored")
            for latency, fault in ((0.5, ""), (0, "hang")):
                server.restart(signal.SIGKILL)
                registry.latency, registry.fault, registry.calls = latency, fault, 0
                for station in stations:
                    station.abort()
                stations = await everybody()
                self.assertEqual(registry.calls, 0)
            for station in stations:
                station.abort()

    async def test_a_change_reaches_the_connected_gateway(self):
        with RegistryStub(token="s3cret") as registry, self.server(registry, fresh_for="1s") as server:
            registry.add(G1)
            station = Station(server.uri(tls=False), G1)
            await station.connect()
            registry.remove(G1)
            self.assertEqual(await station.closed(within=10), 1008)
            self.assertTrue((await Station(server.uri(tls=False), G1).discover())["error"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
