"""What every benchmark needs: the binaries, processes pinned to cores, their CPU time and memory read in the same way."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from certificates import Ca
from processes import Folder, Process, wait_until
from server import Server, merged

ROOT = Path(__file__).resolve().parent.parent.parent


def say(text):
    print(text, file=sys.stderr, flush=True)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def quantile(ascending, share):
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))] if ascending else None


def pinned(core, command):
    """The command on one core only; `core` None leaves the choice to the kernel."""
    return [str(part) for part in command] if core is None else ["taskset", "-c", str(core), *map(str, command)]


def cpu_seconds(pid):
    """User and system time of all threads, in nanosecond resolution where the kernel offers it."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return _stat_seconds(pid)
    return total / 1e9


def _stat_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no Rss in smaps_rollup")


def descriptor_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Bench:
    """Binaries, a folder, a CA, and the two cores: servers on the first, clients on the second."""

    def __init__(self):
        self.build = Path(os.environ.get("SM_BUILD", ROOT / "build" / "release")).resolve()
        self.stationmaster = self._binary("server/stationmaster")
        self.storm = self._binary("tests/storm/station-storm")
        self.floor_server = self._binary("tests/load/floor_server")
        self.connect_client = self._binary("tests/load/connect_client")
        cores = sorted(os.sched_getaffinity(0))
        self.server_core, self.client_core = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
        self.descriptors = descriptor_limit()

    def _binary(self, name):
        path = self.build / name
        if not path.exists():
            raise SystemExit(f"{path} does not exist: build it (cmake --preset release; cmake --build --preset release) or set SM_BUILD")
        return path

    def __enter__(self):
        self._folder = Folder("sm-load-")
        self.folder = self._folder.path
        self.ca = Ca(self.folder / "ca")
        self._ending = []
        if self.client_core is not None:
            os.sched_setaffinity(0, {self.client_core})
        return self

    def __exit__(self, *_):
        for process in self._ending:
            process.kill()
        self._folder.remove()

    def certificate(self, kind="ecdsa"):
        return self.ca.server(name="bench", kind=kind, dns=("localhost", "127.0.0.1"))

    def server(self, config=None, kind="ecdsa", core="server", instance="a"):
        """A stationmaster with one shard and one lobby thread on the server's core, quiet, events to nowhere."""
        changes = {
            "service": "bench",
            "instance": {"id": f"bench-{instance}", "shards": 1, "lobby_threads": 1},
            "tls": {"certificates": [self.certificate(kind).config()]},
            "upstream": {"kind": "console", "path": "/dev/null"},
            "log": {"level": "warn"},
        }
        started = Server(merged(changes, config or {}), ca=self.ca, binary=str(self.stationmaster), start=False)
        started.process.command = pinned(self.server_core if core == "server" else core, started.process.command)
        self._ending.append(started.process)
        started.start()
        return started

    def floor(self, *arguments, kind="ecdsa"):
        """The bare server on the same core; its port is `port`."""
        pair = self.certificate(kind)
        process = Process("floor", pinned(self.server_core, [self.floor_server, "--certificate", pair.certificate, "--key", pair.key,
                                                             *arguments]), self.folder)
        process.out.unlink(missing_ok=True)
        process.start()
        self._ending.append(process)
        wait_until(lambda: process.out.exists() and process.out.read_text().startswith("{"), 10, "the floor server listens")
        process.port = json.loads(process.out.read_text().splitlines()[0])["port"]
        return process

    def connect(self, port, mode, count, *arguments):
        """Runs connect_client to its end; its last line."""
        ended = subprocess.run(self._connect_command(port, mode, count, arguments), capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise RuntimeError(f"connect_client failed\n{ended.stdout}\n{ended.stderr}")
        return json.loads(ended.stdout.splitlines()[-1])

    def hold(self, port, count, *arguments):
        """connect_client with `count` gateways that stay; end with its stdin."""
        child = subprocess.Popen(self._connect_command(port, "hold", count, arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = child.stdout.readline()
        if "ready" not in line:
            child.kill()
            raise RuntimeError(f"connect_client does not hold: {line}{child.stdout.read()}")
        return child

    def _connect_command(self, port, mode, count, arguments):
        return pinned(self.client_core, [self.connect_client, "--port", port, "--mode", mode, "--count", count, "--ca", self.ca.file, *arguments])

    def start_storm(self, scenario, *arguments, name="storm"):
        process = Process(name, pinned(self.client_core, [self.storm, scenario, "--json", self.folder / f"{name}.json", *arguments]), self.folder)
        self._ending.append(process)
        return process.start()

    def storm_report(self, process, within=600):
        status = process.wait(within)
        report = self.folder / f"{process.name}.json"
        if not report.exists():
            raise RuntimeError(f"station-storm ended with {status}\n{process.tail()}")
        return json.loads(report.read_text())


def settle_memory(pid, quiet=1.0, within=20):
    """Resident bytes once they have stopped moving by more than a page in a thousand."""
    last, since, end = resident_bytes(pid), time.monotonic(), time.monotonic() + within
    while time.monotonic() - since < quiet and time.monotonic() < end:
        time.sleep(0.1)
        value = resident_bytes(pid)
        if abs(value - last) > last / 1000:
            last, since = value, time.monotonic()
    return resident_bytes(pid)
