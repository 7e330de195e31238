"""Processes, ports and waiting: what every integration test needs around the server."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# Sanitizers slow everything down; CTest tells by how much.
FACTOR = float(os.environ.get("SM_TEST_FACTOR", "1"))
SANITIZER_REPORTS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer", "runtime error:")


def seconds(plain):
    """A deadline that holds under sanitizers too."""
    return plain * FACTOR


def wait_until(condition, within, what, every=0.02):
    """The first true value of `condition()`; AssertionError naming `what` when it does not come in time."""
    end = time.monotonic() + seconds(within)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds(within):g} s: {what}")
        time.sleep(every)


def free_port():
    """A port nobody uses now. It may be taken before it is used: start with a retry, or use port 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_is_open(port, host="127.0.0.1"):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


class Folder:
    """A folder that goes away with the test; kept when SM_KEEP is set."""

    def __init__(self, prefix="sm-test-"):
        self.path = Path(tempfile.mkdtemp(prefix=prefix))

    def remove(self):
        if not os.environ.get("SM_KEEP"):
            shutil.rmtree(self.path, ignore_errors=True)


class Process:
    """A child in its own process group, its output in files. Ends with the test, whatever happens."""

    def __init__(self, name, command, folder, env=None):
        self.name, self.command, self.folder = name, [str(part) for part in command], Path(folder)
        self.env = {**os.environ, **(env or {})}
        self.out, self.err = self.folder / f"{name}.out", self.folder / f"{name}.err"
        self.child = None

    def start(self):
        # Appended: a restarted process must not hide what its predecessor said.
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.child = subprocess.Popen(self.command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                          stderr=err, start_new_session=True)
        return self

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child is not None and self.child.poll() is None

    def wait(self, within):
        """The exit status."""
        try:
            return self.child.wait(seconds(within))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds(within):g} s\n{self.tail()}") from None

    def signal(self, number):
        if self.running():
            os.kill(self.child.pid, number)

    def kill(self):
        """SIGKILL for the whole group."""
        if self.child is None:
            return
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()

    def terminate(self, within=20):
        """SIGTERM, the exit status; SIGKILL and AssertionError when it takes too long."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait(within)
        finally:
            self.kill()

    def tail(self, lines=60):
        text = self.err.read_text(errors="replace") if self.err.exists() else ""
        return f"--- {self.name}, end of stderr ---\n" + "\n".join(text.splitlines()[-lines:])

    def assert_clean(self):
        """No sanitizer has found anything."""
        text = self.err.read_text(errors="replace") if self.err.exists() else ""
        for report in SANITIZER_REPORTS:
            assert report not in text, f"{self.name}: sanitizer report\n{text[text.find(report):][:6000]}"

    def __enter__(self):
        return self if self.child else self.start()

    def __exit__(self, *_):
        self.kill()


def start_daemon(name, make_command, folder, env=None, within=15):
    """A broker or database on a free port: make_command(port) → command. Returns (Process, port) once the port is open; tries
    another port where that one was taken meanwhile."""
    for _ in range(5):
        port = free_port()
        process = Process(name, make_command(port), folder, env).start()
        try:
            wait_until(lambda: port_is_open(port) or not process.running(), within, f"{name} listens on {port}")
        except AssertionError:
            process.kill()
            raise
        if process.running():
            return process, port
    raise AssertionError(f"{name} does not start\n{process.tail()}")
