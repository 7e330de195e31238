#!/usr/bin/env python3
"""Compares every #include with the floors, and keeps sockets out of the protocol.

  layers.py floors SOURCE_DIR            a file may include its own room and lower floors, never sideways or up
  layers.py wall SOURCE_DIR BUILD_DIR    no object of protocol/ reaches Asio, Beast, OpenSSL or the socket header

Exit code 1 and one line per offence, as file:line: message.
"""

import re
import subprocess
import sys
from pathlib import Path

# Lowest first; rooms of one floor do not know each other.
FLOORS = [
    {"protocol"},
    {"config"},
    {"runtime", "metrics", "log"},
    {"gateways"},
    {"directory", "fleet"},
    {"admission", "upstream"},
    {"listener", "discovery", "session"},
    {"drain", "admin"},
    {"app"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The precompiled header belongs to nobody and includes nothing of ours.
NO_ROOM = {"server/pch.hpp", "server/pch.cpp"}
# Only .cpp files speak TLS and WebSocket (style 6: a header with Beast costs every includer 13 s).
HEAVY = re.compile(r"^(boost/beast|boost/asio/ssl|openssl/)")
FORBIDDEN_IN_PROTOCOL = re.compile(r"/boost/(asio|beast)[/.]|/openssl/|/sys/socket\.h$|/netinet/|/arpa/inet\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """The room of a file, by its path below the source folder; None where it has none."""
    parts = Path(path).parts
    if path in NO_ROOM:
        return None
    if parts[0] in ("protocol", "config"):
        return parts[0]
    if parts[0] == "server":
        return parts[1] if len(parts) > 2 else "app"
    return None


def sources(root):
    for top in ("protocol", "config", "server"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".h", ".cc", ".ipp"):
                yield path


def check_include(root, name, room, bracket, target):
    """What is wrong with one include, or None."""
    if HEAVY.match(target) and name.endswith(".hpp"):
        return f"<{target}> in a header: include it in the .cpp that speaks"
    first = target.split("/")[0]
    ours = first in ("protocol", "config", "server", "tests")
    if bracket == "<":
        return f"<{target}> is ours: write it in quotes" if ours else None
    if not ours or not (root / target).is_file():
        # What a build step makes has no file in the tree.
        return None if target.endswith((".pb.h", "_embedded.hpp")) else f'"{target}" is no file from the top of the tree'
    if first == "tests":
        return f'"{target}": the product does not include its tests'
    other = room_of(target)
    if other is None or other == room:
        return None
    if other not in FLOOR_OF:
        return f'"{target}": room {other} has no floor; add it to tests/support/layers.py and server/README.md'
    if FLOOR_OF[other] < FLOOR_OF[room]:
        return None
    way = "sideways" if FLOOR_OF[other] == FLOOR_OF[room] else "up"
    return f'"{target}": {room} (floor {FLOOR_OF[room]}) includes {way} to {other} (floor {FLOOR_OF[other]})'


def check_floors(root):
    offences, count = [], 0
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        room = room_of(name)
        if room is None:
            continue
        if room not in FLOOR_OF:
            offences.append(f"{name}:1: room {room} has no floor; add it to tests/support/layers.py")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            count += 1
            wrong = check_include(root, name, room, match[1], match[2])
            if wrong:
                offences.append(f"{name}:{number}: {wrong}")
    return offences, count


def parse_deps(text):
    """`ninja -t deps` → {object: [dependency, ...]}"""
    deps, current = {}, None
    for line in text.splitlines():
        if line and not line[0].isspace() and ": #deps " in line:
            current = line.split(": #deps ")[0]
            deps[current] = []
        elif current and line.strip():
            deps[current].append(line.strip())
        else:
            current = None
    return deps


def check_wall(deps):
    offences, objects = [], 0
    for name, files in sorted(deps.items()):
        if "/sm_protocol.dir/" not in name:
            continue
        objects += 1
        bad = sorted(file for file in files if FORBIDDEN_IN_PROTOCOL.search(file))
        if bad:
            source = name.split("/sm_protocol.dir/")[1].removesuffix(".o")
            offences.append(f"protocol/{source}:1: reaches {bad[0]}" + (f" and {len(bad) - 1} more" if bad[1:] else ""))
    return offences, objects


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "floors":
        offences, count = check_floors(Path(arguments[1]))
        what = f"{count} includes"
    elif len(arguments) == 3 and arguments[0] == "wall":
        output = subprocess.run(["ninja", "-C", arguments[2], "-t", "deps"], capture_output=True, text=True, check=True)
        offences, count = check_wall(parse_deps(output.stdout))
        what = f"{count} objects of protocol/"
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for offence in offences:
        print(offence)
    print(f"{what} checked, {len(offences)} offences")
    if count == 0:
        print("nothing was checked: is this the right folder, and was it built?")
    return 1 if offences or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
