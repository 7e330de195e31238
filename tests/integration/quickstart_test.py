"""deploy/quickstart with the programs of this build: uplinks appear, and nothing stays behind."""

import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from harness import Folder, port_is_open, seconds, wait_until

SCRIPT = Path(os.environ["SM_SOURCE_DIR"]) / "deploy/quickstart"
PORTS = (8886, 8887, 9100)


class Quickstart(unittest.TestCase):
    def setUp(self):
        if any(port_is_open(port) for port in PORTS):
            self.skipTest("the default ports are in use on this machine")
        self.folder = Folder()
        self.addCleanup(self.folder.remove)

    def start(self, **env):
        self.output = self.folder.path / "output"
        with self.output.open("wb") as output:
            child = subprocess.Popen([SCRIPT], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                     env={**os.environ, "SM_QUICKSTART_BUILD": os.environ["SM_BUILD_DIR"], "SM_TEST_MARK": self.id(), **env})
        self.addCleanup(self.kill_all, child)
        return child

    def processes(self):
        """Everything that this test has started, however far it has gone from its parent: {pid: command}."""
        mark = f"SM_TEST_MARK={self.id()}".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    def kill_all(self, child):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        child.wait()

    def text(self):
        return self.output.read_text(errors="replace")

    def assert_nothing_left(self):
        wait_until(lambda: not self.processes(), 10, f"no process is left of {self.processes()}")
        for port in PORTS:
            self.assertFalse(port_is_open(port), port)

    def test_it_shows_uplinks_and_ends_by_itself(self):
        child = self.start(SM_QUICKSTART_SECONDS=str(int(seconds(15))))
        self.assertEqual(child.wait(seconds(120)), 0, self.text())
        text = self.text()
        self.assertIn("http://127.0.0.1:9100", text)
        self.assertGreater(len(re.findall(r"(?m)^[0-9:.]{12}  uplink      [0-9a-f]{16}  86\d\.\d MHz  DR\d .*  [0-9a-f]+$", text)), 20, text)
        connected = set(re.findall(r"  connect     ([0-9a-f]{16})  ", text))
        self.assertEqual(len(connected), 20, text)
        self.assert_nothing_left()

    def test_ctrl_c_ends_all_of_it(self):
        child = self.start()
        wait_until(lambda: " uplink " in self.text() or child.poll() is not None, 60, "the first uplink")
        # As a terminal does: the whole foreground group.
        os.killpg(child.pid, signal.SIGINT)
        self.assertEqual(child.wait(seconds(60)), 0, self.text())
        self.assertRegex(self.text(), r"Ended after \d+ uplinks")
        self.assert_nothing_left()

    def test_when_it_is_killed_its_children_end_too(self):
        child = self.start()
        wait_until(lambda: " uplink " in self.text() or child.poll() is not None, 60, "the first uplink")
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
