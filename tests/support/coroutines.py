#!/usr/bin/env python3
"""No co_await inside a condition: GCC 12 loses the frame of a coroutine that awaits in the condition of an if or a loop
(a crash at the first resumption, seen with -Og, -O1 and -O2). `const auto x = co_await f(); if (x) ...` is right.
Reads the tree given as argument; prints each place and exits 1 when there is one."""
import pathlib
import re
import sys

KEYWORD = re.compile(r"\b(if|while|for|switch)\s*(?:constexpr\s*)?\(")


def conditions(text):
    """(offset, condition) of every parenthesis behind if, while, for, switch."""
    for match in KEYWORD.finditer(text):
        depth, i = 1, match.end()
        while i < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[i], 0)
            i += 1
        yield match.start(), text[match.end():i - 1]


def main():
    root = pathlib.Path(sys.argv[1])
    bad = 0
    for folder in ("server", "tests", "config", "protocol"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            text = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), path.read_text())
            found = [o for o, c in conditions(text) if "co_await" in c]
            found += [m.start() for m in re.finditer(r"(&&|\|\|)\s*!?\s*co_await\b", text)]
            for offset in sorted(set(found)):
                bad += 1
                print(f"{path.relative_to(root)}:{text.count(chr(10), 0, offset) + 1}: co_await inside a condition")
    print(f"coroutines: {bad} co_await inside conditions")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
