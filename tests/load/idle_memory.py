"""Resident bytes per idle wss gateway, server side; beside it the same for a bare OpenSSL server.

Every gateway went through discovery, has its router_config, and then says nothing. What the first connects cost once
(code pages, tables, arenas) is taken before the count begins.
"""

from bench import resident_bytes, say, settle_memory

WARM_UP = 300


def add_options(parser):
    parser.add_argument("--gateways", type=int, default=5000)


def measure(bench, options):
    server = bench.server()
    try:
        figure = per_gateway(bench, server.process.pid, server.port(), options.gateways)
    finally:
        server.stop()
    floor = bench.floor()
    floor_bytes = per_gateway(bench, floor.pid, floor.port, options.gateways)
    floor.terminate()
    return {"gateways": options.gateways, "bytes_per_gateway": figure, "floor_bytes": floor_bytes, "ratio": round(figure / floor_bytes, 3)}


def per_gateway(bench, pid, port, gateways):
    bench.connect(port, "full", WARM_UP)
    before = settle_memory(pid)
    held = bench.hold(port, gateways)
    after = settle_memory(pid)
    held.stdin.close()
    held.wait()
    say(f"{before} → {after} bytes with {gateways} gateways; {resident_bytes(pid)} after they left")
    return round((after - before) / gateways)
