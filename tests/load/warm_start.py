#!/usr/bin/python3
"""Known gateways after kill -9, with a registry that is slow or silent; and a start with 100,000 gateways in the store.

    SM_BIN=.../stationmaster SM_STORM=.../station-storm SM_STORE_WRITER=.../store-writer PYTHONPATH=tests/support \\
        tests/load/warm_start.py [--gateways 10000] [--stored 100000] [--json FILE]

Exit status 1 when a budget is missed: one registry call on the way back, a gateway that does not come back within
--back-within seconds, or a start that takes longer than --ready-within seconds.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

from harness import Folder, Process, Server, wait_until
from registry_stub import RegistryStub


def connected(server):
    try:
        return int(server.metric("stationmaster_gateways_connected"))
    except OSError:
        return -1


def wait_connected(server, count, within):
    wait_until(lambda: connected(server) >= count, within, f"{count} gateways connected", every=0.2)


def reconnects(options):
    """Seconds until everybody is back after kill -9, and the registry's calls meanwhile: slow, then silent."""
    rows = []
    with RegistryStub() as registry, Server({
        "registry": {"kind": "http", "http": {"url": registry.url}, "timeout": "2s", "fresh_for": "1h"},
        "log": {"level": "warn"},
    }) as server:
        registry.everything = True
        storm = Process("storm", [os.environ["SM_STORM"], "run", "--url", server.uri(), "--ca", server.ca.file, "-n", options.gateways,
                                  "--uplink-interval", "0", "--duration", "0", "--no-progress"], server.folder)
        began = time.monotonic()
        storm.start()
        try:
            wait_connected(server, options.gateways, options.back_within)
            rows.append({"case": "first", "seconds": round(time.monotonic() - began, 1), "registry_calls": registry.calls})
            wait_until(lambda: server.metric("stationmaster_store_records_written_total") >= 2 * options.gateways, 60, "all are in the store")
            for case, latency, fault in (("registry answers after 500 ms", 0.5, ""), ("registry silent", 0, "hang")):
                registry.latency, registry.fault, registry.calls = latency, fault, 0
                began = time.monotonic()
                server.restart(signal.SIGKILL)
                wait_connected(server, options.gateways, options.back_within)
                rows.append({"case": f"kill -9, {case}", "seconds": round(time.monotonic() - began, 1), "registry_calls": registry.calls})
        finally:
            storm.kill()
    return rows


def ready(options):
    """Seconds from exec to /readyz with a full store."""
    folder = Folder()
    try:
        writer = subprocess.Popen([os.environ["SM_STORE_WRITER"], folder.path / "data", "1", str(options.stored)], stdout=subprocess.PIPE,
                                  text=True)
        assert writer.stdout.readline().strip() == "1", "the store is not filled"
        writer.kill()
        writer.wait()
        server = Server({"registry": {"kind": "http", "http": {"url": "http://127.0.0.1:1"}}, "cache": {"path": str(folder.path / "data")}},
                        start=False)
        with server:
            began = time.monotonic()
            server.start()
            took = time.monotonic() - began
            line = server.wait_log(event="store_open")
        return [{"case": f"exec to ready, {options.stored} gateways in the store", "seconds": round(took, 3),
                 "store_open_seconds": round(line["took_s"], 3), "records": line["records"]}]
    finally:
        folder.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateways", type=int, default=10000)
    parser.add_argument("--stored", type=int, default=100000)
    parser.add_argument("--back-within", type=float, default=180)
    parser.add_argument("--ready-within", type=float, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    rows = ready(options) + reconnects(options)
    failed = [row for row in rows if row["case"].startswith("kill") and row["registry_calls"] > 0]
    failed += [row for row in rows if row["case"].startswith("exec") and row["seconds"] > options.ready_within]
    for row in rows:
        print("warm-start:", ", ".join(f"{name} {value}" for name, value in row.items()), "MISSED" if row in failed else "")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
