#!/usr/bin/env python3
"""clang-tidy over every source file of ours, within a time limit, remembering what was clean.

  tidy.py BUILD_DIR [--jobs N] [--seconds N] [FILE...]

A file is clean until it, a header of ours that it includes, or .clang-tidy changes. Recently changed files come first.
What the time does not suffice for is named and comes first the next time; it is no failure.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("protocol/", "config/", "server/", "tests/")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def closure(name, seen):
    """`name` and every file of ours that it includes."""
    if name in seen or not (ROOT / name).is_file():
        return seen
    seen.add(name)
    for target in INCLUDE.findall((ROOT / name).read_text(encoding="utf-8")):
        closure(target, seen)
    return seen


def fingerprint(name, version):
    digest = hashlib.sha256(version)
    digest.update((ROOT / ".clang-tidy").read_bytes())
    for file in sorted(closure(name, set())):
        digest.update(file.encode() + b"\0" + (ROOT / file).read_bytes())
    return digest.hexdigest()


def newest_first(names):
    log = subprocess.run(["git", "-C", str(ROOT), "log", "--format=", "--name-only", "-n", "200"], capture_output=True, text=True)
    rank = {}
    for name in log.stdout.splitlines():
        rank.setdefault(name, len(rank))
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()

    commands = json.loads((Path(arguments.build) / "compile_commands.json").read_text())
    known = {os.path.relpath(os.path.join(c["directory"], c["file"]), ROOT) for c in commands}
    names = [n for n in known if n.startswith(OURS) and not n.startswith("build") and n.endswith(".cpp")]
    if arguments.files:
        names = [n for n in names if n in arguments.files]
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stationmaster-tidy"
    cache.mkdir(parents=True, exist_ok=True)
    marks = {name: cache / fingerprint(name, version) for name in names}
    todo = [name for name in newest_first(names) if not marks[name].exists()]
    end = time.monotonic() + arguments.seconds

    def tidy(name):
        if time.monotonic() > end:
            return name, None, ""
        run = subprocess.run(["clang-tidy", "--quiet", "-p", arguments.build, str(ROOT / name)], capture_output=True, text=True)
        if run.returncode == 0:
            marks[name].touch()
        return name, run.returncode, run.stdout + ("" if run.returncode == 0 else run.stderr)

    bad, left = [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, status, output in pool.map(tidy, todo):
            if status is None:
                left.append(name)
            elif status != 0:
                bad.append(name)
                print(output.replace(str(ROOT) + "/", ""))
    print(f"{len(names)} files: {len(names) - len(todo)} unchanged since they were clean, {len(todo) - len(bad) - len(left)} "
          f"clean now, {len(bad)} with findings, {len(left)} not reached in time")
    for name in left:
        print(f"  not reached: {name}")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    if not shutil.which("clang-tidy"):
        sys.exit("clang-tidy is not installed")
    sys.exit(main())
