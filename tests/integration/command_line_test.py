"""The command line as an operator meets it."""
# parallel-safe

import os
import re
import subprocess
import unittest
from pathlib import Path

from harness import Ca, Folder, seconds

EXAMPLE = Path(os.environ["SM_SOURCE_DIR"]) / "config/stationmaster.example.yaml"


def run(*arguments, env=None):
    return subprocess.run([os.environ["SM_BIN"], *map(str, arguments)], capture_output=True, text=True, timeout=seconds(20),
                          env={**os.environ, **(env or {})}, check=False)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = Folder()
        self.addCleanup(self.folder.remove)

    def file(self, text, name="f.yaml"):
        path = self.folder.path / name
        path.write_text(text)
        return path

    def test_wrong_arguments_end_with_2_and_say_what_to_do(self):
        for arguments in ((), ("bogus",), ("check",), ("serve", "--nope"), ("reference", "extra")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn("--help", result.stderr, arguments)

    def test_help_names_every_command(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for command in ("serve", "check", "reference", "version"):
            self.assertRegex(result.stdout, rf"(?m)^ +{command} ")

    def test_version(self):
        self.assertRegex(run("version").stdout, r"^stationmaster \d+\.\d+\.\d+\n$")

    def test_reference_has_every_key_of_the_example(self):
        reference = run("reference").stdout
        section = ""
        for line in EXAMPLE.read_text().splitlines():
            top = re.match(r"(\w+):", line)
            if top:
                section = top[1]
            inner = re.match(r"  (\w+):", line)
            if inner:
                self.assertIn(f"{section}.{inner[1]}  (", reference)

    def test_check_accepts_the_example(self):
        result = run("check", "--config", EXAMPLE)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_check_prints_all_problems_with_place_and_remedy_and_ends_with_2(self):
        path = self.file("service: x\nsession:\n  ping_intervall: 5s\n  write_timeout: 20\nplans: {default: eu688}\n"
                         "tls: {client_ca: /nonexistent.pem}\n")
        result = run("check", "--config", path)
        self.assertEqual(result.returncode, 2)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 5, result.stderr)
        self.assertEqual([line.split(":")[1] for line in lines[:4]], ["3", "4", "5", "6"])
        for line in lines[:4]:
            self.assertRegex(line, rf"^{re.escape(str(path))}:\d+:\d+: .+ \(.+\)$")
        self.assertIn("3:3: session.ping_intervall: there is no such key (did you mean ping_interval?)", result.stderr)
        self.assertIn("6:18: tls.client_ca: /nonexistent.pem cannot be read", result.stderr)
        self.assertIn("did you mean eu868?", result.stderr)
        self.assertTrue(lines[4].endswith("4 problems"))

    def test_check_finds_a_key_that_belongs_to_another_certificate(self):
        ca = Ca(self.folder.path / "ca")
        one, other = ca.server("one"), ca.server("other")
        path = self.file(f"tls: {{certificates: [{{certificate: {one.certificate}, private_key: {other.key}}}]}}\n")
        result = run("check", "--config", path)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn(":1:6: tls: ", result.stderr)
        good = self.file(f"tls: {{certificates: [{{certificate: {one.certificate}, private_key: {one.key}}}]}}\n")
        self.assertEqual(run("check", "--config", good).returncode, 0)

    def test_check_reads_the_registered_gateways(self):
        registry = self.file("gateways:\n  - {eui: not-an-eui}\n", "gateways.yaml")
        result = run("check", "--config", self.file(f"registry: {{kind: file, path: {registry}}}\n"))
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, rf"{re.escape(str(registry))}:2:\d+: ")

    def test_check_without_files_leaves_the_named_files_alone(self):
        path = self.file("tls: {client_ca: /nonexistent.pem}\n")
        self.assertEqual(run("check", "--config", path, "--without-files").returncode, 0)

    def test_serve_refuses_a_wrong_configuration_at_once(self):
        for text in ("session: [", "colour: blue\n", "tls: {client_ca: /nonexistent.pem}\n", "plans: {default: nowhere}\n"):
            result = run("serve", "--config", self.file(text))
            self.assertEqual(result.returncode, 2, text)
            self.assertIn("f.yaml", result.stderr)
        self.assertEqual(run("serve", "--config", "/nonexistent.yaml").returncode, 2)

    def test_the_configuration_may_be_named_by_the_environment(self):
        result = run("check", env={"STATIONMASTER_CONFIG": str(self.file("colour: blue\n"))})
        self.assertEqual(result.returncode, 2)
        self.assertIn("colour: there is no such key", result.stderr)

    def test_no_secret_of_the_environment_is_printed(self):
        path = self.file("admin: {read_token: \"${TOKEN}\"}\nsession: {ping_interval: \"${TOKEN}\"}\n"
                         "upstream: {kind: mqtt, uri: \"kafka://me:${TOKEN}@host\"}\n")
        result = run("check", "--config", path, env={"TOKEN": "hunter2"})
        self.assertEqual(result.returncode, 2)
        self.assertNotIn("hunter2", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
