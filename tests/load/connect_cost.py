"""Server CPU per connect (accept, TLS 1.2, upgrade) and per reconnect (discovery and traffic up to router_config).

64 in flight, from clients that offer curves in mbedTLS's order (P-521 first). Server and floor take turns, so that a
machine that gets slower is slower for both; the medians of the rounds are compared.
"""

from bench import cpu_seconds, median, say


def add_options(parser):
    parser.add_argument("--connects", type=int, default=4000, help="per round")
    parser.add_argument("--reconnects", type=int, default=640, help="per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--certificate", choices=("ecdsa", "rsa", "rsa:4096"), default="ecdsa")


def measure(bench, options):
    server = bench.server(kind=options.certificate)
    floor = bench.floor(kind=options.certificate)
    sides = {"server": (server.process.pid, server.port()), "floor": (floor.pid, floor.port)}
    cost = {(side, mode): [] for side in sides for mode in ("connect", "full")}
    group = ""
    try:
        for pid, port in sides.values():
            bench.connect(port, "full", 64, "--in-flight", options.in_flight)
        for turn in range(options.rounds):
            for mode, count in (("connect", options.connects), ("full", options.reconnects)):
                for side, (pid, port) in sides.items():
                    before = cpu_seconds(pid)
                    # EUIs of their own: a gateway that comes back at once would be taken for a looping one.
                    first = f"{0x0016C001F2000000 + turn * 0x100000:016x}"
                    report = bench.connect(port, mode, count, "--in-flight", options.in_flight, "--first-eui", first)
                    micros = (cpu_seconds(pid) - before) * 1e6 / count
                    cost[side, mode].append(micros)
                    group = report["group"]
                    say(f"round {turn + 1}: {side:6} {mode:7} {micros:7.1f} us  {report['per_second']:.0f}/s  p99 {report['p99_ms']} ms  {group}")
    finally:
        server.stop()
        floor.terminate()
    connect, full = median(cost["server", "connect"]), median(cost["server", "full"])
    floor_connect, floor_full = median(cost["floor", "connect"]), median(cost["floor", "full"])
    return {
        "us_per_connect": round(connect, 1), "us_per_reconnect": round(full, 1), "floor_us": round(floor_connect, 1),
        "ratio": round(connect / floor_connect, 3), "floor_reconnect_us": round(floor_full, 1),
        "reconnect_ratio": round(full / floor_full, 3), "group": group, "certificate": options.certificate,
    }
