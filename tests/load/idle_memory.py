"""Resident bytes per idle wss gateway, server side; beside it the same for a bare OpenSSL server.

Every gateway went through discovery, has its router_config, and then says nothing. What the first connects cost once
(code pages, tables, arenas) is taken before the count begins.
"""

import time

from bench import resident_bytes, say, settle_memory
from processes import wait_until

WARM_UP = 64
# Slow enough that few handshakes are in flight: their memory, once freed, would be counted as the gateways'.
GATEWAYS_PER_SECOND = 200


def add_options(parser):
    parser.add_argument("--gateways", type=int, default=5000)


def measure(bench, options):
    server = bench.server()
    try:
        figure = per_gateway(bench, "server", server.process.pid, server.port(), options.gateways)
    finally:
        server.stop()
    floor = bench.floor()
    floor_bytes = per_gateway(bench, "floor", floor.pid, floor.port, options.gateways)
    floor.terminate()
    return {"gateways": options.gateways, "bytes_per_gateway": figure, "floor_bytes": floor_bytes, "ratio": round(figure / floor_bytes, 3)}


def per_gateway(bench, side, pid, port, gateways):
    bench.connect(port, "full", WARM_UP, "--in-flight", 8 if side == "floor" else WARM_UP)
    before = settle_memory(pid)
    storm = bench.start_storm("run", "--url", f"wss://localhost:{port}", "--ca", bench.ca.file, "--gateways", gateways, "--uplink-interval", 0,
                              "--ramp", f"{gateways / GATEWAYS_PER_SECOND}s", "--duration", 0, name=f"idle-{side}")
    everybody = f"in service {gateways}/{gateways}"
    wait_until(lambda: everybody in storm.err.read_text(errors="replace"), 60 + gateways / 20, f"{gateways} gateways in service")
    after = settle_memory(pid)
    storm.signal(15)
    storm.wait(60)
    time.sleep(1)
    say(f"{side}: {before} → {after} bytes with {gateways} gateways; {resident_bytes(pid)} after they left")
    return round((after - before) / gateways)
