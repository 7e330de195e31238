#!/usr/bin/env python3
"""Every library that the binary names comes from a package of section [run] of tests/packages.txt, and no package of the
section is idle: the container image installs exactly these.

  runtime_packages.py BINARY
"""

import re
import subprocess
import sys
from pathlib import Path

LIST = Path(__file__).resolve().parents[1] / "packages.txt"
# Part of every Debian.
BASE = {"libc6", "libgcc-s1"}
# Wanted for what they contain, not for a library.
NOT_LIBRARIES = {"ca-certificates"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listed():
    section, packages = "", set()
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#") and section == "run":
            packages.add(line)
    return packages


def package_of(path):
    # Merged /usr: dpkg knows a file under one of its two names.
    names = [path, path.removeprefix("/usr"), "/usr" + path, str(Path(path).resolve())]
    for name in names:
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def main(binary):
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", output("readelf", "-d", binary)))
    places = dict(re.findall(r"^\s*(\S+) => (\S+)", output("ldd", binary), re.M))
    used = {package_of(places[name]) for name in needed if name in places and not name.startswith("ld-linux")}
    missing = sorted(str(package) for package in used - listed() - BASE)
    idle = sorted(listed() - used - NOT_LIBRARIES)
    for package in missing:
        print(f"{package} is needed, but not in [run]")
    for package in idle:
        print(f"{package} is in [run], but nothing needs it")
    print(f"{len(needed)} libraries from {len(used)} packages")
    return 1 if missing or idle or not needed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
