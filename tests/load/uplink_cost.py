"""Server CPU per uplink, wss to console line, and the latency p50/p99 at 1,000/s and 10,000/s over 1,000 gateways.

The latency runs from the moment a simulated gateway hands the frame to its socket until the line has been read from the
server's pipe. The floor is the bare server copying the same texts to the same kind of pipe.
"""

import os
import re
import threading
import time

from bench import cpu_seconds, quantile, say
from processes import wait_until

LINE = re.compile(rb'"phy":"[48]0([0-9a-f]{8})..([0-9a-f]{4})')
FLOOR_LINE = re.compile(rb'"DevAddr":(-?\d+),"FCtrl":\d+,"FCnt":(\d+),')


def add_options(parser):
    parser.add_argument("--gateways", type=int, default=1000)
    parser.add_argument("--rates", default="1000,10000", help="uplinks per second, the last one gives the figure")
    parser.add_argument("--seconds", type=float, default=15, help="per rate")


class Pipe:
    """Reads a named pipe in a thread; remembers what came when, and looks at it later."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.chunks, self.lines = path, [], 0
        self.descriptor = os.open(path, os.O_RDWR)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while True:
            data = os.read(self.descriptor, 1 << 20)
            self.chunks.append((time.time(), data))
            self.lines += data.count(b"\n")

    def arrivals(self, pattern, key):
        """{key of a line: when it was complete}."""
        found, rest = {}, b""
        for at, data in self.chunks:
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                match = pattern.search(line)
                if match:
                    found[key(match)] = at
        return found


def server_key(match):
    return int.from_bytes(bytes.fromhex(match[1].decode()), "little"), int.from_bytes(bytes.fromhex(match[2].decode()), "little")


def floor_key(match):
    return int(match[1]) & 0xFFFFFFFF, int(match[2])


def measure(bench, options):
    rates = [int(rate) for rate in options.rates.split(",")]
    result = {}
    for side in ("server", "floor"):
        for rate in rates:
            result[side, rate] = one(bench, side, rate, options)
    top = rates[-1]
    figure, floor = result["server", top], result["floor", top]
    figures = {"us_per_uplink": figure["us"], "floor_us": floor and floor["us"], "ratio": floor and round(figure["us"] / floor["us"], 3),
               "gateways": options.gateways}
    for rate in rates:
        figures[f"at_{rate}"] = result["server", rate]
        figures[f"floor_at_{rate}"] = result["floor", rate]
    return figures


def one(bench, side, rate, options):
    name = f"{side}-{rate}"
    pipe = Pipe(bench.folder / f"{name}.pipe")
    if side == "server":
        server = bench.server({"upstream": {"kind": "console", "path": str(pipe.path)}})
        pid, port, pattern, key, stop = server.process.pid, server.port(), LINE, server_key, server.stop
    else:
        floor = bench.floor("--lines", pipe.path)
        pid, port, pattern, key, stop = floor.pid, floor.port, FLOOR_LINE, floor_key, floor.terminate
    log = bench.folder / f"{name}.log"
    storm = bench.start_storm("run", "--url", f"wss://localhost:{port}", "--ca", bench.ca.file, "--gateways", options.gateways,
                              "--uplink-interval", f"{options.gateways / rate}s", "--joins", 0, "--ramp", "2s", "--duration", 0,
                              "--uplink-log", log, name=name)
    try:
        everybody = f"in service {options.gateways}/{options.gateways}"
        wait_until(lambda: everybody in storm.err.read_text(errors="replace"), 60, f"{options.gateways} gateways in service")
        time.sleep(1)
        cpu, lines, began, utc = cpu_seconds(pid), pipe.lines, time.monotonic(), time.time()
        time.sleep(options.seconds)
        cpu, lines, took, until = cpu_seconds(pid) - cpu, pipe.lines - lines, time.monotonic() - began, time.time()
    finally:
        storm.signal(15)
        storm.wait(30)
        time.sleep(0.5)
        stop()
    sent = {}
    for line in log.read_text().splitlines():
        at, address, counter, _ = line.split()
        if utc <= int(at) / 1e6 <= until - 1:
            sent[int(address, 16), int(counter) & 0xFFFF] = int(at) / 1e6
    arrivals = pipe.arrivals(pattern, key)
    latencies = sorted((arrivals[who] - at) * 1e3 for who, at in sent.items() if who in arrivals)
    if not latencies:
        if side == "floor":
            say("the floor server writes no lines (--lines): no floor for this benchmark")
            return None
        raise RuntimeError(f"no uplink came out of the server; {lines} lines, {len(sent)} sent")
    figures = {"us": round(cpu * 1e6 / lines, 2), "per_second": round(lines / took), "p50_ms": round(quantile(latencies, 0.5), 3),
               "p99_ms": round(quantile(latencies, 0.99), 3), "lost": len(sent) - len(latencies)}
    say(f"{name}: {figures}")
    return figures
