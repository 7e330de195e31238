"""The field cases of tests/support/field-cases, and what a stock station does with a router_config."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "field-cases"


def text(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def rows(name):
    """Every line of a .jsonl file."""
    return [json.loads(line) for line in text(name).splitlines() if line.strip()]


def row(name, case):
    """The row whose `case` is this."""
    return next(one for one in rows(name) if one.get("case") == case)


def message(one):
    """What the gateway sends in a row, as text."""
    return one["send"] if "send" in one else json.dumps(one["json"])


# Cases C051, C088, C107 to C121. The C++ checker (router_config_checker.hpp) judges every plan; this one what arrives.
KNOWN_KEYS = {"msgtype", "region", "hwspec", "freq_range", "DRs", "max_eirp", "NetID", "JoinEui", "sx1301_conf", "MuxTime", "nocca",
              "nodc", "nodwell", "bcning"}
REGIONS = {"EU863", "EU868", "US902", "US915", "AU915", "KR920", "IL915", "AS923-1", "AS923JP"}


def router_config_findings(raw):
    """Everything in this router_config text that a stock station would choke on; empty = good."""
    found = []

    def need(good, what):
        if not good:
            found.append(what)

    config = json.loads(raw)
    need(len(raw.encode()) < 8192, "8 KiB are enough for one board")
    need(raw.count('"msgtype"') == 1, "msgtype not exactly once")
    need(set(config) <= KNOWN_KEYS, f"unknown keys {set(config) - KNOWN_KEYS}")
    need(config.get("region") in REGIONS, f"region {config.get('region')}")
    boards = config.get("sx1301_conf") or []
    need(1 <= len(boards) <= 8 and config.get("hwspec") == f"sx1301/{len(boards)}", "hwspec does not count the boards")
    for board in boards:
        for radio in ("radio_0", "radio_1"):
            need(set(board.get(radio, {})) <= {"enable", "freq", "antenna_gain"}, f"{radio} has hardware settings")
        for name, channel in board.items():
            if not name.startswith("chan_") or not channel.get("enable"):
                continue
            need(type(channel.get("if")) is int and channel.get("radio") in (0, 1), f"{name} without if or radio")
            need(channel.get("bandwidth", 125000) in (125000, 250000, 500000), f"{name}: bandwidth not in Hz")
    rates = config.get("DRs", [])
    need(len(rates) == 16, "DRs has 16 rows")
    for rate in rates:
        need(len(rate) == 3 and all(type(value) is int for value in rate) and rate[1] in (0, 125, 250, 500), f"DRs row {rate}")
    edges = config.get("freq_range", [])
    need(len(edges) == 2 and all(type(edge) is int for edge in edges), "freq_range is not two integers")
    need(isinstance(config.get("max_eirp"), (int, float)) and config["max_eirp"] > 0, "max_eirp")
    need(isinstance(config.get("MuxTime"), (int, float)) and 1e9 < config["MuxTime"] < 1e10, "MuxTime")
    need(config.get("NetID") != [], "an empty NetID filter passes nothing")
    need(config.get("JoinEui") != [], "an empty JoinEui filter")
    for key, value in config.items():
        need(value is not None or key in ("NetID", "JoinEui"), f"{key} is null")
    need(not re.search(r'"(?!MuxTime|max_eirp)\w+":-?[0-9]+[.eE]', raw), "a fraction or exponent where the station wants an integer")
    return found
