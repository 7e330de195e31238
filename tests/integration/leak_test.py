"""Connections that end in every way, thousands of times: descriptors, threads and memory stay where they were (C130).

SM_CYCLES sets the number of cycles (the full run is SM_CYCLES=100000); without it 3000, or what fits into half a minute."""

import os
import threading
import time
import unittest

from harness import (
    CLOSE, FACTOR, TEXT, VERSION, Gateway, RawStation, Server, close_payload, frame, garbage, message, request, row, seconds, settle, wait_until,
)

CYCLES = int(os.environ.get("SM_CYCLES", "3000"))
BUDGET = float("inf") if "SM_CYCLES" in os.environ else seconds(30)
WORKERS = 4
UPDF = message(row("uplinks_stock.jsonl", "updf-port10"))


def whole_life(server, context, number):
    """Discovery, traffic, version, uplink, close frame."""
    with Gateway.open(server, 0x5100000000000000 + number, context=context) as station:
        station.say(UPDF)
        station.send(frame(close_payload(1000), CLOSE))
        station.close_code()


def reset_after_tls(server, context, number):
    RawStation(server.port(), ssl=context).reset()


def reset_after_the_upgrade(server, context, number):
    station = RawStation(server.port(), ssl=context)
    station.send(request(f"/traffic/{0x5200000000000000 + number:016x}"))
    station.response()
    station.reset()


def reset_inside_a_frame(server, context, number):
    station = RawStation(server.port(), ssl=context)
    station.send(request(f"/traffic/{0x5300000000000000 + number:016x}"))
    station.response()
    station.send(frame(VERSION) + frame(UPDF)[:30])
    station.reset()


def end_of_stream_after_version(server, context, number):
    station = RawStation(server.port(), ssl=context)
    station.send(request(f"/traffic/{0x5400000000000000 + number:016x}"))
    station.response()
    station.send(frame(VERSION))
    station.close()


def malformed(server, context, number):
    """One of several things that are no gateway."""
    kind = number % 5
    if kind == 0:
        with RawStation(server.port()) as station:
            station.send(garbage(100))
            station.ends()
    elif kind == 1:
        with RawStation(server.port(False)) as station:
            station.send(b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
            station.ends()
    elif kind == 2:
        with RawStation(server.port(False)) as station:
            station.upgrade("/router-info")
            station.send(frame("{]"))
            station.close_code()
    elif kind == 3:
        with RawStation(server.port(False)) as station:
            station.upgrade(f"/traffic/{0x5500000000000000 + number:016x}")
            station.send(frame(VERSION) + frame(b"\xff", TEXT, rsv=7))
            station.ends()
    else:
        RawStation(server.port(False)).reset()


WAYS = (whole_life, reset_after_tls, reset_after_the_upgrade, reset_inside_a_frame, end_of_stream_after_version, malformed)


class Leaks(unittest.TestCase):
    def cycles(self, server, context, count, first):
        """Up to `count` cycles, the ways in turn, from several threads; how many there were."""
        failures, lock, numbers = [], threading.Lock(), iter(range(first, first + count))
        end, done = time.monotonic() + BUDGET, []

        def work():
            while not failures:
                with lock:
                    number = next(numbers, None)
                if number is None or time.monotonic() > end:
                    return
                try:
                    WAYS[number % len(WAYS)](server, context, number)
                    done.append(number)
                except Exception as error:  # pylint: disable=broad-except
                    failures.append((WAYS[number % len(WAYS)].__name__, repr(error)))

        workers = [threading.Thread(target=work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(failures, [])
        self.assertGreater(len(done), 2 * len(WAYS))
        return len(done)

    def rested(self, server):
        """Descriptors once every connection is gone."""
        self.wait_for_the_last(server)
        best = server.descriptors()
        end = time.monotonic() + seconds(40)
        while best > self.descriptors + 10 and time.monotonic() < end:
            time.sleep(0.2)
            best = min(best, server.descriptors())
        return best

    def test_nothing_is_left_behind(self):
        with Server({"log": {"level": "error"}, "listen": {"handshake_timeout": "5s"}}) as server:
            server.listeners()
            context = server.ca.context()
            # Pools, caches and the memory of the allocator fill first.
            self.cycles(server, context, max(CYCLES // 3, 100), 0)
            self.descriptors = self.quietest(server)
            threads, memory = server.threads(), server.resident_bytes()
            count = self.cycles(server, context, CYCLES, 1_000_000)
            self.assertLessEqual(self.rested(server), self.descriptors + 10)
            self.assertLessEqual(server.threads(), threads)
            grown = server.resident_bytes() - memory
            # What is remembered of each EUI that came once is part of the service, 1 KiB at most; the rest is slack.
            self.assertLess(grown, (16 << 20) * FACTOR + count * 1024, f"{grown} bytes after {count} cycles")
            self.assertGreater(server.metric("stationmaster_sessions_ended_total", reason="peer_gone"), 0)
            self.assertGreater(server.metric("stationmaster_sessions_ended_total", reason="peer_closed"), 0)

    def quietest(self, server):
        """Descriptors before: no connection and no handshake is under way any more."""
        self.wait_for_the_last(server)
        return settle(server.descriptors, within=30, quiet=1)

    def wait_for_the_last(self, server):
        def over():
            return (server.metric("stationmaster_sessions_open") == 0 and server.metric("stationmaster_discovery_open") == 0
                    and server.status()["admission"]["in_flight"] == 0)

        wait_until(over, 40, "no connection is left", every=0.2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
