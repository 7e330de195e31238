#!/usr/bin/env python3
"""Lists long source files (style 3): from 300 lines on look for the second noun; beyond 400 a review should stop there. A
report, not a test. Tests, and tables that say so in their first ten lines ("// table"), are never marked.

  file_lengths.py SOURCE_DIR
"""

import subprocess
import sys
from pathlib import Path

LONG, TOO_LONG = 300, 400


def main(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "*.hpp", "*.cpp"], capture_output=True, text=True, check=True)
    lengths = []
    for name in names.stdout.splitlines():
        path = Path(root) / name
        if not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        lengths.append(len(lines))
        if len(lines) <= LONG:
            continue
        excepted = name.startswith("tests/") or any(line.startswith("// table") for line in lines[:10])
        too_long = len(lines) > TOO_LONG and not excepted
        print(f"{name}: {len(lines)} lines{' <-- beyond ' + str(TOO_LONG) if too_long else ''}")
    lengths.sort()
    if lengths:
        print(f"{len(lengths)} files, median {lengths[len(lengths) // 2]} lines, longest {lengths[-1]}")
    return 0 if lengths else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
