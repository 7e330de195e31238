"""A stationmaster for one test: own folder, own certificates, free ports."""

import asyncio
import copy
import http.client
import json
import os
import signal
import time
import urllib.parse

from certificates import Ca
from processes import Folder, Process, free_port, wait_until


def merged(base, changes):
    """`base` with `changes` put in; mappings are merged, everything else is replaced, None removes."""
    result = copy.deepcopy(base)
    for key, value in (changes or {}).items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


class Answer:
    """What the admin API said."""

    def __init__(self, status, body, headers):
        self.status, self.body, self.headers = status, body, headers

    def json(self):
        return json.loads(self.body)


class Server:
    """`config` is merged over a base of ws and wss on free ports of loopback, ECDSA and RSA certificates, events and log as
    JSON lines in files. Use as a context manager: leaving it ends the server and looks for sanitizer reports."""

    def __init__(self, config=None, *, env=None, ca=None, binary=None, start=True):
        self._folder = Folder()
        self.folder = self._folder.path
        self.ca = ca or Ca(self.folder / "ca")
        self.events_file, self.log_file = self.folder / "events.jsonl", self.folder / "log.jsonl"
        self.admin_port = None
        self._listeners = None
        base = {
            "service": "test",
            "instance": {"id": "test-a", "shards": 2, "lobby_threads": 1},
            "listen": {"gateways": [{"address": "127.0.0.1:0", "tls": False}, {"address": "127.0.0.1:0", "tls": True}]},
            "tls": {"certificates": [self.ca.server().config(), self.ca.server(kind="rsa").config()]},
            "cache": {"path": str(self.folder / "data")},
            "upstream": {"kind": "console", "path": str(self.events_file)},
            "log": {"level": "debug", "format": "json", "path": str(self.log_file)},
        }
        self.config = merged(base, config)
        self.config_file = self.folder / "stationmaster.yaml"
        self.process = Process("stationmaster", [binary or os.environ["SM_BIN"], "serve", "--config", self.config_file], self.folder, env)
        if start:
            self.start()

    # Life

    def start(self, ready=True, within=20):
        """Starts on a free admin port; another one where it was taken between choosing and binding."""
        for _ in range(3):
            if "address" not in self.config.get("admin", {}):
                self.admin_port = free_port()
            else:
                self.admin_port = int(self.config["admin"]["address"].rpartition(":")[2])
            written = merged(self.config, {"admin": {"address": self.config.get("admin", {}).get("address", f"127.0.0.1:{self.admin_port}")}})
            self.config_file.write_text(json.dumps(written, indent=1))
            self.process.start()
            if not ready:
                return self
            wait_until(lambda: self.ready() or not self.process.running(), within, f"/readyz is 200\n{self.process.tail()}")
            if self.process.running():
                self._listeners = None
                return self
        raise AssertionError(f"stationmaster does not start\n{self.process.tail()}\n{self.log_tail()}")

    def stop(self, expect=0, within=20):
        """SIGTERM; its exit status must be `expect`."""
        status = self.process.terminate(within)
        self.process.assert_clean()
        assert status == expect, f"stationmaster ended with {status}, not {expect}\n{self.process.tail()}\n{self.log_tail()}"

    def kill(self):
        self.process.kill()

    def restart(self, how=signal.SIGTERM):
        """Ends and starts again, on the same ports."""
        listeners = self.listeners()
        if how == signal.SIGTERM:
            self.stop()
        else:
            self.process.signal(how)
            self.process.wait(20)
        gateways = self.config["listen"]["gateways"]
        for entry, bound in zip(gateways, listeners):
            entry["address"] = f"{entry['address'].rpartition(':')[0]}:{bound['port']}"
        self.config["admin"] = merged(self.config.get("admin", {}), {"address": f"127.0.0.1:{self.admin_port}"})
        return self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if self.process.running() and kind is None:
                self.stop()
            elif self.process.child is not None and kind is None:
                self.process.assert_clean()
        finally:
            self.process.kill()
            if kind is not None:
                print(self.process.tail(), self.log_tail(), sep="\n")
            self._folder.remove()

    # Admin API

    def admin(self, path, method="GET", body=None, token=None, timeout=10):
        """One request; body may be anything JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=timeout)
        headers = {}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode(), dict(answer.getheaders()))
        finally:
            connection.close()

    def ready(self):
        try:
            return self.admin("/readyz").status == 200
        except OSError:
            return False

    def status(self):
        return self.admin("/api/v1/status").json()

    def gateways(self, **query):
        return self.admin("/api/v1/gateways?" + urllib.parse.urlencode(query)).json()

    def metric(self, name, **labels):
        """The value of one series, 0 where it does not exist."""
        for line in self.admin("/metrics").body.splitlines():
            series, _, value = line.rpartition(" ")
            if series.partition("{")[0] != name:
                continue
            inside = series.partition("{")[2].rstrip("}")
            found = dict(part.split("=", 1) for part in inside.split('",') if "=" in part)
            if all(found.get(key, "").strip('"') == str(want) for key, want in labels.items()):
                return float(value)
        return 0.0

    # Where gateways connect

    def listeners(self):
        """[{address, port, tls, lane}] in the order of the configuration, with the ports that were bound."""
        if self._listeners is None:
            self._listeners = self.status()["listeners"]
        return self._listeners

    def uri(self, tls=True, index=0):
        """ws://127.0.0.1:port or wss://localhost:port of the index-th such listener."""
        fitting = [one for one in self.listeners() if one["tls"] == tls]
        return f"wss://localhost:{fitting[index]['port']}" if tls else f"ws://127.0.0.1:{fitting[index]['port']}"

    def port(self, tls=True, index=0):
        return int(self.uri(tls, index).rpartition(":")[2])

    # What it wrote

    def events(self, **wanted):
        """The console upstream's lines, those whose fields equal `wanted`."""
        return list(_lines(self.events_file, wanted))

    def wait_event(self, within=10, count=1, **wanted):
        """The first `count` such events; one event where count is 1."""
        found = wait_until(lambda: len(self.events(**wanted)) >= count and self.events(**wanted), within, f"{count} event(s) {wanted}")
        return found[0] if count == 1 else found[:count]

    async def event(self, within=10, count=1, **wanted):
        """wait_event for coroutines: stations of the same loop stay alive meanwhile."""
        return await asyncio.to_thread(self.wait_event, within, count, **wanted)

    def log(self, **wanted):
        return list(_lines(self.log_file, wanted))

    def wait_log(self, within=10, **wanted):
        return wait_until(lambda: self.log(**wanted), within, f"log line {wanted}")[0]

    def log_tail(self, lines=40):
        text = self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
        return "--- end of log ---\n" + "\n".join(text.splitlines()[-lines:])

    # What it uses

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _lines(path, wanted):
    if not path.exists():
        return
    text = path.read_text(errors="replace")
    for line in text[: text.rfind("\n") + 1].splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            raise AssertionError(f"{path.name}: not one JSON object: {line}") from None
        if all(record.get(key) == value for key, value in wanted.items()):
            yield record


def settle(read, within=10, quiet=0.3):
    """The value of `read()` once it has not changed for `quiet` seconds."""
    last, since = read(), time.monotonic()

    def still():
        nonlocal last, since
        value = read()
        if value != last:
            last, since = value, time.monotonic()
        return time.monotonic() - since >= quiet

    wait_until(still, within, "a value that stays")
    return last
